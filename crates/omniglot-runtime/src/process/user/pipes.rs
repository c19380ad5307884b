//! The pipes or the terminal of a user's process, and its start.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use omniglot_schema::{ProcessLogsStream, ProcessTerminalSize};
use rustix::io::ioctl_fionbio;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::net::unix::pipe;

use crate::process::guard::wire::AgentStdio;
use crate::process::start::{AgentPipes, agent_pipes};
use crate::process::{Launch, Process, SpawnError, Supervisor, start};

/// Takes the output of a process as it is read.
pub(in crate::process) type Sink = Arc<dyn Fn(ProcessLogsStream, &[u8]) + Send + Sync>;

/// The daemon's ends of the pipes or of the terminal of a process.
pub(in crate::process) struct UserPipes {
    pub(in crate::process) input: UserInput,
    pub(in crate::process) output: (ProcessLogsStream, pipe::Receiver),
    /// `None` in a terminal, where both are one.
    pub(in crate::process) errors: Option<(ProcessLogsStream, pipe::Receiver)>,
}

/// The way into a process. Dropping it closes the stdin of a process without a terminal.
pub(in crate::process) struct UserInput {
    pub(in crate::process) stdin: pipe::Sender,
    pub(super) terminal: Option<Terminal>,
}

/// The size of a terminal that nobody has resized yet.
const FIRST_SIZE: ProcessTerminalSize = ProcessTerminalSize { cols: 80, rows: 24 };

/// Starts a process whose output goes to `sink`.
pub(in crate::process) async fn spawn(
    supervisor: &Supervisor,
    launch: &Launch,
    tty: bool,
    sink: &Sink,
) -> Result<(Process, UserInput), SpawnError> {
    let pipes = if tty { in_terminal } else { piped };
    let (started, pid) = start(supervisor, launch, pipes).await?;
    Ok(started.run(pid, supervisor, sink))
}

fn piped() -> io::Result<(UserPipes, AgentStdio)> {
    let (AgentPipes { stdin, stdout, stderr }, stdio) = agent_pipes()?;
    let ours = UserPipes {
        input: UserInput { stdin, terminal: None },
        output: (ProcessLogsStream::Stdout, stdout),
        errors: Some((ProcessLogsStream::Stderr, stderr)),
    };
    Ok((ours, stdio))
}

/// Opens a terminal; the guard makes it the controlling one of the process.
fn in_terminal() -> io::Result<(UserPipes, AgentStdio)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let stdin = ioctl_tiocgptpeer(&ours, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    let stdio = AgentStdio { stdout: stdin.try_clone()?, stderr: stdin.try_clone()?, stdin };
    ioctl_fionbio(&ours, true)?;
    let terminal = Terminal(ours.try_clone()?);
    terminal.resize(FIRST_SIZE)?;
    // A terminal is read and written as a pipe is, and the end of its reading is an error.
    let output = pipe::Receiver::from_owned_fd_unchecked(ours.try_clone()?)?;
    let stdin = pipe::Sender::from_owned_fd_unchecked(ours)?;
    let ours = UserPipes {
        input: UserInput { stdin, terminal: Some(terminal) },
        output: (ProcessLogsStream::Pty, output),
        errors: None,
    };
    Ok((ours, stdio))
}

/// The terminal of a process.
pub(super) struct Terminal(OwnedFd);

impl Terminal {
    /// Tells the programs in it, too.
    pub(super) fn resize(&self, size: ProcessTerminalSize) -> io::Result<()> {
        let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(&self.0, size)?)
    }
}

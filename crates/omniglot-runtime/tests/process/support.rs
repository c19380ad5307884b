//! Starts processes for the tests, and waits for what must happen.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use omniglot_runtime::process::lines::Line;
use omniglot_runtime::process::{Launch, Limits, Process, ProcessIo, SpawnError, Supervisor};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// A process, its conversation, and the directory where its guard is recorded.
pub(crate) struct Running {
    pub(crate) process: Process,
    pub(crate) io: ProcessIo,
    pub(crate) run_dir: tempfile::TempDir,
}

pub(crate) async fn start(program: &str, args: &[&str]) -> Result<Running, SpawnError> {
    start_with(launch(program, args), Limits::default()).await
}

pub(crate) async fn start_with(launch: Launch, limits: Limits) -> Result<Running, SpawnError> {
    let run_dir = tempfile::tempdir().unwrap();
    let supervisor = Supervisor { guard: guard_program(), run_dir: run_dir.path().to_owned(), limits };
    let (process, io) = within(Process::spawn(&supervisor, &launch)).await?;
    Ok(Running { process, io, run_dir })
}

/// A shell that runs `script`; `$0` in it is the example program.
pub(crate) async fn shell(script: &str) -> Running {
    start("sh", &["-c", script, guard_program().to_str().unwrap()]).await.unwrap()
}

pub(crate) fn launch(program: &str, args: &[&str]) -> Launch {
    Launch {
        program: program.to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        env: Default::default(),
        env_clear: false,
        cwd: std::env::current_dir().unwrap(),
    }
}

impl Running {
    /// All lines to the end.
    pub(crate) async fn all_lines(&mut self) -> Vec<Line> {
        let mut all = Vec::new();
        while let Some(lines) = within(self.io.lines.recv()).await {
            all.extend(lines);
        }
        all
    }

    /// All lines to the end, as text.
    pub(crate) async fn all_text(&mut self) -> Vec<String> {
        self.all_lines().await.iter().map(text).collect()
    }

    /// The next batch, which must be one line.
    pub(crate) async fn line(&mut self) -> String {
        let lines = within(self.io.lines.recv()).await.expect("a line");
        assert_eq!(lines.len(), 1, "{lines:?}");
        text(&lines[0])
    }

    /// The next line is the number of a process.
    pub(crate) async fn pid_line(&mut self) -> Watched {
        Watched::new(self.line().await.parse().unwrap())
    }
}

pub(crate) fn text(line: &Line) -> String {
    match line {
        Line::Whole(line) => String::from_utf8(line.to_vec()).unwrap(),
        other => panic!("not a whole line: {other:?}"),
    }
}

/// A process that is being watched by a handle that no later process can have.
pub(crate) struct Watched(Option<OwnedFd>);

impl Watched {
    pub(crate) fn new(pid: i32) -> Self {
        // It may have ended between saying its number and now.
        Self(pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).ok())
    }

    /// Waits for its end.
    pub(crate) async fn ended(self) {
        let limit = Timespec { tv_sec: LIMIT.as_secs().cast_signed(), tv_nsec: 0 };
        let Some(pidfd) = self.0 else { return };
        let wait = move || poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&limit));
        assert_eq!(tokio::task::spawn_blocking(wait).await.unwrap(), Ok(1), "it is still alive");
    }
}

/// Waits for what must happen soon.
pub(crate) async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(LIMIT, future).await.expect("it happens in time")
}

/// The example `guard`. Cargo builds it with the tests, except when single targets are asked for.
pub(crate) fn guard_program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples/guard");
    if !program.exists() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let args = ["build", "--quiet", "--package", "omniglot-runtime", "--example", "guard"];
        assert!(Command::new(cargo).args(args).status().unwrap().success());
    }
    program
}

/// How long anything may take, on a busy machine too.
const LIMIT: Duration = Duration::from_secs(30);

//! `omniglot launch`: starts `serve` for whoever needs a daemon, prints its pid, and exits.
//!
//! The daemon thus has no parent among the processes of a client, which may end them all when it exits.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::{Command, ExitCode};

/// `stderr` is the log of the daemon; `args` are those of `serve`.
pub(crate) fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    match spawn(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The caller sees the exit code where nothing can be written.
            let _ = writeln!(io::stderr(), "the daemon cannot be started: {error}");
            ExitCode::FAILURE
        }
    }
}

fn spawn(args: impl Iterator<Item = OsString>) -> io::Result<()> {
    rustix::process::setsid()?;
    let mut command = Command::new(std::env::current_exe()?);
    let daemon = command.arg("serve").arg("--detached").args(args).stdout(io::stderr()).spawn()?;
    writeln!(io::stdout(), "{}", daemon.id())
}

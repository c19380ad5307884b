//! The guard as a small program, for tests that start real processes; and two more roles that they need.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a test's helper: it says what it cannot do")]

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use omniglot_runtime::process::guard;
use omniglot_runtime::process::{Launch, Limits, Process, Supervisor};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let role = args.next().unwrap_or_default();
    match role.to_str() {
        Some("guard") => guard::run(args),
        Some("own") => own(args.filter_map(|arg| arg.into_string().ok()).collect()),
        Some("leave") => leave(args.collect()),
        _ => ExitCode::from(2),
    }
}

/// Runs a program as the daemon does and prints its lines: somebody to be killed in place of the daemon.
#[tokio::main(flavor = "current_thread")]
async fn own(mut argv: Vec<String>) -> ExitCode {
    let run_dir = argv.remove(0).into();
    let program = argv.remove(0);
    let cwd = std::env::current_dir().expect("a directory");
    let launch = Launch { program, args: argv, env: Default::default(), env_clear: false, cwd };
    let guard = std::env::current_exe().expect("its own path");
    let supervisor = Supervisor { guard, run_dir, limits: Limits::default() };
    let (process, mut io) = Process::spawn(&supervisor, &launch).await.expect("a program that starts");
    while let Some(lines) = io.lines.recv().await {
        lines.iter().for_each(|line| println!("{line:?}"));
    }
    process.gone().await;
    ExitCode::SUCCESS
}

/// The second half of a double fork: leaves the session, starts the program, prints its number and goes.
#[expect(clippy::zombie_processes, reason = "it is there to leave an orphan")]
fn leave(argv: Vec<OsString>) -> ExitCode {
    rustix::process::setsid().expect("a session of its own");
    let [program, args @ ..] = argv.as_slice() else { return ExitCode::from(2) };
    let child = Command::new(program).args(args).spawn().expect("a program that starts");
    println!("{}", child.id());
    ExitCode::SUCCESS
}

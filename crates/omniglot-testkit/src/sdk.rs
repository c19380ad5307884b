//! Our own SDKs below `sdk/`, made ready for a test, and programs that are told what to do line by line.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::clients::{library, node};
use crate::cutting_proxy::CuttingProxy;
use crate::daemon::{Daemon, Setup};

/// Returns a path below `sdk/`.
pub fn path(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository").join("sdk").join(of)
}

/// Compiles the TypeScript SDK to the scripts that its package has; `index.js` of the directory is its entry.
pub fn typescript() -> TempDir {
    let built = TempDir::new().expect("a temporary directory");
    let compiler = library("openapi-typescript", "node_modules/typescript/bin/tsc");
    let (project, out) = (path("typescript"), built.path().to_str().expect("a path in UTF-8"));
    succeed(node(Path::new(&compiler), &["--removeComments", "--outDir", out, "-p"]).arg(project));
    std::fs::write(built.path().join("package.json"), r#"{"type":"module"}"#).expect("a file");
    built
}

/// Returns Python with our SDK and its one dependency.
pub fn python() -> Command {
    let mut command = Command::new(library("sdk-python", "bin/python"));
    command.env_clear().env("PYTHONPATH", path("python")).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// Runs a command to its end and returns its stdout; a failure fails the test with everything that it said.
#[track_caller]
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{said}\n{complaint}");
    said
}

/// Plays a scenario behind a proxy that cuts connections.
///
/// The driver's first line is the origin of its page, if it has one. It is told the addresses and the token, writes
/// `restart` to have the daemon killed and started again, and `all done` at the end.
pub fn play_over_cuts(omniglot: &str, driver: &mut Command, seed: u64) {
    let mut driver = Conversation::start(driver);
    let mut setup = Setup::new(omniglot);
    let origin = driver.line();
    if origin.starts_with("http") {
        setup.args = vec!["--allow-origin".into(), origin];
    }
    let mut daemon = setup.start();
    let proxy = CuttingProxy::start(&daemon.url, seed);
    driver.tell(&json!({ "proxied": proxy.url, "direct": daemon.url, "token": daemon.token }));
    loop {
        let line = driver.line();
        if line != "restart" {
            assert!(line.starts_with("all done"), "{line}");
            break;
        }
        daemon = restarted(daemon);
        proxy.point_at(&daemon.url);
        driver.tell(&json!({ "direct": daemon.url }));
    }
    assert!(proxy.cuts() > 5, "only {} cuts", proxy.cuts());
}

fn restarted(mut daemon: Daemon) -> Daemon {
    daemon.kill();
    daemon.restart()
}

/// A program that writes lines and reads lines.
struct Conversation {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Conversation {
    fn start(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
        let stdin = child.stdin.take().expect("its stdin");
        let lines = BufReader::new(child.stdout.take().expect("its stdout")).lines();
        Self { child, stdin, lines }
    }

    /// Returns the next line; the end of the program fails the test.
    #[track_caller]
    fn line(&mut self) -> String {
        let line = self.lines.next().expect("the program has ended; its stderr tells why");
        line.expect("a line in UTF-8")
    }

    fn tell(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").expect("the program reads");
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

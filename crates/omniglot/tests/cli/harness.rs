//! An environment to run the binary in: its own home, its own data, no variables of the machine. The sessions
//! in the data are checked at the end of the test.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use omniglot_schema::UniversalEvent;
use omniglot_testkit::check_session;
use rustix::process::{Pid, Signal, kill_process};

/// Far longer than any step takes: a test that reaches it has found a hang.
const HANG: Duration = Duration::from_secs(60);

pub(crate) struct Harness {
    dir: tempfile::TempDir,
}

impl Harness {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["home", "data", "work", "tmp"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self { dir }
    }

    /// The path as the binary has it: without symbolic links.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.dir.path().join("data").canonicalize().unwrap()
    }

    pub(crate) fn configure(&self, text: &str) {
        std::fs::write(self.dir.path().join("data/omniglot.toml"), text).unwrap();
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_omniglot"));
        command
            .args(args)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.dir.path().join("home"))
            .env("TMPDIR", self.dir.path().join("tmp"))
            .env("OMNIGLOT_HOME", self.dir.path().join("data"))
            .current_dir(self.dir.path().join("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Finished {
        Finished::of(&mut self.command(&[&["run"], args].concat()))
    }

    pub(crate) fn start(&self, args: &[&str]) -> Running {
        Running::of(&mut self.command(args))
    }

    pub(crate) fn serve(&self, args: &[&str]) -> Daemon {
        let mut running = self.start(&[&["serve", "--port", "0"], args].concat());
        let line = running.next_line();
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
        Daemon { running, line, url, token: self.dir.path().join("data/private/token") }
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        if thread::panicking() || !self.dir.path().join("data/private/omniglot.db").exists() {
            return;
        }
        let daemon = self.serve(&[]);
        let token = std::fs::read_to_string(self.dir.path().join("data/private/token")).unwrap();
        check_session::all_sessions(daemon.url(), token.trim());
        daemon.stop().exited(0);
    }
}

/// A command that has ended, with all its output.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    pub(crate) fn of(command: &mut Command) -> Self {
        Running::of(command).finish()
    }

    pub(crate) fn of_input(command: &mut Command, input: &str) -> Self {
        let mut running = Running::of(command.stdin(Stdio::piped()));
        let mut stdin = running.child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        running.finish()
    }

    #[track_caller]
    pub(crate) fn exited(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn events(&self) -> Vec<UniversalEvent> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A command that still runs; killed if the test ends before it.
pub(crate) struct Running {
    child: Child,
    stdout: mpsc::Receiver<String>,
    stderr: mpsc::Receiver<String>,
    seen_stderr: String,
}

impl Running {
    fn of(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let stdout = lines::<ChildStdout>(child.stdout.take().unwrap());
        let stderr = lines::<ChildStderr>(child.stderr.take().unwrap());
        Self { child, stdout, stderr, seen_stderr: String::new() }
    }

    #[track_caller]
    pub(crate) fn next_line(&mut self) -> String {
        match self.stdout.recv_timeout(HANG) {
            Ok(line) => line,
            Err(error) => panic!("{error}; stderr:\n{}", self.stderr.try_iter().collect::<String>()),
        }
    }

    /// Returns all events up to the first wanted one, which is the last.
    #[track_caller]
    pub(crate) fn events_until(&mut self, wanted: impl Fn(&UniversalEvent) -> bool) -> Vec<UniversalEvent> {
        let mut events = vec![];
        while !events.last().is_some_and(&wanted) {
            events.push(serde_json::from_str(&self.next_line()).unwrap());
        }
        events
    }

    #[track_caller]
    pub(crate) fn wait_for_stderr(&mut self, words: &str) {
        while !self.seen_stderr.contains(words) {
            self.seen_stderr.push_str(&self.stderr.recv_timeout(HANG).unwrap());
        }
    }

    pub(crate) fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    #[track_caller]
    pub(crate) fn finish(mut self) -> Finished {
        let stdout = rest(&self.stdout);
        let stderr = std::mem::take(&mut self.seen_stderr) + &rest(&self.stderr);
        let code = self.child.wait().unwrap().code();
        Finished { code, stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The process has ended already when the test succeeded.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) struct Daemon {
    running: Running,
    line: String,
    url: String,
    token: PathBuf,
}

impl Daemon {
    pub(crate) fn line(&self) -> &str {
        &self.line
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn pid(&self) -> u32 {
        self.running.child.id()
    }

    /// Returns a header of the answer.
    #[track_caller]
    pub(crate) fn header(&self, path: &str, name: &str) -> String {
        self.ask(path, async |response| response.headers()[name].to_str().unwrap().to_owned())
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> String {
        self.ask(path, async |response| response.text().await.unwrap())
    }

    #[track_caller]
    fn ask(&self, path: &str, read: impl AsyncFnOnce(reqwest::Response) -> String) -> String {
        let token = std::fs::read_to_string(&self.token).unwrap();
        let url = format!("{}{path}", self.url);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let request = reqwest::Client::new().get(url).bearer_auth(token.trim());
            read(request.send().await.unwrap()).await
        })
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.running.child), signal).unwrap();
    }

    pub(crate) fn kill(self) {
        self.running.kill();
    }

    #[track_caller]
    pub(crate) fn stop(self) -> Finished {
        kill_process(Pid::from_child(&self.running.child), Signal::TERM).unwrap();
        self.running.finish()
    }
}

/// Lines with their ends, read beside the test so that no pipe fills up.
fn lines<R: Read + Send + 'static>(input: R) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut input = BufReader::new(input);
        let mut line = String::new();
        while input.read_line(&mut line).is_ok_and(|count| count > 0) {
            if sender.send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    receiver
}

#[track_caller]
fn rest(lines: &mpsc::Receiver<String>) -> String {
    let mut text = String::new();
    loop {
        match lines.recv_timeout(HANG) {
            Ok(line) => text.push_str(&line),
            Err(mpsc::RecvTimeoutError::Disconnected) => return text,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs after\n{text}"),
        }
    }
}

//! A real daemon under test: its own process, data directory, HOME and environment.
//!
//! Nothing of the machine's own configuration or credentials reaches it. When the daemon is dropped all its
//! sessions are checked, it is stopped as a user would stop it, and a leftover process fails the test.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use omniglot_client::{Client, Trust};
use omniglot_timeline::check::Allow;
use tempfile::TempDir;

use crate::check_session;
use crate::tls::TlsFiles;

/// The settings of a daemon under test.
pub struct Setup {
    pub program: PathBuf,
    pub args: Vec<String>,
    pub config: Option<String>,
    /// Where it listens, if not on a free port of loopback.
    listen: Option<String>,
    /// The daemons that its clients believe.
    trust: Trust,
    /// Variables beside, or in the place of, those that every daemon under test has.
    env: Vec<(String, String)>,
    /// The user that it runs as, if not that of the test.
    user: Option<u32>,
    /// The file that its log goes to, if not the stderr of the test.
    log: Option<PathBuf>,
}

/// The id of the user `nobody`.
const NOBODY: u32 = 65_534;

impl Setup {
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: vec![],
            config: None,
            listen: None,
            trust: Trust::default(),
            env: vec![],
            user: None,
            log: None,
        }
    }

    pub fn config(mut self, toml: impl Into<String>) -> Self {
        self.config = Some(toml.into());
        self
    }

    /// Lets it listen there.
    pub fn listen(mut self, at: impl Into<String>) -> Self {
        self.listen = Some(at.into());
        self
    }

    /// Lets it speak TLS with the certificate of these files.
    pub fn tls(mut self, files: &TlsFiles) -> Self {
        for (option, name) in [("--tls-cert", "cert.pem"), ("--tls-key", "key.pem")] {
            self.args.extend([option.to_owned(), files.path(name).display().to_string()]);
        }
        self.trust = Trust::Authorities(files.path("ca.pem"));
        self
    }

    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Writes everything that the daemon can log into this file.
    pub fn log_all_to(self, file: impl Into<PathBuf>) -> Self {
        self.log_to(file).env("OMNIGLOT_LOG", "trace")
    }

    /// Writes the log into this file, which each start begins anew.
    pub fn log_to(self, file: impl Into<PathBuf>) -> Self {
        Self { log: Some(file.into()), ..self }
    }

    /// Runs the daemon as somebody else than root, who is given these directories.
    pub fn unprivileged(mut self, directories: &[&Path]) -> Self {
        self.user = rustix::process::geteuid().is_root().then_some(NOBODY);
        directories.iter().for_each(|directory| self.give(directory));
        self
    }

    /// Gives everything below the path to the user of the daemon.
    fn give(&self, path: &Path) {
        let Some(user) = self.user else { return };
        std::os::unix::fs::lchown(path, Some(user), Some(user)).expect("another owner");
        let entries = if path.is_dir() { std::fs::read_dir(path).ok() } else { None };
        entries.into_iter().flatten().for_each(|entry| self.give(&entry.expect("an entry").path()));
    }

    pub fn start(self) -> Daemon {
        let home = TempDir::new().expect("a temporary directory");
        std::fs::create_dir(home.path().join("work")).expect("a working directory");
        std::fs::create_dir(home.path().join("data")).expect("a data directory");
        if let Some(config) = &self.config {
            std::fs::write(home.path().join("data/omniglot.toml"), config).expect("the configuration");
        }
        self.give(home.path());
        Daemon::spawn(self, home)
    }
}

pub struct Daemon {
    setup: Setup,
    home: Option<TempDir>,
    child: Child,
    /// The exceptions for the check of its sessions at the end.
    pub allow: Allow,
    pub url: String,
    pub token: String,
    pub client: Client,
}

impl Daemon {
    fn spawn(setup: Setup, home: TempDir) -> Self {
        let mut command = Command::new(&setup.program);
        if let Some(user) = setup.user {
            command.uid(user).gid(user);
        }
        if let Some(log) = &setup.log {
            command.stderr(std::fs::File::create(log).expect("a file for the log"));
        }
        let listen = match &setup.listen {
            Some(at) => ["--listen", at],
            None => ["--port", "0"],
        };
        let mut child = command
            .arg("serve")
            .args(listen)
            .args(&setup.args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .env("OMNIGLOT_HOME", home.path().join("data"))
            .envs(setup.env.iter().map(|(name, value)| (name, value)))
            .current_dir(home.path().join("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the daemon starts");
        let stdout = child.stdout.take().expect("its stdout");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("its first line");
        let is_address =
            |word: &&str| ["http://", "https://", "unix:"].iter().any(|scheme| word.starts_with(scheme));
        let url = line.split_whitespace().find(is_address);
        let url = url.unwrap_or_else(|| panic!("no address in {line:?}")).to_owned();
        // An earlier program, which the benchmark compares with, keeps its token in the directory itself.
        let read = |path: &str| std::fs::read_to_string(home.path().join(path)).ok();
        let token = ["data/private/token", "data/token"].into_iter().find_map(read).expect("its token");
        let token = token.trim().to_owned();
        let client = Client::trusting(&url, Some(token.clone()), setup.trust.clone()).expect("a client");
        Self { setup, home: Some(home), child, allow: check_session::ANY_SESSION, url, token, client }
    }

    pub fn program(&self) -> &Path {
        &self.setup.program
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn home(&self) -> &Path {
        self.home.as_ref().expect("a home").path()
    }

    /// Returns the directory that sessions work in by default.
    pub fn work(&self) -> PathBuf {
        self.home().join("work")
    }

    pub fn data(&self) -> PathBuf {
        self.home().join("data")
    }

    /// Kills the daemon as `kill -9` does.
    pub fn kill(&mut self) {
        self.child.kill().expect("a signal");
        self.child.wait().expect("its end");
    }

    /// Stops the daemon with SIGTERM and waits for its end.
    pub fn stop(&mut self) {
        signal(self.child.id(), "-TERM");
        let status = self.child.wait().expect("its end");
        assert!(status.success(), "the daemon ended with {status}");
    }

    /// Starts the daemon again on the same data.
    pub fn restart(mut self) -> Self {
        let home = self.home.take().expect("a home");
        let setup = Setup { config: None, ..std::mem::replace(&mut self.setup, Setup::new("")) };
        Self::spawn(setup, home)
    }

    /// Returns every process below this daemon: guards, agents and their children.
    pub fn descendants(&self) -> Vec<u32> {
        descendants(self.child.id())
    }

    /// Returns the resident memory in bytes.
    pub fn rss(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("its status");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
        line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).expect("a number") * 1024
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if self.home.is_none() || !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        // The daemon ends also when a session fails the check; no process may outlive a test.
        let verdict = (!std::thread::panicking()).then(|| {
            catch_unwind(AssertUnwindSafe(|| {
                check_session::all_sessions_but(&self.url, &self.token, &self.setup.trust, self.allow)
            }))
        });
        let below = self.descendants();
        signal(self.child.id(), "-TERM");
        let status = self.child.wait();
        match verdict {
            None => return,
            Some(Err(complaint)) => resume_unwind(complaint),
            Some(Ok(())) => {}
        }
        assert!(status.is_ok_and(|status| status.success()), "the daemon did not stop cleanly");
        for pid in below {
            wait_gone(pid);
        }
    }
}

fn signal(pid: u32, signal: &str) {
    let sent = Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "kill {signal} {pid}");
}

/// Returns all processes below `root`, by the kernel's parent ids.
pub fn descendants(root: u32) -> Vec<u32> {
    let mut found = vec![];
    let mut todo = vec![root];
    while let Some(parent) = todo.pop() {
        let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children: Vec<u32> = children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
            found.extend(&children);
            todo.extend(&children);
        }
    }
    found
}

/// Returns the processes that `wanted` accepts, without those that one of them has just forked: until it is another
/// program, a child looks like its parent.
pub fn without_forked(pids: Vec<u32>, wanted: impl Fn(u32) -> bool) -> Vec<u32> {
    pids.into_iter().filter(|pid| wanted(*pid) && !wanted(parent(*pid))).collect()
}

fn parent(pid: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    parent.and_then(|parent| parent.trim().parse().ok()).unwrap_or_default()
}

pub fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie is dead; it only waits for its parent to reap it.
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

/// Waits until a process is gone; fails after ten seconds (P8).
#[track_caller]
pub fn wait_gone(pid: u32) {
    let began = Instant::now();
    while is_alive(pid) {
        assert!(began.elapsed() < Duration::from_secs(10), "process {pid} is still alive");
        std::thread::yield_now();
    }
}

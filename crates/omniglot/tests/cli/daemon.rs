//! `omniglot daemon`: started in the background, found again, and stopped.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use omniglot_testkit::daemon::is_alive;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use serde_json::Value;

use super::harness::{Finished, Harness};

fn daemon(harness: &Harness, args: &[&str]) -> Finished {
    Finished::of(&mut harness.command(&[&["daemon"], args].concat()))
}

/// A daemon in the background that does not outlive its test.
struct Background<'a> {
    harness: &'a Harness,
    url: String,
    pid: u32,
}

#[derive(serde::Deserialize)]
struct Started {
    url: String,
    pid: u32,
}

impl<'a> Background<'a> {
    fn start(harness: &'a Harness, args: &[&str]) -> Self {
        let started = daemon(harness, &[&["start", "--port", "0", "--json"], args].concat());
        let Started { url, pid } = serde_json::from_str(&started.exited(0).stdout).unwrap();
        Self { harness, url, pid }
    }
}

impl Drop for Background<'_> {
    fn drop(&mut self) {
        daemon(self.harness, &["stop"]);
    }
}

fn status(harness: &Harness) -> Value {
    serde_json::from_str(&daemon(harness, &["status", "--json"]).exited(0).stdout).unwrap()
}

#[test]
fn a_daemon_is_started_used_and_stopped() {
    let harness = Harness::new();
    let none = daemon(&harness, &["status"]);
    assert!(none.exited(1).stdout.contains("`omniglot daemon start` starts one"), "{none:?}");
    let background = Background::start(&harness, &[]);
    harness.run(&["--session", "s", "[[text:1]]"]).exited(0);
    let told = status(&harness);
    assert_eq!((&told["running"], &told["url"]), (&true.into(), &(&*background.url).into()));
    assert_eq!((&told["pid"], &told["sessions"]), (&background.pid.into(), &1.into()));
    assert_eq!(told["version"], told["clientVersion"]);
    let readable = daemon(&harness, &["status"]);
    let stdout = &readable.exited(0).stdout;
    for words in ["url       http://127.0.0.1:", "version   ", "up        ", "sessions  1, 0 at work"] {
        assert!(stdout.contains(words), "{words:?}: {readable:?}");
    }
    assert_eq!(readable.stderr, "", "of the same version there is nothing to say");
    let stopped = daemon(&harness, &["stop"]);
    assert_eq!(stopped.exited(0).stdout, format!("stopped the daemon with pid {}\n", background.pid));
    assert!(!is_alive(background.pid));
    daemon(&harness, &["status"]).exited(1);
    let again = daemon(&harness, &["stop", "--json"]);
    assert_eq!(again.exited(0).stdout, "{\"stopped\":null}\n");
}

#[test]
fn a_daemon_leaves_the_terminal_behind_and_keeps_a_private_log() {
    let harness = Harness::new();
    let background = Background::start(&harness, &["--token", "a-known-token"]);
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", background.pid)).unwrap();
    let session: u32 = stat.rsplit(") ").next().unwrap().split(' ').nth(3).unwrap().parse().unwrap();
    assert_eq!(session, background.pid, "it leads a session of its own");
    let line = std::fs::read(format!("/proc/{}/cmdline", background.pid)).unwrap();
    assert!(!String::from_utf8_lossy(&line).contains("a-known-token"), "the process list shows the token");
    let log = harness.data_dir().join("private/daemon.log");
    assert_eq!(std::fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.contains(&format!("omniglot listening on {}", background.url)), "{text}");
    assert!(!text.contains("a-known-token"), "{text}");
}

#[test]
fn a_second_start_names_the_first() {
    let harness = Harness::new();
    let background = Background::start(&harness, &[]);
    let second = daemon(&harness, &["start"]);
    let words = format!("a daemon serves here already: {} (pid {})\n", background.url, background.pid);
    assert_eq!(second.exited(0).stdout, words);
}

#[test]
fn a_second_start_with_other_options_does_not_pretend_to_follow_them() {
    let harness = Harness::new();
    let background = Background::start(&harness, &[]);
    for elsewhere in [["--port", "1"], ["--host", "::1"]] {
        let refused = daemon(&harness, &[&["start"], &elsewhere[..]].concat());
        let words = format!("a daemon serves here already, at {} (pid {})", background.url, background.pid);
        assert!(refused.exited(1).stderr.contains(&words), "{refused:?}");
        assert!(refused.stderr.contains("`omniglot daemon restart` with these options"), "{refused:?}");
    }
    let port = background.url.rsplit(':').next().unwrap();
    let same = daemon(&harness, &["start", "--port", port, "--host", "127.0.0.1"]);
    assert_eq!(same.exited(0).stderr, "");
    // B4: a page that a person allows by a second start must not stay locked out in silence.
    for more in [&["--no-token"][..], &["--allow-origin", "https://page.example"]] {
        let open = daemon(&harness, &[&["start"], more].concat());
        assert!(open.exited(1).stderr.contains("`omniglot daemon restart` with these options"), "{open:?}");
    }
}

/// B18: a daemon is restarted at its address, and its log is at hand.
#[test]
fn b18_a_daemon_is_restarted_at_its_address_and_shows_its_log() {
    let harness = Harness::new();
    let none = daemon(&harness, &["logs"]);
    assert!(none.exited(1).stderr.contains("daemon.log cannot be read"), "{none:?}");
    let background = Background::start(&harness, &[]);
    harness.run(&["--session", "s", "[[text:1]]"]).exited(0);
    let again = daemon(&harness, &["restart", "--allow-host", "box", "--json"]);
    let Started { url, pid } = serde_json::from_str(&again.exited(0).stdout).unwrap();
    assert_eq!(url, background.url);
    assert!(pid != background.pid && !is_alive(background.pid));
    assert_eq!(status(&harness)["sessions"], 1);
    let whole = daemon(&harness, &["logs"]);
    assert_eq!(whole.exited(0).stdout.matches("omniglot listening on").count(), 2, "{whole:?}");
    let last = daemon(&harness, &["logs", "-n", "1"]);
    assert_eq!(last.exited(0).stdout.lines().count(), 1, "{last:?}");
    let mut follow = harness.start(&["daemon", "logs", "-f", "-n", "1"]);
    follow.next_line();
    daemon(&harness, &["restart"]).exited(0);
    while !follow.next_line().contains(&format!("omniglot listening on {url}")) {}
    follow.interrupt();
    follow.finish().exited(130);
}

#[test]
fn a_proxy_is_never_asked_for_the_way_to_a_daemon() {
    let harness = Harness::new();
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", proxy.local_addr().unwrap());
    for args in [&["daemon", "start", "--port", "0"][..], &["sessions", "list"], &["daemon", "stop"]] {
        let mut command = harness.command(args);
        Finished::of(command.env("http_proxy", &url).env("ALL_PROXY", &url)).exited(0);
    }
    proxy.set_nonblocking(true).unwrap();
    assert_eq!(proxy.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_daemon_that_hangs_keeps_nobody_waiting() {
    let harness = Harness::new();
    let serving = harness.serve(&[]);
    serving.signal(Signal::STOP);
    let words = format!("the daemon with pid {} owns ", serving.pid());
    for args in [&["daemon", "status"][..], &["daemon", "start"], &["sessions", "list"], &["run", "x"]] {
        let hung = Finished::of(&mut harness.command(args));
        let stderr = &hung.exited(1).stderr;
        assert!(stderr.contains(&words) && stderr.contains("but does not answer at http://"), "{hung:?}");
    }
    serving.signal(Signal::CONT);
    serving.stop().exited(0);
}

#[test]
fn commands_find_the_token_file_that_the_daemon_was_given() {
    let harness = Harness::new();
    let file = harness.data_dir().with_file_name("work").join("my-token");
    std::fs::write(&file, "a-known-token\n").unwrap();
    let serving = harness.serve(&["--token-file", "my-token"]);
    let mut list = harness.command(&["sessions", "list"]);
    Finished::of(list.current_dir(harness.data_dir())).exited(0);
    daemon(&harness, &["status"]).exited(0);
    serving.stop().exited(0);
}

#[test]
fn a_daemon_takes_all_files_that_it_may_and_its_agents_get_what_it_was_given() {
    let harness = Harness::new();
    let seen = harness.data_dir().join("files");
    let script = format!("ulimit -n > {}; exit 1", seen.display());
    harness.configure(&format!("[agents.odd]\nprotocol = \"acp\"\ncommand = [\"sh\", \"-c\", {script:?}]\n"));
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // This test has a process of its own.
    setrlimit(Resource::Nofile, Rlimit { current: Some(256), maximum }).unwrap();
    let serving = harness.serve(&[]);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", serving.pid())).unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let numbers: Vec<&str> = files.split_whitespace().skip(3).take(2).collect();
    assert_eq!(numbers[0], numbers[1], "{files}");
    Finished::of(&mut harness.command(&["agents", "doctor", "odd"])).exited(1);
    assert_eq!(std::fs::read_to_string(&seen).unwrap(), "256\n");
    serving.stop().exited(0);
}

#[test]
fn a_daemon_that_cannot_start_says_why_and_leaves_nothing() {
    let harness = Harness::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused = daemon(&harness, &["start", "--port", &port]);
    let stderr = &refused.exited(1).stderr;
    assert!(
        stderr.contains("the daemon did not start") && stderr.contains("choose another --port"),
        "{refused:?}"
    );
    daemon(&harness, &["status"]).exited(1);
    harness.configure("nonsense = 1\n");
    let bad = daemon(&harness, &["start", "--port", "0"]);
    assert!(bad.exited(2).stderr.contains("omniglot.toml:1:1"), "{bad:?}");
    harness.configure("");
    daemon(&harness, &["start", "--host", "0.0.0.0", "--no-token"]).exited(2);
}

#[test]
fn a_daemon_of_another_version_is_told() {
    let harness = Harness::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || other_version(&listener));
    let path = harness.data_dir().join("omniglot.lock");
    std::fs::write(&path, format!("{{\"pid\":{},\"url\":\"{url}\"}}", std::process::id())).unwrap();
    let lock = std::fs::File::open(&path).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let status = daemon(&harness, &["status"]);
    assert!(status.exited(0).stdout.contains("version   0.0.1\n"), "{status:?}");
    assert!(status.stderr.contains("warning: the daemon is omniglot 0.0.1, this program is "), "{status:?}");
    let start = daemon(&harness, &["start"]);
    assert!(
        start.exited(0).stderr.contains("`omniglot daemon stop`, then `omniglot daemon start`"),
        "{start:?}"
    );
}

/// Answers every request like a daemon of another version.
fn other_version(listener: &TcpListener) {
    const BODY: &str =
        r#"{"status":"ok","version":"0.0.1","pid":1,"startedAt":0,"sessions":0,"live":0,"busy":0}"#;
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let mut request = vec![];
        let mut byte = [0];
        while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
            request.extend(byte);
        }
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            BODY.len()
        );
        stream.write_all((head + BODY).as_bytes()).unwrap();
    }
}

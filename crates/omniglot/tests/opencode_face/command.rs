//! `omniglot opencode` itself: the arguments that it refuses, and the start of a daemon.

use std::path::Path;
use std::process::{Command, Output};

use omniglot_testkit::clients::OpenCode;
use omniglot_testkit::terminal::Terminal;

use crate::OMNIGLOT;

fn omniglot(home: &Path, words: &[&str], path: &str) -> Output {
    let mut command = Command::new(OMNIGLOT);
    command.args(words).env_clear().env("PATH", path).env("HOME", home);
    command.env("OMNIGLOT_HOME", home.join("data")).current_dir(home).output().unwrap()
}

#[test]
fn without_opencode_it_says_how_to_get_it_and_starts_nothing() {
    let home = tempfile::tempdir().unwrap();
    let output = omniglot(home.path(), &["opencode"], "/usr/bin:/bin");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("opencode is not on the PATH"), "{said}");
    let status = omniglot(home.path(), &["daemon", "status"], "/usr/bin:/bin");
    assert_eq!(status.status.code(), Some(1), "no daemon was started");
}

#[test]
fn an_unknown_agent_is_named_before_the_screen_changes() {
    let daemon = crate::mock();
    let client = OpenCode::default();
    let terminal = client.interface(OMNIGLOT, &daemon, &["--agent", "nobody"]);
    let screen = terminal.sees_the_end(2);
    assert!(screen.contains("there is no agent nobody"), "{screen}");
}

#[test]
fn without_a_daemon_it_starts_one_that_stays() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("omniglot.toml"), "listen = \"127.0.0.1:0\"\n").unwrap();
    let client = OpenCode::default();
    let data_dir = data.to_str().unwrap();
    let command = [OMNIGLOT, "opencode", "--data-dir", data_dir].map(str::to_owned);
    let terminal = Terminal::open(&command, &client.variables(), home.path());
    terminal.sees("Ask anything");
    drop(terminal);
    let status = omniglot(home.path(), &["daemon", "status"], "/usr/bin:/bin");
    assert!(status.status.success(), "{status:?}");
    let stopped = omniglot(home.path(), &["daemon", "stop"], "/usr/bin:/bin");
    assert!(stopped.status.success(), "{stopped:?}");
}

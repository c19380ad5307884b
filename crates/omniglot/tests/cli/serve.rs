//! The start of `omniglot serve`: its address, its files, and the arguments that it refuses.

use std::os::unix::fs::PermissionsExt as _;

use crate::harness::{Finished, Harness};

#[test]
fn serve_says_where_it_listens_and_keeps_a_private_token() {
    let harness = Harness::new();
    let daemon = harness.serve(&[]);
    let token = harness.data_dir().join("private/token");
    assert!(daemon.line().contains(&format!("token in {}", token.display())), "{}", daemon.line());
    assert_eq!(std::fs::metadata(&token).unwrap().permissions().mode() & 0o777, 0o600);
    let first = std::fs::read_to_string(&token).unwrap();
    assert_eq!(first.trim().len(), 32);
    daemon.stop().exited(0);
    let again = harness.serve(&[]);
    assert_eq!(std::fs::read_to_string(&token).unwrap(), first);
    let finished = again.stop();
    assert!(!finished.exited(0).stderr.contains(first.trim()), "the token is in the log");
}

#[test]
fn a_second_daemon_on_the_same_data_is_refused_with_the_name_of_the_first() {
    let harness = Harness::new();
    let daemon = harness.serve(&[]);
    let second = Finished::of(&mut harness.command(&["serve", "--port", "0"]));
    let expected = format!(
        "omniglot: the data directory {} is in use by the daemon with pid {} at {}; \
         use it, stop it, or choose another --data-dir",
        harness.data_dir().display(),
        daemon.pid(),
        daemon.url()
    );
    assert!(second.exited(1).stderr.contains(&expected), "{second:?}");
    daemon.stop().exited(0);
}

#[test]
fn a_data_dir_that_is_none_or_is_open_to_others_is_told() {
    let harness = Harness::new();
    let file = harness.data_dir().join("a-file");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    let refused = Finished::of(&mut harness.command(&["serve", "--port", "0", "--data-dir", file]));
    assert!(refused.exited(2).stderr.contains(&format!("{file} is not a directory")), "{refused:?}");

    for (mode, warnings) in [(0o755, 1), (0o700, 0)] {
        std::fs::set_permissions(harness.data_dir(), std::fs::Permissions::from_mode(mode)).unwrap();
        let finished = harness.serve(&[]).stop();
        let found = finished.exited(0).stderr.matches("others may enter the data directory").count();
        assert_eq!(found, warnings, "{mode:o}: {finished:?}");
    }
}

#[test]
fn a_data_dir_of_an_older_version_is_moved_and_keeps_its_sessions_and_its_token() {
    let harness = Harness::new();
    harness.run(&["--session", "old", "[[text]]"]).exited(0);
    let data = harness.data_dir();
    let token = std::fs::read_to_string(data.join("private/token")).unwrap();
    for name in ["omniglot.db", "token", "omniglot.lock", "run"] {
        std::fs::rename(data.join("private").join(name), data.join(name)).unwrap();
    }
    for (path, name) in [("private", "agents"), ("shared", "mock-agent")] {
        // Not every run leaves them.
        std::fs::rename(data.join(path).join(name), data.join(name)).unwrap_or_default();
    }
    std::fs::remove_dir_all(data.join("private")).unwrap();
    std::fs::remove_dir_all(data.join("shared")).unwrap();
    // As a person may have configured it.
    harness.configure("token_file = \"token\"\n");
    let daemon = harness.serve(&[]);
    let list = Finished::of(&mut harness.command(&["sessions", "list"]));
    assert!(list.exited(0).stdout.contains("old"), "{list:?}");
    let finished = daemon.stop();
    let moved = format!("moved the files of {} into its folders private and shared", data.display());
    assert_eq!(finished.exited(0).stderr.matches(&moved).count(), 1, "{finished:?}");
    assert_eq!(std::fs::read_to_string(data.join("private/token")).unwrap(), token);
    let again = harness.serve(&[]).stop();
    assert!(!again.exited(0).stderr.contains("moved the files"), "{again:?}");
}

#[test]
fn a_port_in_use_is_told_before_the_advice() {
    let harness = Harness::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap();
    let refused = Finished::of(&mut harness.command(&["serve", "--port", &addr.port().to_string()]));
    let stderr = &refused.exited(1).stderr;
    let cause = stderr.find(&format!("cannot listen on {addr}: Address already in use")).unwrap();
    assert!(cause < stderr.find("choose another --port").unwrap(), "{stderr}");
}

#[test]
fn an_origin_or_host_that_can_never_match_is_refused() {
    let harness = Harness::new();
    for (option, value, words) in [
        ("--allow-origin", "*", "no wildcards"),
        ("--allow-origin", "app.example.com", "https://app.example.com"),
        ("--allow-host", "http://box", "NAME:PORT"),
    ] {
        let refused = Finished::of(&mut harness.command(&["serve", "--port", "0", option, value]));
        assert!(refused.exited(2).stderr.contains(words), "{option} {value}: {refused:?}");
    }
}

#[test]
fn listening_on_the_network_without_a_token_is_refused() {
    let harness = Harness::new();
    let finished =
        Finished::of(&mut harness.command(&["serve", "--port", "0", "--host", "0.0.0.0", "--no-token"]));
    assert!(finished.exited(2).stderr.contains("--no-token"), "{finished:?}");
}

#[test]
fn a_token_as_argument_works_and_warns() {
    let harness = Harness::new();
    let daemon = harness.serve(&["--token", "a-known-token"]);
    let mut command = harness.command(&["run", "[[text]]"]);
    let stranger = Finished::of(&mut command);
    assert!(stranger.exited(1).stderr.contains("OMNIGLOT_TOKEN"), "{stranger:?}");
    Finished::of(command.env("OMNIGLOT_TOKEN", "a-known-token")).exited(0);
    let finished = daemon.stop();
    assert!(finished.exited(0).stderr.contains("process list"), "{finished:?}");
    assert!(!finished.stderr.contains("a-known-token"), "{finished:?}");
}

/// D15.
#[test]
fn a_token_that_others_can_read_is_told_and_one_that_can_be_guessed_is_refused_on_the_network() {
    let harness = Harness::new();
    let file = harness.data_dir().join("mine");
    std::fs::write(&file, "x").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let file = file.to_str().unwrap();
    let told = harness.serve(&["--token-file", file]).stop();
    assert!(told.exited(0).stderr.contains(&format!("chmod 600 {file}")), "{told:?}");
    assert!(told.stderr.contains("1 characters and can be guessed"), "{told:?}");
    let args = ["serve", "--host", "0.0.0.0", "--port", "0", "--token-file", file];
    let refused = Finished::of(&mut harness.command(&args));
    assert!(refused.exited(2).stderr.contains("can be guessed"), "{refused:?}");
}

#[test]
fn a_log_in_json_names_the_session_and_the_turn() {
    let harness = Harness::new();
    let mut command = harness.command(&["run", "--session", "s", "[[crash:midline]]"]);
    let run = Finished::of(command.env("OMNIGLOT_LOG", "info").env("OMNIGLOT_LOG_FORMAT", "json"));
    let lines = run.stderr.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let died = lines.into_iter().find(|line| line["message"] == "an agent died").unwrap();
    assert_eq!((&died["level"], &died["session"]), (&"WARN".into(), &"s".into()));
    assert!(died["turn"].as_str().is_some_and(|turn| !turn.is_empty()), "{died}");
}

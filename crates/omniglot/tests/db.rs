//! `omniglot db check` on logs that real sessions left.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "cli/harness.rs"]
#[expect(dead_code, reason = "shared with the other tests of the binary")]
mod harness;

use std::path::Path;

use harness::{Finished, Harness};
use serde_json::{Value, json};

fn check(harness: &Harness, args: &[&str]) -> Finished {
    Finished::of(&mut harness.command(&[&["db", "check"], args].concat()))
}

/// A copy of the log in which the second event has one flipped bit.
fn damaged_copy(harness: &Harness) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let path = copy.path().join("private/omniglot.db");
    std::fs::create_dir(copy.path().join("private")).unwrap();
    std::fs::copy(harness.data_dir().join("private/omniglot.db"), &path).unwrap();
    let database = rusqlite::Connection::open(path).unwrap();
    let flip = "UPDATE events SET time = (time | 1) - (time & 1) WHERE seq = 2";
    assert_eq!(database.execute(flip, []).unwrap(), 1);
    copy
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_whole_log_has_no_faults_also_beside_a_daemon() {
    let harness = Harness::new();
    harness.run(&["--session", "one", "[[text]]"]).exited(0);
    let alone = check(&harness, &[]);
    let said = format!("no faults in {}: 1 sessions, ", harness.data_dir().display());
    assert!(alone.exited(0).stdout.starts_with(&said), "{alone:?}");
    let daemon = harness.serve(&[]);
    assert_eq!(check(&harness, &[]).exited(0).stdout, alone.stdout);
    daemon.stop().exited(0);
}

#[test]
fn a_flipped_bit_is_named_and_exits_with_1() {
    let harness = Harness::new();
    harness.run(&["--session", "one", "[[text]]"]).exited(0);
    let copy = damaged_copy(&harness);
    let readable = check(&harness, &["--data-dir", text(copy.path())]);
    let lines: Vec<&str> = readable.exited(1).stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{readable:?}");
    assert_eq!(lines[0], "events, session one, 2: does not match its checksum");
    assert!(lines[1].starts_with("1 fault in "), "{readable:?}");
    assert_eq!(readable.stderr, "", "no progress without a terminal");

    let json = check(&harness, &["--json", "--data-dir", text(copy.path())]);
    let lines: Vec<Value> =
        json.exited(1).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let fault = json!({
        "type": "fault", "table": "events", "session": "one", "sequence": 2,
        "fault": "does not match its checksum",
    });
    assert_eq!(lines[0], fault);
    assert_eq!((&lines[1]["type"], &lines[1]["faults"]), (&"summary".into(), &1.into()));
}

#[test]
fn a_wrong_place_is_a_mistake_of_use_and_is_left_as_it_is() {
    let harness = Harness::new();
    let wrong = check(&harness, &["--data-dir", "/no/such/place"]);
    assert!(wrong.exited(2).stderr.contains("there is no database in /no/such/place"), "{wrong:?}");
    check(&harness, &["--nonsense"]).exited(2);
    check(&harness, &[]).exited(2);
    assert_eq!(std::fs::read_dir(harness.data_dir()).unwrap().count(), 0);
}

#[test]
fn a_file_that_is_no_database_exits_with_1_and_says_so() {
    let harness = Harness::new();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("omniglot.db"), "no database".repeat(1000)).unwrap();
    let refused = check(&harness, &["--data-dir", text(dir.path())]);
    assert!(
        refused.exited(1).stderr.contains("cannot be read: database: file is not a database"),
        "{refused:?}"
    );
}

#[test]
fn a_copy_made_beside_a_daemon_is_put_back_and_a_log_is_made_smaller() {
    let harness = Harness::new();
    harness.run(&["--session", "one", "[[text]]"]).exited(0);
    let copy = harness.data_dir().join("copy.db");
    let daemon = harness.serve(&[]);
    let db = |words: &[&str]| Finished::of(&mut harness.command(&[&["db"], words].concat()));
    let made = db(&["backup", text(&copy)]);
    assert!(made.exited(0).stdout.starts_with("copied the database of "), "{made:?}");
    assert!(!db(&["backup", text(&copy)]).stderr.is_empty(), "no file is replaced");
    let refused = db(&["restore", text(&copy)]);
    assert!(refused.exited(1).stderr.contains("was not restored"), "{refused:?}");
    daemon.stop().exited(0);
    let restored = db(&["restore", text(&copy)]);
    assert!(restored.exited(0).stdout.starts_with("restored 1 sessions from "), "{restored:?}");
    assert!(restored.stdout.contains("the database that was there is now "), "{restored:?}");
    assert!(db(&["vacuum"]).exited(0).stdout.contains(" bytes; it had "));
    check(&harness, &[]).exited(0);
    harness.run(&["--session", "one", "[[text]]"]).exited(0);
}

//! `omniglot db check` on logs that real sessions left.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "cli/bench.rs"]
#[expect(dead_code, reason = "shared with the other tests of the binary")]
mod bench;

use std::path::Path;

use bench::{Bench, Finished};
use serde_json::{Value, json};

fn check(bench: &Bench, args: &[&str]) -> Finished {
    Finished::of(&mut bench.command(&[&["db", "check"], args].concat()))
}

/// A copy of the log in which the second event has one flipped bit.
fn damaged_copy(bench: &Bench) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let path = copy.path().join("omniglot.db");
    std::fs::copy(bench.data_dir().join("omniglot.db"), &path).unwrap();
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
    let bench = Bench::new();
    bench.run(&["--session", "one", "[[text]]"]).exited(0);
    let alone = check(&bench, &[]);
    let said = format!("no faults in {}: 1 sessions, ", bench.data_dir().display());
    assert!(alone.exited(0).stdout.starts_with(&said), "{alone:?}");
    let daemon = bench.serve(&[]);
    assert_eq!(check(&bench, &[]).exited(0).stdout, alone.stdout);
    daemon.stop().exited(0);
}

#[test]
fn a_flipped_bit_is_named_and_exits_with_1() {
    let bench = Bench::new();
    bench.run(&["--session", "one", "[[text]]"]).exited(0);
    let copy = damaged_copy(&bench);
    let readable = check(&bench, &["--data-dir", text(copy.path())]);
    let lines: Vec<&str> = readable.exited(1).stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{readable:?}");
    assert_eq!(lines[0], "events, session one, 2: does not match its checksum");
    assert!(lines[1].starts_with("1 fault in "), "{readable:?}");
    assert_eq!(readable.stderr, "", "no progress without a terminal");

    let json = check(&bench, &["--json", "--data-dir", text(copy.path())]);
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
    let bench = Bench::new();
    let wrong = check(&bench, &["--data-dir", "/no/such/place"]);
    assert!(wrong.exited(2).stderr.contains("there is no database in /no/such/place"), "{wrong:?}");
    check(&bench, &["--nonsense"]).exited(2);
    check(&bench, &[]).exited(2);
    assert_eq!(std::fs::read_dir(bench.data_dir()).unwrap().count(), 0);
}

#[test]
fn a_file_that_is_no_database_exits_with_1_and_says_so() {
    let bench = Bench::new();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("omniglot.db"), "no database".repeat(1000)).unwrap();
    let refused = check(&bench, &["--data-dir", text(dir.path())]);
    assert!(
        refused.exited(1).stderr.contains("cannot be read: database: file is not a database"),
        "{refused:?}"
    );
}

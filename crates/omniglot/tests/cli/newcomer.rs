//! The first hour of a person: ids that a command asks for are shown by another, mistakes are told in the words that
//! were typed, and nothing is made by a look.

use serde_json::Value;

use super::harness::{Finished, Harness};
use super::sessions::sessions;

fn omniglot(harness: &Harness, args: &[&str]) -> Finished {
    Finished::of(&mut harness.command(args))
}

#[test]
fn turns_are_listed_by_the_ids_that_fork_and_revert_take() {
    let harness = Harness::new();
    harness.run(&["--session", "s", "First. [[text:1]]"]).exited(0);
    harness.run(&["--session", "s", "--approve", "once", "Second. [[edit]]"]).exited(0);
    let listed = sessions(&harness, &["turns", "s"]);
    let rows: Vec<&str> = listed.exited(0).stdout.lines().skip(1).collect();
    assert!(rows.len() == 2 && rows[0].contains("end_turn") && rows[1].contains("Second."), "{listed:?}");
    let json = sessions(&harness, &["turns", "s", "--json"]);
    let turns: Vec<Value> =
        json.exited(0).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = turns[1]["turnId"].as_str().unwrap();
    assert!(rows[1].starts_with(last), "{listed:?}");
    let reverted = sessions(&harness, &["revert", "s", "--turn", last]);
    assert!(reverted.exited(0).stdout.contains("1 file"), "{reverted:?}");
    let unknown = sessions(&harness, &["revert", "s", "--turn", "nope"]);
    assert!(unknown.exited(1).stderr.contains("`omniglot sessions turns ID` lists them"), "{unknown:?}");
}

#[test]
fn a_revert_is_told_once_and_one_that_was_not_made_cannot_be_taken_back() {
    let harness = Harness::new();
    harness.run(&["--session", "s", "--approve", "once", "[[edit]]"]).exited(0);
    let none = sessions(&harness, &["revert", "s", "--undo"]);
    assert!(none.exited(1).stderr.contains("no turn is reverted"), "{none:?}");
    sessions(&harness, &["revert", "s"]).exited(0);
    let tail = sessions(&harness, &["tail", "s"]);
    let line = tail.exited(0).stdout.lines().find(|line| line.contains("reverted")).unwrap();
    assert!(line.starts_with("· reverted turn ") && line.contains("notes.txt"), "{line}");
}

#[test]
fn a_session_is_shown_with_its_labels_and_tokens() {
    let harness = Harness::new();
    harness.run(&["--session", "s", "[[edit]]", "--approve", "once"]).exited(0);
    sessions(&harness, &["set", "s", "--label", "app=shop", "--label", "user=ann"]).exited(0);
    let shown = sessions(&harness, &["show", "s"]);
    let text = &shown.exited(0).stdout;
    assert!(text.contains("\nlabels      app=shop, user=ann\n"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("tokens      ") && line.contains("out ")), "{text}");
}

#[test]
fn a_look_into_a_directory_that_is_not_there_makes_none() {
    let harness = Harness::new();
    let typo = harness.data_dir().join("typo");
    let dir = typo.to_str().unwrap();
    for args in [&["list"][..], &["show", "s"], &["tail", "s"], &["search", "x"]] {
        let refused = sessions(&harness, &[args, &["--data-dir", dir]].concat());
        assert!(refused.exited(2).stderr.contains("there is no data directory"), "{refused:?}");
    }
    omniglot(&harness, &["attach", "s", "--data-dir", dir]).exited(2);
    assert!(!typo.exists());
}

#[test]
fn mistakes_are_told_in_the_words_of_the_command_line() {
    let harness = Harness::new();
    let model = harness.run(&["--model", "nope", "x"]);
    assert!(model.exited(2).stderr.contains("; `--force-model` passes"), "{model:?}");
    let mode = harness.run(&["--mode", "nope", "x"]);
    assert_eq!(mode.exited(2).stderr.matches("acceptEdits").count(), 1, "{mode:?}");
    harness.run(&["--session", "s", "[[text:1]]"]).exited(0);
    let export = sessions(&harness, &["export", "s", "-o", "nowhere/x.jsonl"]);
    assert!(
        export.exited(2).stderr.contains("nowhere/x.jsonl cannot be written: there is no directory nowhere"),
        "{export:?}"
    );
    assert!(!export.stderr.contains(".tmp"), "{export:?}");
    let taken = sessions(&harness, &["fork", "s", "--as", "s"]);
    assert!(!taken.exited(1).stderr.contains("/v1/"), "{taken:?}");
    let doctor = omniglot(&harness, &["doctor", "claude"]);
    assert!(doctor.exited(2).stderr.contains("`omniglot agents doctor claude`"), "{doctor:?}");
}

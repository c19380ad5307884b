//! What a person meets in the first hour: ids that a command asks for are shown by another, mistakes are told in the
//! words that were typed, and nothing is made by a look.

use super::harness::{Finished, Harness};
use super::sessions::sessions;

fn omniglot(harness: &Harness, args: &[&str]) -> Finished {
    Finished::of(&mut harness.command(args))
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

//! Questions of the agent, answered from the keyboard of `omniglot run`.

use omniglot_schema::{EventData, QuestionStatus, StopReason, UniversalEvent};
use omniglot_testkit::validate::assert_lawful;

use super::harness::{Finished, Harness};
use super::stop_reason;

fn asked(word: &str, typed: &str) -> Finished {
    let harness = Harness::new();
    Finished::of_input(&mut harness.command(&["run", "--json", "--approve", "ask", word]), typed)
}

fn resolved(events: &[UniversalEvent]) -> (QuestionStatus, Option<String>) {
    let resolution = |event: &UniversalEvent| match &event.data {
        EventData::QuestionResolved(data) => Some((data.status, data.response.clone())),
        _ => None,
    };
    events.iter().find_map(resolution).unwrap()
}

#[test]
fn typed_answers_are_taken_one_question_after_the_other() {
    let run = asked("[[question]]", "2\nfmt, 3\nfeature/x\n");
    let events = run.exited(0).events();
    assert_lawful(&events);
    let response = "Thorough; fmt, test; feature/x".to_owned();
    assert_eq!(resolved(&events), (QuestionStatus::Answered, Some(response)), "{run:?}");
    for words in
        ["1) Quick: The smallest change that works", "answer 1/3 (1 to 2)?", "answer 3/3 (some text)?"]
    {
        assert!(run.stderr.contains(words), "{words:?} is missing: {run:?}");
    }
}

#[test]
fn an_answer_that_is_not_offered_is_asked_again_and_other_words_are_taken_where_allowed() {
    let run = asked("[[question]]", "slow\nQUICK\n1\nx\n");
    assert!(run.exited(0).stderr.contains("give 1 to 2"), "{run:?}");
    assert_eq!(resolved(&run.events()).1.as_deref(), Some("Quick; fmt; x"), "{run:?}");
    let run = asked("[[question:one]]", "a warm green\n");
    assert_eq!(resolved(&run.exited(0).events()).1.as_deref(), Some("a warm green"), "{run:?}");
}

#[test]
fn the_end_of_the_answers_rejects_the_question_and_the_turn_goes_on() {
    let run = asked("[[question]]", "1\n");
    let events = run.exited(0).events();
    assert_eq!(resolved(&events), (QuestionStatus::Rejected, None), "{run:?}");
    assert_eq!(stop_reason(&events), StopReason::EndTurn);
}

#[test]
fn without_a_keyboard_questions_are_rejected_and_the_run_says_so() {
    let harness = Harness::new();
    let run = harness.run(&["--json", "[[question]]"]);
    assert!(run.exited(0).stderr.contains("questions are not answered"), "{run:?}");
    assert_eq!(resolved(&run.events()), (QuestionStatus::Rejected, None));
}

#[test]
fn a_readable_run_shows_the_question_and_its_answer() {
    let harness = Harness::new();
    let mut command = harness.command(&["run", "--approve", "ask", "[[question:one]]"]);
    let run = Finished::of_input(&mut command, "blue\n");
    for words in ["? Which colour shall it have?", "2) Blue", "✓ answered: Blue"] {
        assert!(run.exited(0).stdout.contains(words), "{words:?} is missing: {run:?}");
    }
}

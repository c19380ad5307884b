//! `omniglot attach`: a person or a script at a live session, beside its other clients.

use super::harness::{Finished, Harness};
use super::terminal::Terminal;

fn attach(harness: &Harness, input: &str) -> Finished {
    Finished::of_input(&mut harness.command(&["attach", "s"]), input)
}

#[test]
fn a_script_sends_messages_and_answers_one_after_the_other() {
    let harness = Harness::new();
    harness.run(&["--session", "s", "Remember the heron. [[text:1]]"]).exited(0);
    let said = attach(&harness, "[[permission]] go\nonce\n[[recall]]\n");
    let out = &said.exited(0).stdout;
    for words in ["› Remember the heron.", "? permission: ", "✓ allowed once"] {
        assert!(out.contains(words), "{words:?} is missing in\n{out}");
    }
    assert_eq!(out.matches("── end_turn").count(), 3, "{out}");
    assert!(out.rfind("heron") > out.find("✓ allowed once"), "{out}");
    assert!(!out.contains("› [[recall]]"), "what was typed is not repeated\n{out}");
}

#[test]
fn a_session_that_does_not_exist_is_named() {
    let missing = attach(&Harness::new(), "");
    assert!(missing.exited(1).stderr.contains("no session s"), "{missing:?}");
}

#[test]
fn a_person_sees_others_answers_cancels_and_leaves_the_session_alone() {
    let harness = Harness::new();
    let daemon = harness.serve(&[]);
    harness.run(&["--session", "s", "[[text:1]]"]).exited(0);
    let mut person = Terminal::run(&harness, 80, &["attach", "s"]);
    person.read_until("── end_turn");
    person.read_until("› ");
    Finished::of(&mut harness.command(&["sessions", "send", "s", "from elsewhere [[text:2]]"])).exited(0);
    person.read_until("› from elsewhere");
    person.read_until("── end_turn");
    person.type_in("[[permission]]\n");
    person.read_until("[r]eject? ");
    person.type_in("r\n");
    person.read_until("rejected");
    person.read_until("── end_turn");
    person.type_in("now stay [[text:2]] [[silence]]\n");
    person.read_until("many agents");
    person.type_in(":cancel\n");
    person.read_until("── cancelled");
    person.type_in(":quit\n");
    assert!(person.finish().success());
    let tail = Finished::of(&mut harness.command(&["sessions", "tail", "s"]));
    assert!(!tail.exited(0).stdout.contains("the session ended"), "{tail:?}");
    daemon.stop().exited(0);
}

#[test]
fn a_request_that_is_open_already_is_asked_and_old_lines_are_left_out() {
    let harness = Harness::new();
    let daemon = harness.serve(&[]);
    let words = "first [[text:1]]";
    for _ in 0..5 {
        harness.run(&["--session", "s", words]).exited(0);
    }
    let mut send = harness.command(&["sessions", "send", "s", "--no-wait", "[[permission]]"]);
    Finished::of(&mut send).exited(0);
    let mut person = Terminal::run(&harness, 80, &["attach", "s", "--history", "6"]);
    person.read_until("lines before; `omniglot sessions tail`");
    person.read_until("[r]eject? ");
    person.type_in("o\n");
    person.read_until("✓ allowed once");
    person.read_until("── end_turn");
    person.type_in("\u{4}");
    assert!(person.finish().success());
    daemon.stop().exited(0);
}

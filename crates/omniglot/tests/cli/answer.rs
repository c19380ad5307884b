//! `omniglot sessions answer`: the pending request of an agent, answered without watching the session.

use omniglot_schema::{EventData, UniversalEvent};
use serde_json::Value;

use super::harness::{Daemon, Harness};
use super::sessions::{sessions, turn_ended};

/// Starts a daemon in whose session `s` the agent waits for an answer to this word.
fn asking(harness: &Harness, word: &str) -> Daemon {
    let daemon = harness.serve(&[]);
    harness.run(&["--session", "s", "[[text:1]]"]).exited(0);
    let mut tail = harness.start(&["sessions", "tail", "s", "-f", "--json"]);
    sessions(harness, &["send", "s", word, "--no-wait"]).exited(0);
    tail.events_until(|event| {
        matches!(event.data, EventData::PermissionRequested(_) | EventData::QuestionRequested(_))
    });
    daemon
}

#[test]
fn what_an_agent_waits_for_is_answered_from_the_command_line() {
    let harness = Harness::new();
    let daemon = asking(&harness, "[[permission]]");
    let queued = sessions(&harness, &["send", "s", "[[question:one]]", "--no-wait"]);
    let words = "the running turn waits for permission perm_";
    assert!(queued.exited(0).stderr.contains(words), "{queued:?}");
    assert!(queued.stderr.contains("`omniglot sessions answer s …`"), "{queued:?}");
    let silent = sessions(&harness, &["answer", "s"]);
    assert!(silent.exited(2).stderr.contains("[o]nce, [a]lways, [r]eject"), "{silent:?}");
    sessions(&harness, &["answer", "s", "maybe"]).exited(2);
    sessions(&harness, &["answer", "s", "once", "always"]).exited(2);
    sessions(&harness, &["answer", "s", "once", "--message", "x"]).exited(2);
    let mut tail = harness.start(&["sessions", "tail", "s", "-f", "--json"]);
    let rejected = sessions(&harness, &["answer", "s", "reject", "--message", "not today", "--json"]);
    let done: Value = serde_json::from_str(&rejected.exited(0).stdout).unwrap();
    assert_eq!((&done["sessionId"], &done["done"]), (&"s".into(), &"rejected".into()), "{done}");
    tail.events_until(|event| matches!(event.data, EventData::QuestionRequested(_)));
    let answered = sessions(&harness, &["answer", "s", "blue"]);
    assert!(answered.exited(0).stdout.ends_with(": answered\n"), "{answered:?}");
    let resolved = |event: &UniversalEvent| matches!(event.data, EventData::QuestionResolved(_));
    let events = tail.events_until(resolved);
    let EventData::QuestionResolved(data) = &events.last().unwrap().data else { unreachable!() };
    assert_eq!(data.response.as_deref(), Some("Blue"));
    tail.events_until(turn_ended);
    let nothing = sessions(&harness, &["answer", "s", "once"]);
    assert!(nothing.exited(1).stderr.contains("nothing waits for an answer"), "{nothing:?}");
    daemon.stop().exited(0);
}

#[test]
fn a_run_that_waits_for_an_answer_says_how_to_give_it() {
    let harness = Harness::new();
    let daemon = asking(&harness, "[[question]]");
    let mut run = harness.start(&["run", "--session", "s", "--json", "[[text:1]]"]);
    run.wait_for_stderr("omniglot sessions answer s");
    let few = sessions(&harness, &["answer", "s", "1", "1"]);
    assert!(few.exited(2).stderr.contains("answer 3/3 (some text)"), "{few:?}");
    sessions(&harness, &["answer", "s", "--reject"]).exited(0);
    run.finish().exited(0);
    daemon.stop().exited(0);
}

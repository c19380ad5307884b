//! Late text is one item (T9), whoever ends it.

use omniglot_schema::{EventSource, ItemId};

use super::*;
use crate::timeline::SessionEnd;

impl Session {
    /// An answer of which the turn's end has cut the rest off.
    fn cut_answer(said: &str) -> (Self, ItemId) {
        let mut session = Self::new();
        session.start("m", Body::assistant_text(said));
        session.end_turn();
        let cut = session.last().item_id;
        session.said.drain(..).for_each(|emitted| session.earlier.push(emitted));
        (session, cut)
    }

    pub(super) fn delta(&mut self, key: &str, delta: &str) {
        self.draft(Draft::ItemDelta { key: key.into(), delta: delta.into() });
    }

    /// The types of the events since the answer was cut, with runs of deltas told once.
    fn kinds(&self) -> Vec<&'static str> {
        let mut kinds: Vec<_> = self.said.iter().map(|emitted| emitted.event.kind().as_str()).collect();
        kinds.dedup();
        kinds
    }
}

const ONE_ITEM: [&str; 3] = ["item.started", "item.delta", "item.completed"];

fn late(detail: &str) -> String {
    format!(r#"[{{"type":"status","label":"mock.late","detail":"{detail}"}}]"#)
}

#[test]
fn late_text_is_one_item_however_many_deltas_bring_it() {
    let (mut session, cut) = Session::cut_answer("The");
    for word in 0..20 {
        session.delta("m", &format!(" {word}"));
    }
    assert_eq!(session.count("item.started"), 1);
    assert_eq!(session.count("item.delta"), 20);
    let words: String = (0..20).map(|word| format!(" {word}")).collect();
    session.end("m", Outcome::Completed, Some(Body::assistant_text(format!("The{words}"))));
    let item = session.last();
    assert_eq!((item.parent_id.as_ref(), item.status), (Some(&cut), ItemStatus::Completed));
    assert_eq!(shown(&item), late(&words));
    assert_eq!(session.kinds(), ONE_ITEM);
}

#[test]
fn the_rest_of_a_late_text_comes_as_a_delta() {
    let (mut session, _) = Session::cut_answer("The");
    session.delta("m", " answer");
    session.end("m", Outcome::Completed, Some(Body::assistant_text("The answer is 42.")));
    assert_eq!(session.count("item.delta"), 2);
    assert_eq!(shown(&session.last()), late(" answer is 42."));
}

#[test]
fn a_final_text_that_contradicts_the_late_one_is_an_item_of_its_own() {
    let (mut session, cut) = Session::cut_answer("The");
    session.delta("m", " answer");
    session.end("m", Outcome::Completed, Some(Body::assistant_text("No.")));
    let ended = session.ended();
    let [.., streamed, last] = ended.as_slice() else { panic!("{ended:#?}") };
    assert_eq!((streamed.status, shown(streamed)), (ItemStatus::Failed, late(" answer")));
    assert_eq!((last.status, shown(last)), (ItemStatus::Completed, late("No.")));
    assert_eq!(last.parent_id, Some(cut));
}

#[test]
fn late_text_that_the_agent_never_ends_is_complete_when_the_next_turn_begins() {
    let (mut session, cut) = Session::cut_answer("The");
    session.delta("m", " answer");
    session.turn();
    let kinds = session.kinds();
    assert_eq!(kinds[..4], ["item.started", "item.delta", "item.completed", "turn.started"]);
    assert_eq!(session.said[2].event.source, EventSource::Daemon);
    assert_eq!(shown(&session.ended()[2]), late(" answer"));
    session.delta("m", " is");
    session.delta("m", " 42.");
    session.end_turn();
    let item = session.last();
    assert_eq!((item.parent_id.as_ref(), shown(&item)), (Some(&cut), late(" is 42.")));
}

#[test]
fn late_text_is_complete_when_the_process_is_gone_or_the_session_ends() {
    let stamp = Stamp::daemon(Timestamp::UNIX_EPOCH);
    let (mut session, _) = Session::cut_answer("The");
    session.delta("m", " answer");
    session.timeline.forget_run(stamp, &mut session.said);
    assert_eq!(session.kinds(), ONE_ITEM);
    let (mut session, _) = Session::cut_answer("The");
    session.delta("m", " answer");
    session.timeline.end_session(SessionEnd::Terminated, stamp, &mut session.said);
    assert_eq!(session.kinds(), ["item.started", "item.delta", "item.completed", "session.ended"]);
    session.ended();
}

#[test]
fn a_daemon_that_was_killed_completes_late_text_when_it_comes_back() {
    let (mut session, _) = Session::cut_answer("The");
    session.delta("m", " answer");
    let snapshot = serde_json::to_string(&session.timeline.snapshot()).unwrap();
    let identity = Identity { session_id: SessionId::parse("s").unwrap(), agent: "mock".into() };
    session.timeline = Timeline::restore(identity, serde_json::from_str(&snapshot).unwrap(), &[]);
    session.timeline.recover(
        Failure::daemon_restarted(),
        Stamp::daemon(Timestamp::UNIX_EPOCH),
        &mut session.said,
    );
    assert_eq!(session.kinds(), ONE_ITEM);
    assert_eq!(shown(&session.last()), late(" answer"));
}

#[test]
fn late_text_within_the_next_turn_outlives_a_killed_daemon_once() {
    let (mut session, _) = Session::cut_answer("The");
    session.turn();
    let snapshot = serde_json::to_string(&session.timeline.snapshot()).unwrap();
    session.delta("m", " answer");
    let open: Vec<_> = session.said.iter().map(|emitted| emitted.event.clone()).collect();
    let identity = Identity { session_id: SessionId::parse("s").unwrap(), agent: "mock".into() };
    session.timeline = Timeline::restore(identity, serde_json::from_str(&snapshot).unwrap(), &open);
    session.timeline.recover(
        Failure::daemon_restarted(),
        Stamp::daemon(Timestamp::UNIX_EPOCH),
        &mut session.said,
    );
    assert_eq!(shown(&session.last()), late(" answer"));
}

#[test]
fn late_output_is_a_preview_and_the_result_takes_its_place() {
    let mut session = Session::new();
    session.call("c");
    session.runs("c");
    session.end_turn();
    let before = session.count("item.started");
    session.output("c", "one\n");
    session.output("c", "two\n");
    let body = ToolResult { output: "zero\none\ntwo\n".into(), exit_code: Some(0), ..ToolResult::default() };
    session.finish("c", Outcome::Completed, body);
    assert_eq!(session.count("item.started"), before + 1);
    let item = session.last();
    assert!(shown(&item).contains(r#""detail":"exit code 0\nzero\none\ntwo\n""#), "{}", shown(&item));
    assert!(shown(&item).contains(r#""exit_code":0"#));
}

#[test]
fn the_arguments_of_a_late_call_are_one_item() {
    let mut session = Session::new();
    session.end_turn();
    let before = session.count("item.started");
    let call = ToolCall::new("shell", "");
    session.draft(Draft::CallStarted(CallStart { key: "c".into(), native_id: None, parent: None, call }));
    for piece in ["{\"command\":", "\"ls\"", "}"] {
        session.draft(Draft::CallInput { key: "c".into(), delta: piece.into() });
    }
    let call = Some(ToolCall::new("shell", r#"{"command":"ls"}"#));
    session.draft(Draft::CallReady { key: "c".into(), call });
    assert_eq!(session.count("item.started"), before + 1);
    assert!(shown(&session.last()).contains(r#"shell {\"command\":\"ls\"}"#));
}

#[test]
fn a_text_that_begins_between_turns_stays_late_in_the_next() {
    let mut session = Session::new();
    session.end_turn();
    session.start("m", Body::assistant_text(""));
    session.delta("m", "So");
    session.turn();
    let first = session.ended().into_iter().rev().nth(1).unwrap();
    session.delta("m", " late");
    session.end("m", Outcome::Completed, None);
    let item = session.last();
    assert_eq!((item.parent_id.as_ref(), shown(&item)), (Some(&first.item_id), late(" late")));
}

#[test]
fn words_for_an_item_that_the_agent_has_ended_are_late_and_its_second_end_is_no_news() {
    let mut session = Session::new();
    session.start("m", Body::assistant_text("Done."));
    session.end("m", Outcome::Completed, None);
    session.delta("m", " Or");
    session.delta("m", " not.");
    session.end("m", Outcome::Completed, Some(Body::assistant_text("Done. Or not.")));
    assert_eq!(shown(&session.last()), late(" Or not."));
    let ended = session.ended().len();
    session.end("m", Outcome::Completed, Some(Body::assistant_text("Done. Or not.")));
    assert_eq!(session.ended().len(), ended);
}

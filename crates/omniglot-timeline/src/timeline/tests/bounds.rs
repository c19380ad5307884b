//! Tests what becomes of an agent that says or asks too much.

use omniglot_schema::{ContentPart, ItemRole, ReasoningVisibility};

use super::*;
use crate::timeline::Bounds;

fn bounded() -> Session {
    let mut session = Session::new();
    session.timeline.bound(Bounds { item_bytes: 8, open_requests: 2 });
    session
}

impl Session {
    fn dropped(&self, reason: &str) -> u64 {
        self.timeline.stats().dropped.get(reason).copied().unwrap_or_default()
    }
}

#[test]
fn a_text_that_grows_for_ever_fails_with_what_fits_and_the_turn_goes_on() {
    let mut session = bounded();
    session.start("m", Body::assistant_text(""));
    for _ in 0..5 {
        session.delta("m", "123");
    }
    session.end("m", Outcome::Completed, Some(Body::assistant_text("123123123123123")));
    session.start("n", Body::assistant_text("short"));
    session.end("n", Outcome::Completed, None);
    session.end_turn();
    let ended = session.ended();
    let [_, long, told, short] = ended.as_slice() else { panic!("{ended:#?}") };
    assert_eq!(
        (long.status, long.content.clone()),
        (ItemStatus::Failed, vec![ContentPart::text("12312312")])
    );
    assert_eq!(told.parent_id.as_ref(), Some(&long.item_id));
    assert!(shown(told).contains("longer than the 8 bytes that `limits.max_item_bytes` allows"), "{told:?}");
    assert_eq!(short.status, ItemStatus::Completed);
    assert_eq!(session.dropped("too_long"), 3);
    assert_eq!(session.count("turn.ended"), 1);
}

#[test]
fn a_text_that_comes_whole_and_a_thought_are_bounded_alike() {
    let mut session = bounded();
    session.end("m", Outcome::Completed, Some(Body::assistant_text("ääääää")));
    let thought = Body::Reasoning { text: "0123456789".into(), visibility: ReasoningVisibility::Public };
    session.start("r", thought);
    let ended = session.ended();
    let texts: Vec<_> = ended.iter().filter(|item| item.role == Some(ItemRole::Assistant)).collect();
    let [message, thought] = texts.as_slice() else { panic!("{ended:#?}") };
    assert_eq!(message.content, [ContentPart::text("ääää")]);
    assert!(shown(thought).contains("\"01234567\""), "{thought:?}");
    assert!(texts.iter().all(|item| item.status == ItemStatus::Failed));
}

#[test]
fn a_final_output_counts_however_long_its_preview_was() {
    let mut session = bounded();
    session.call("c");
    for _ in 0..4 {
        session.output("c", "12345");
    }
    session.finish("c", Outcome::Completed, ToolResult { output: "short".into(), ..ToolResult::default() });
    let result = session.last();
    assert_eq!(result.status, ItemStatus::Completed);
    assert!(shown(&result).contains("\"short\""), "{result:?}");
    assert_eq!(session.dropped("too_long"), 3);
}

#[test]
fn an_output_that_is_too_long_is_cut_and_says_so() {
    let mut session = bounded();
    session.call("c");
    let result =
        ToolResult { output: "0123456789".into(), stderr: Some("more".into()), ..ToolResult::default() };
    session.finish("c", Outcome::Completed, result);
    let cut = session.last();
    assert_eq!(cut.status, ItemStatus::Failed);
    let Some(ContentPart::ToolResult { output, stderr, is_error, .. }) = cut.content.first() else {
        panic!("{cut:?}")
    };
    assert!(output.starts_with("01234567\nthis is longer than the 8 bytes"), "{output}");
    assert_eq!((stderr.as_deref(), *is_error), (Some(""), Some(true)));
    // One that has only its preview.
    session.call("d");
    session.output("d", "0123456789");
    session.finish("d", Outcome::Completed, ToolResult::default());
    let cut = session.last();
    assert_eq!(cut.status, ItemStatus::Failed);
    assert!(shown(&cut).contains("01234567\\nthis is longer"), "{cut:?}");
}

#[test]
fn arguments_that_are_too_long_fail_their_call_which_still_has_its_result() {
    let mut session = bounded();
    session.draft(Draft::CallInput { key: "c".into(), delta: "{\"a\":\"0123456789\"}".into() });
    session.draft(Draft::CallReady {
        key: "c".into(),
        call: Some(ToolCall::new("shell", "{\"a\":\"0123456789\"}")),
    });
    session.finish("c", Outcome::Completed, ToolResult { output: "done".into(), ..ToolResult::default() });
    session.end_turn();
    let ended = session.ended();
    let [_, call, told, result] = ended.as_slice() else { panic!("{ended:#?}") };
    assert_eq!((call.kind, call.status), (ItemKind::ToolCall, ItemStatus::Failed));
    assert!(shown(told).contains("limits.max_item_bytes"), "{told:?}");
    assert_eq!((result.kind, result.status), (ItemKind::ToolResult, ItemStatus::Completed));
}

#[test]
fn late_text_is_bounded_too() {
    let mut session = bounded();
    session.start("m", Body::assistant_text("a"));
    session.end_turn();
    for _ in 0..5 {
        session.delta("m", "1234");
    }
    let ended = session.ended();
    let [.., late, told] = ended.as_slice() else { panic!("{ended:#?}") };
    assert_eq!(late.status, ItemStatus::Failed);
    assert!(shown(late).contains("\"12341234\""), "{late:?}");
    assert!(shown(told).contains("late text is kept up to 8 bytes"), "{told:?}");
    assert_eq!(session.dropped("too_long"), 3);
}

#[test]
fn requests_beyond_the_bound_are_refused_at_once_and_told_once() {
    let mut session = bounded();
    for key in ["a", "b", "c", "d"] {
        session.ask(key);
    }
    let withdrawn = |key: &str| Effect::Withdraw(RequestKey::from(key));
    assert_eq!(session.timeline.take_effects(), [withdrawn("c"), withdrawn("d")]);
    assert_eq!(session.count("permission.requested"), 2);
    assert_eq!(session.dropped("too_many"), 2);
    let told =
        |item: &UniversalItem| shown(item).contains("the 2 open requests that `limits.open_requests` allows");
    assert_eq!(session.ended().iter().filter(|item| told(item)).count(), 1);
    session.resolve("a", PermissionStatus::Accept);
    session.ask("e");
    assert_eq!(session.count("permission.requested"), 3);
}

/// Closing them one after the other, each among all others, would take longer than a test may.
#[test]
fn thousands_of_open_requests_are_read_again_and_closed_in_one_pass() {
    const MANY: usize = 20_000;
    let mut session = Session::new();
    session.timeline.bound(Bounds { open_requests: MANY, ..Bounds::default() });
    for number in 0..MANY {
        session.ask(&number.to_string());
    }
    assert_eq!(session.count("permission.requested"), MANY);
    let identity = Identity { session_id: SessionId::parse("s").unwrap(), agent: "mock".into() };
    let open: Vec<_> = session.said.iter().map(|emitted| emitted.event.clone()).collect();
    session.timeline = Timeline::restore(identity, session.timeline.snapshot(), &open);
    let failure = Failure::daemon_restarted();
    session.timeline.recover(failure, Stamp::daemon(Timestamp::UNIX_EPOCH), &mut session.said);
    let asked = |emitted: &Emitted| match &emitted.event.data {
        EventData::PermissionRequested(data) => Some(data.permission_id.clone()),
        _ => None,
    };
    let rejected = |emitted: &Emitted| match &emitted.event.data {
        EventData::PermissionResolved(data) => Some(data.permission_id.clone()),
        _ => None,
    };
    let asked: Vec<_> = session.said.iter().filter_map(asked).collect();
    assert_eq!(session.said.iter().filter_map(rejected).collect::<Vec<_>>(), asked, "oldest first");
    assert_eq!(session.count("turn.ended"), 1);
}

//! Single events; whole recordings are folded in `omniglot-agents/tests`.

use omniglot_schema::UniversalEventType;
use serde_json::{Value, json};

use super::*;

fn event(kind: &str, data: Value) -> UniversalEvent {
    assert!(UniversalEventType::parse(kind).is_some(), "{kind}");
    let event = json!({ "event_id": "evt_1", "sequence": 1, "time": "2026-11-16T00:00:00Z", "session_id": "s",
        "source": "agent", "synthetic": false, "type": kind, "data": data });
    serde_json::from_value(event).unwrap()
}

fn call(kind: &str, item: &str, parent: Option<&str>, arguments: &str) -> UniversalEvent {
    let part = json!({ "type": "tool_call", "name": "t", "arguments": arguments,
        "call_id": format!("call_{item}"), "kind": "agent" });
    let status = if kind == "item.started" { "in_progress" } else { "completed" };
    event(
        kind,
        json!({ "item": { "item_id": item, "parent_id": parent, "kind": "tool_call", "status": status,
            "content": [part] } }),
    )
}

fn result(kind: &str, of: &str, output: &str) -> UniversalEvent {
    let part = json!({ "type": "tool_result", "call_id": format!("call_{of}"), "output": output });
    let status = if kind == "item.started" { "in_progress" } else { "completed" };
    event(
        kind,
        json!({ "item": { "item_id": format!("result_{of}"), "parent_id": of, "kind": "tool_result",
            "status": status, "content": [part] } }),
    )
}

fn message(kind: &str, item: &str, parent: Option<&str>, role: &str, text: &str) -> UniversalEvent {
    let status = if kind == "item.started" { "in_progress" } else { "completed" };
    event(
        kind,
        json!({ "item": { "item_id": item, "parent_id": parent, "kind": "message", "role": role,
            "status": status, "content": [{ "type": "text", "text": text }] } }),
    )
}

fn delta(item: &str, part: &str, text: &str) -> UniversalEvent {
    event("item.delta", json!({ "item_id": item, "delta": text, "part_type": part }))
}

fn turn_started() -> UniversalEvent {
    let metadata = json!({ "origin": "user", "message_id": "msg_1" });
    event("turn.started", json!({ "phase": "started", "turn_id": "t1", "metadata": metadata }))
}

fn turn_ended() -> UniversalEvent {
    let metadata = json!({ "stop_reason": "end_turn", "duration_ms": 1 });
    event("turn.ended", json!({ "phase": "ended", "turn_id": "t1", "metadata": metadata }))
}

#[test]
fn a_call_goes_from_its_first_word_to_its_result() {
    let mut view = View::default();
    let changes = [
        (call("item.started", "a", None, ""), "CallStarted", CallStatus::Writing),
        (delta("a", "tool_input", "{\"x\""), "CallInput", CallStatus::Writing),
        (call("item.completed", "a", None, "{\"x\":1}"), "CallReady", CallStatus::Ready),
        (result("item.started", "a", ""), "CallRunning", CallStatus::Running),
        (delta("result_a", "tool_output", "one "), "CallOutput", CallStatus::Running),
        (delta("result_a", "tool_output", "two"), "CallOutput", CallStatus::Running),
    ];
    for (event, change, status) in changes {
        assert!(format!("{:?}", view.apply(&event)).starts_with(change), "{change}");
        assert_eq!(view.call(&ItemId("a".into())).unwrap().status, status, "{change}");
    }
    let event = result("item.completed", "a", "one two");
    let Change::CallEnded(ended) = view.apply(&event) else { panic!("not ended") };
    assert_eq!((&*ended.arguments, &*ended.output), ("{\"x\":1}", "one two"));
    assert_eq!(ended.result.unwrap().item_id.as_str(), "result_a");
    let kept = view.call(&ItemId("a".into())).unwrap();
    assert_eq!((kept.status, &*kept.arguments, &*kept.output), (CallStatus::Completed, "", ""));
}

#[test]
fn a_ready_call_tells_what_it_was_when_it_started() {
    let mut view = View::default();
    view.apply(&call("item.started", "a", None, ""));
    view.apply(&delta("a", "tool_input", "{}"));
    let event = call("item.completed", "a", None, "{}");
    let Change::CallReady { call, before } = view.apply(&event) else { panic!("not ready") };
    assert_eq!((&*call.arguments, &*before.unwrap().arguments), ("{}", ""));
}

#[test]
fn items_of_a_subagent_are_children_of_the_call_that_spawned_it() {
    let mut view = View::default();
    let events = [
        message("item.started", "top", None, "assistant", ""),
        call("item.started", "a", Some("top"), ""),
        message("item.started", "words", Some("a"), "assistant", ""),
        call("item.started", "b", Some("words"), ""),
        result("item.started", "b", ""),
        call("item.completed", "a", Some("top"), ""),
    ];
    events.iter().for_each(|event| drop(view.apply(event)));
    let of = |item: &str| view.call(&ItemId(item.into())).unwrap();
    let children: Vec<_> = of("a").children.iter().map(ItemId::as_str).collect();
    assert_eq!(children, ["words", "b"]);
    assert_eq!((of("a").within.as_ref(), of("b").within.as_ref().unwrap().as_str()), (None, "call_a"));
}

#[test]
fn the_words_of_the_posted_message_are_known_by_it() {
    let mut view = View::default();
    view.apply(&turn_started());
    for (item, posted) in [("u1", Some("msg_1")), ("u2", None)] {
        let event = message("item.started", item, None, "user", "hi");
        let Change::MessageStarted(message) = view.apply(&event) else { panic!("no message") };
        assert_eq!(message.posted.as_ref().map(|posted| posted.as_str()), posted, "{item}");
    }
}

#[test]
fn a_message_tells_what_of_its_text_was_streamed() {
    let mut view = View::default();
    view.apply(&message("item.started", "m", None, "assistant", ""));
    view.apply(&delta("m", "text", "Hel"));
    let event = message("item.completed", "m", None, "assistant", "Hello");
    let Change::MessageEnded(message) = view.apply(&event) else { panic!("not ended") };
    assert_eq!((&*message.text, message.streamed, message.reasoning), ("Hello", 3, false));
    assert!(view.messages.is_empty());
}

#[test]
fn a_result_whose_call_was_not_seen_is_a_call_of_its_own() {
    let mut view = View::default();
    let event = result("item.completed", "a", "out");
    let Change::CallEnded(call) = view.apply(&event) else { panic!("not ended") };
    assert_eq!((call.call_id.as_str(), &*call.name, call.kind), ("call_a", "", None));
}

#[test]
fn only_calls_that_may_have_a_subagent_outlive_their_turn() {
    let mut view = View::default();
    view.apply(&turn_started());
    view.apply(&call("item.started", "a", None, ""));
    view.apply(&result("item.completed", "b", ""));
    view.apply(&message("item.started", "m", Some("a"), "assistant", ""));
    let event = turn_ended();
    assert!(matches!(view.apply(&event), Change::TurnEnded { turn: Some(_), .. }));
    assert_eq!((view.messages.len(), view.within.len(), view.results.len()), (0, 0, 0));
    assert_eq!((view.calls.len(), view.by_call.len()), (1, 1));
    let event = message("item.started", "late", Some("a"), "assistant", "");
    let Change::MessageStarted(message) = view.apply(&event) else { panic!("no message") };
    assert_eq!(message.within.as_ref().unwrap().as_str(), "call_a");
}

#[test]
fn the_output_of_a_running_call_is_kept_from_its_end() {
    let mut call = Call::new(ItemId("a".into()), CallId("c".into()));
    let line = "ä".repeat(50_000);
    (0..30).for_each(|_| call.write(&line));
    call.write("end");
    assert!(call.output.len() <= 2 * OUTPUT && call.output.ends_with("end"), "{}", call.output.len());
    assert_eq!(call.written, 3_000_003);
}

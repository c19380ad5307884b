//! A small lawful stream, and for every code a change to it that breaks that rule and no other.

use omniglot_schema::{CopiedFrom, EventMetadata, EventSource, UniversalEvent, UniversalEventType};
use serde_json::{Value, json};

use super::{Allow, Code, Report, check};

/// A stream as JSON, so that a change to it reads like what a client would see.
#[derive(Clone)]
struct Stream(Vec<(&'static str, Value)>);

impl Stream {
    fn set(&mut self, at: usize, pointer: &str, value: Value) {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        self.0[at].1.pointer_mut(parent).unwrap()[key] = value;
    }

    fn insert(&mut self, at: usize, kind: &'static str, data: Value) {
        self.0.insert(at, (kind, data));
    }

    fn push(&mut self, kind: &'static str, data: Value) {
        self.insert(self.0.len(), kind, data);
    }

    fn remove(&mut self, at: usize) {
        self.0.remove(at);
    }

    fn repeat(&mut self, at: usize) {
        self.0.insert(at + 1, self.0[at].clone());
    }

    /// Says the item that starts and completes at these places once more, under another id.
    fn duplicate(&mut self, started: usize, completed: usize) {
        for at in [completed, started] {
            let (kind, mut data) = self.0[at].clone();
            data["item"]["item_id"] = json!("itm_9");
            self.0.insert(completed + 1, (kind, data));
        }
    }

    fn events(&self) -> Vec<UniversalEvent> {
        self.0.iter().zip(1..).map(|((kind, data), n)| event(kind, data, n)).collect()
    }
}

fn event(kind: &str, data: &Value, n: u64) -> UniversalEvent {
    assert!(UniversalEventType::parse(kind).is_some(), "{kind}");
    let json = json!({
        "event_id": format!("evt_{n}"), "sequence": n, "time": format!("2026-01-01T00:00:{n:02}Z"),
        "session_id": "s", "source": "daemon", "synthetic": true, "type": kind, "data": data,
    });
    // Through text, because a raw value cannot be read from a tree.
    serde_json::from_str(&json.to_string()).unwrap()
}

fn item(id: &str, kind: &str, role: Option<&str>, status: &str, content: Value) -> Value {
    json!({"item": {"item_id": id, "kind": kind, "role": role, "status": status, "content": content}})
}

const USER: usize = 2;
const THOUGHT: usize = 4;
const ANSWER: usize = 7;
const CALL: usize = 10;
const ASKED: usize = 12;
const RESULT: usize = 14;
const STATE: usize = 17;
const ENDED: usize = 18;

/// One turn with a thought, an answer, a call with its permission and result, and state.
fn lawful() -> Stream {
    let thought = json!([{"type": "reasoning", "text": "hm", "visibility": "public"}]);
    let call = json!([{"type": "tool_call", "name": "read", "arguments": "{}", "call_id": "call_1"}]);
    let result = json!([{"type": "tool_result", "call_id": "call_1", "output": "ok"}]);
    let permission = |status: &str, by: Value| {
        json!({"permission_id": "perm_1", "action": "read", "status": status,
               "metadata": {"item_id": "itm_4", "resolved_by": by}})
    };
    let (message, assistant, tool) = ("message", Some("assistant"), Some("tool"));
    Stream(vec![
        ("session.started", json!({})),
        ("turn.started", json!({"phase": "started", "turn_id": "turn_1", "metadata": {"origin": "user"}})),
        ("item.started", item("itm_1", message, Some("user"), "in_progress", json!([]))),
        (
            "item.completed",
            item("itm_1", message, Some("user"), "completed", json!([{"type": "text", "text": "go"}])),
        ),
        ("item.started", item("itm_2", message, assistant, "in_progress", json!([]))),
        ("item.delta", json!({"item_id": "itm_2", "delta": "hm", "part_type": "reasoning"})),
        ("item.completed", item("itm_2", message, assistant, "completed", thought)),
        ("item.started", item("itm_3", message, assistant, "in_progress", json!([]))),
        ("item.delta", json!({"item_id": "itm_3", "delta": "hi"})),
        (
            "item.completed",
            item("itm_3", message, assistant, "completed", json!([{"type": "text", "text": "hi"}])),
        ),
        ("item.started", item("itm_4", "tool_call", assistant, "in_progress", call.clone())),
        ("item.completed", item("itm_4", "tool_call", assistant, "completed", call)),
        ("permission.requested", permission("requested", json!(null))),
        ("permission.resolved", permission("accept", json!("person"))),
        ("item.started", item("itm_5", "tool_result", tool, "in_progress", json!([]))),
        ("item.delta", json!({"item_id": "itm_5", "delta": "o", "part_type": "tool_output"})),
        ("item.completed", item("itm_5", "tool_result", tool, "completed", result)),
        ("session.updated", json!({"title": "t"})),
        ("turn.ended", turn_ended("turn_1", "end_turn")),
    ])
}

fn turn_ended(id: &str, stop: &str) -> Value {
    let usage = json!({"input_tokens": 3, "output_tokens": 4, "cache_read_tokens": 5, "total_tokens": 12});
    json!({"phase": "ended", "turn_id": id,
           "metadata": {"stop_reason": stop, "usage": usage, "cost_usd": 0.1, "duration_ms": 5}})
}

fn status(label: &str, status: &str) -> Value {
    item("itm_9", "status", None, status, json!([{"type": "status", "label": label}]))
}

fn ended() -> Value {
    json!({"reason": "terminated", "terminated_by": "daemon"})
}

fn resumed(how: &str) -> Value {
    json!({"metadata": {"resumed": true, "resume": how}})
}

fn error() -> Value {
    json!({"message": "broke", "code": "api_error"})
}

fn question(status: &str, response: Value, by: Value) -> Value {
    let questions =
        json!([{"prompt": "which?", "options": [{"label": "a"}], "multi_select": false, "free_text": false}]);
    json!({"question_id": "qst_1", "prompt": "which?", "options": ["a"], "status": status, "response": response,
           "metadata": {"item_id": "itm_4", "questions": questions, "resolved_by": by}})
}

/// How to break each rule, given a lawful stream.
fn breaking(code: Code) -> fn(&mut Stream) {
    use Code as C;
    match code {
        // These cannot be said in the data; `on_the_envelope` breaks them.
        C::Sequence | C::EventId | C::Synthetic | C::Time | C::Copied => |_| {},
        C::IdPrefix => |s| {
            for at in 1..=ENDED {
                if s.0[at].1.get("turn_id").is_some() {
                    s.set(at, "/turn_id", json!("1"));
                }
            }
        },
        C::SessionFirst => |s| s.insert(0, "session.updated", json!({"title": "u"})),
        C::SessionClosed => |s| {
            s.push("session.ended", ended());
            s.push("session.updated", json!({"title": "u"}));
            s.push("item.started", status("a.late", "in_progress"));
            s.push("session.started", resumed("load"));
            s.push("item.completed", status("a.late", "completed"));
        },
        C::SessionAlternation => |s| s.push("session.started", resumed("native")),
        C::ResumedFlag => |s| {
            s.push("session.ended", ended());
            s.push("session.started", json!({"metadata": {"resumed": true}}));
        },
        C::MemoryLost => |s| {
            s.insert(1, "session.ended", ended());
            s.insert(2, "session.started", resumed("none"));
        },
        C::SessionEnded => |s| s.push("session.ended", json!({"reason": "error", "terminated_by": "agent"})),
        C::StateEmpty => |s| s.0[STATE].1 = json!({}),
        C::Unparsed => |s| s.push("agent.unparsed", json!({"error": "e", "location": "stdout"})),
        C::RawHash => |s| s.push("agent.unparsed", json!({"error": "e", "location": "l", "raw_hash": "12"})),
        C::TurnAlternation => |s| s.push("turn.ended", turn_ended("turn_1", "end_turn")),
        C::TurnId => |s| s.set(ENDED, "/turn_id", json!("turn_2")),
        C::TurnOpen => |s| s.remove(ENDED),
        C::Phase => |s| s.set(1, "/phase", json!("ended")),
        C::UserItem => |s| {
            s.remove(USER + 1);
            s.remove(USER);
        },
        C::Usage => |s| s.set(ENDED, "/metadata/usage/total_tokens", json!(7)),
        C::Cost => |s| s.set(ENDED, "/metadata/cost_usd", json!(-1.0)),
        C::ErrorMissing => |s| s.set(ENDED, "/metadata/stop_reason", json!("error")),
        C::ErrorExtra => |s| s.insert(ENDED, "error", error()),
        C::ErrorOutsideTurn => |s| s.push("error", error()),
        C::ErrorNotLast => |s| {
            s.set(ENDED, "/metadata/stop_reason", json!("error"));
            s.insert(RESULT + 2, "error", error());
        },
        C::ErrorData => |s| {
            s.set(ENDED, "/metadata/stop_reason", json!("error"));
            s.insert(ENDED, "error", json!({"message": "broke"}));
        },
        C::ItemStatus => |s| s.set(ANSWER, "/item/status", json!("completed")),
        C::ItemStartedTwice => |s| s.repeat(ANSWER),
        C::ItemCompletedTwice => |s| s.repeat(ANSWER + 2),
        C::CompletedBeforeStart => |s| {
            s.remove(THOUGHT + 1);
            s.remove(THOUGHT);
        },
        C::ItemOpen => |s| s.remove(ANSWER + 2),
        C::ItemOutsideTurn => |s| {
            s.push("item.started", item("itm_9", "message", Some("assistant"), "in_progress", json!([])));
            s.push("item.completed", item("itm_9", "message", Some("assistant"), "completed", json!([])));
        },
        C::ItemKind => |s| s.set(USER + 1, "/item/kind", json!("unknown")),
        C::Role => |s| s.set(ANSWER + 2, "/item/role", json!("system")),
        C::Parent => |s| s.set(ANSWER + 2, "/item/parent_id", json!("itm_1")),
        C::ItemContent => |s| {
            let call = s.0[CALL].1["item"]["content"].clone();
            s.set(USER + 1, "/item/content", call);
        },
        C::StatusLabel => |s| {
            s.push("item.started", status("a.news", "in_progress"));
            s.push("item.completed", status("a.news", "completed"));
        },
        C::ReasoningMixed => |s| {
            let thought = json!({"type": "reasoning", "text": "", "visibility": "public"});
            s.set(ANSWER + 2, "/item/content", json!([{"type": "text", "text": "hi"}, thought]));
        },
        C::DeltaBeforeStart => |s| s.insert(ANSWER, "item.delta", json!({"item_id": "itm_3", "delta": "hi"})),
        C::DeltaAfterEnd => |s| s.insert(CALL, "item.delta", json!({"item_id": "itm_3", "delta": "hi"})),
        C::DeltaPartType => |s| s.set(RESULT + 1, "/part_type", json!("tool_input")),
        C::DeltaText => |s| s.set(ANSWER + 1, "/delta", json!("ho")),
        C::InlineImage => |s| {
            let image = json!({"type": "image", "path": "data:image/png;base64,AA=="});
            s.set(ANSWER + 2, "/item/content", json!([{"type": "text", "text": "hi"}, image]));
        },
        C::Arguments => |s| s.set(CALL + 1, "/item/content/0/arguments", json!("{")),
        C::CallId => |s| s.duplicate(CALL, CALL + 1),
        C::ResultTwice => |s| s.duplicate(RESULT, RESULT + 2),
        C::CallWithoutResult => |s| {
            s.remove(RESULT + 2);
            s.remove(RESULT + 1);
            s.remove(RESULT);
        },
        C::ResultBeforeCall => |s| {
            let completed = s.0.remove(CALL + 1);
            s.0.insert(RESULT, completed);
        },
        C::RequestStatus => |s| s.set(ASKED + 1, "/status", json!("requested")),
        C::RequestTwice => |s| s.repeat(ASKED + 1),
        C::RequestUnknown => |s| s.remove(ASKED),
        C::RequestOutsideTurn => |s| {
            s.push("question.requested", question("requested", json!(null), json!(null)));
            s.push("question.resolved", question("answered", json!("a"), json!("person")));
        },
        C::RequestOpen => |s| s.remove(ASKED + 1),
        C::RequestItem => |s| s.set(ASKED, "/metadata/item_id", json!("itm_3")),
        C::ResolvedBy => |s| s.set(ASKED + 1, "/metadata/resolved_by", json!("turn_end")),
        C::QuestionShape => |s| {
            s.insert(ASKED, "question.requested", question("requested", json!(null), json!(null)));
            s.insert(ASKED + 1, "question.resolved", question("answered", json!(null), json!("person")));
        },
    }
}

/// Breaks the rules about what only the Timeline writes.
fn on_the_envelope(code: Code, events: &mut [UniversalEvent]) {
    match code {
        Code::Sequence => events[ENDED].sequence += 1,
        Code::EventId => events[ENDED].event_id = events[0].event_id.clone(),
        Code::Synthetic => events[ENDED].synthetic = false,
        Code::Time => events[ENDED].time = events[0].time,
        Code::Copied => {
            let copied_from = CopiedFrom { session: events[0].session_id.clone(), sequence: 3 };
            events[ENDED].metadata = Some(EventMetadata { copied_from: Some(copied_from) });
        }
        _ => {}
    }
}

fn break_one_rule(code: Code) -> Report {
    let mut stream = lawful();
    breaking(code)(&mut stream);
    let mut events = stream.events();
    on_the_envelope(code, &mut events);
    check(&events, Allow { open_turn: false, unparsed: code != Code::Unparsed })
}

#[test]
fn a_lawful_stream_passes_and_is_counted() {
    let report = check(&lawful().events(), Allow::default());
    assert_eq!(report.to_string(), "events=19 items=5 turns=1 unparsed=0 violations=0");
}

#[test]
fn each_broken_rule_is_found_and_no_other_is_blamed() {
    for code in Code::ALL.iter().copied() {
        let report = break_one_rule(code);
        assert!(!report.is_lawful(), "{} was not found", code.as_str());
        assert!(report.violations.iter().all(|v| v.code == code), "{}:\n{report}", code.as_str());
    }
}

#[test]
fn a_frame_that_was_not_understood_is_the_daemons_word() {
    let mut stream = lawful();
    stream.push("agent.unparsed", json!({"error": "e", "location": "stdout"}));
    let mut events = stream.events();
    let allow = Allow { unparsed: true, ..Allow::default() };
    assert!(check(&events, allow).is_lawful());
    let last = events.last_mut().unwrap();
    (last.source, last.synthetic) = (EventSource::Agent, false);
    let report = check(&events, allow);
    assert!(report.violations.iter().map(|v| v.code).eq([Code::Synthetic]), "{report}");
}

#[test]
fn late_text_may_grow_between_two_turns_and_ends_before_the_next() {
    let mut stream = lawful();
    stream.push("item.started", status("a.late", "in_progress"));
    stream.push("item.delta", json!({"item_id": "itm_9", "delta": "more"}));
    let report = check(&stream.events(), Allow::default());
    assert!(report.is_lawful(), "{report}");
    let turn = json!({"phase": "started", "turn_id": "turn_2", "metadata": {"origin": "agent"}});
    stream.push("turn.started", turn);
    stream.push("turn.ended", turn_ended("turn_2", "cancelled"));
    let report = check(&stream.events(), Allow::default());
    assert!(report.violations.iter().map(|v| v.code).eq([Code::ItemOpen]), "{report}");
}

#[test]
fn a_failed_turn_with_one_error_and_state_after_it_is_lawful() {
    let mut stream = lawful();
    stream.set(ENDED, "/metadata/stop_reason", json!("error"));
    stream.insert(STATE, "error", error());
    let report = check(&stream.events(), Allow::default());
    assert!(report.is_lawful(), "{report}");
}

#[test]
fn a_session_may_end_and_go_on_without_memory_when_it_says_so() {
    let mut stream = lawful();
    stream.push("session.ended", json!({"reason": "error", "terminated_by": "agent", "exit_code": 1}));
    stream.push("session.started", resumed("none"));
    stream.push("item.started", status("mock.memory_lost", "in_progress"));
    stream.push("item.completed", status("mock.memory_lost", "completed"));
    stream.push(
        "turn.started",
        json!({"phase": "started", "turn_id": "turn_2", "metadata": {"origin": "agent"}}),
    );
    stream.push("turn.ended", turn_ended("turn_2", "cancelled"));
    let report = check(&stream.events(), Allow::default());
    assert!(report.is_lawful(), "{report}");
}

#[test]
fn a_stream_cut_at_any_place_is_lawful_when_open_turns_are_allowed() {
    let events = lawful().events();
    for end in 1..=events.len() {
        let report = check(&events[..end], Allow { open_turn: true, ..Allow::default() });
        assert!(report.is_lawful(), "cut at {end}:\n{report}");
    }
}

#[test]
fn mixed_sessions_are_judged_each_on_its_own() {
    let events = lawful().events();
    let mut others = events.clone();
    others.iter_mut().for_each(|event| event.session_id = "other".to_owned().try_into().unwrap());
    let mixed = events.iter().zip(&others).flat_map(|(a, b)| [a, b]);
    let report = check(mixed, Allow::default());
    assert_eq!(report.to_string(), "events=38 items=10 turns=2 unparsed=0 violations=0");
}

//! The projector, event by event.

use agent_client_protocol_schema::v1::{ContentBlock, ToolCallStatus, ToolKind};
use serde_json::{Value, json};

use super::*;

/// A session, told step by step.
struct Session {
    projector: Projector,
    blobs: Blobs,
    sequence: u64,
}

impl Session {
    fn new(audience: Audience, echo: Echo) -> Self {
        Self { projector: Projector::new(audience, echo), blobs: Blobs::default(), sequence: 0 }
    }

    fn tell(&mut self, kind: &str, data: Value) -> Vec<Outgoing> {
        self.sequence += 1;
        let event: UniversalEvent = serde_json::from_value(json!({
            "event_id": format!("evt_{}", self.sequence), "sequence": self.sequence,
            "time": "2026-01-01T00:00:00Z", "session_id": "s", "source": "agent", "synthetic": false,
            "type": kind, "data": data,
        }))
        .unwrap();
        self.projector.event(&event, &self.blobs)
    }

    fn updates(&mut self, kind: &str, data: Value) -> Vec<SessionUpdate> {
        let updates = self.tell(kind, data).into_iter().map(|told| match told {
            Outgoing::Update(notification) => notification.update,
            other => panic!("{other:?}"),
        });
        updates.collect()
    }

    /// An item that is begun and completed at once.
    fn item(&mut self, item: Value) -> Vec<SessionUpdate> {
        let mut updates = self.updates("item.started", json!({ "item": item }));
        updates.extend(self.updates("item.completed", json!({ "item": item })));
        updates
    }

    fn turn(&mut self, message: &str) {
        let metadata = json!({ "origin": "user", "message_id": message });
        self.tell("turn.started", json!({ "phase": "started", "turn_id": "turn_1", "metadata": metadata }));
    }
}

fn message(role: &str, content: Value) -> Value {
    json!({ "item_id": "itm_1", "kind": "message", "role": role, "status": "completed", "content": content })
}

fn text(words: &str) -> Value {
    json!([{ "type": "text", "text": words }])
}

#[test]
fn a_client_is_not_told_what_it_has_said_itself() {
    let said = |echo, message_id: &str| {
        let mut session = Session::new(Audience::default(), echo);
        session.projector.own(MessageId("msg_mine".into()));
        session.turn(message_id);
        session.item(message("user", text("hello"))).len()
    };
    assert_eq!(said(Echo::Others, "msg_mine"), 0);
    assert_eq!(said(Echo::Others, "msg_theirs"), 1);
    assert_eq!(said(Echo::All, "msg_mine"), 1);
}

#[test]
fn what_others_say_in_a_turn_of_the_client_is_told() {
    let mut session = Session::new(Audience::default(), Echo::Others);
    session.projector.own(MessageId("msg_mine".into()));
    session.turn("msg_mine");
    assert_eq!(session.item(message("user", text("hello"))).len(), 0);
    assert_eq!(session.item(message("assistant", text("hello"))).len(), 1);
    assert_eq!(session.item(message("user", text("and be quick"))).len(), 1);
}

#[test]
fn an_item_adds_only_what_its_deltas_have_not_said() {
    let mut session = Session::new(Audience::default(), Echo::All);
    session.updates("item.started", json!({ "item": message("assistant", json!([])) }));
    let mut updates = session.updates("item.delta", json!({ "item_id": "itm_1", "delta": "Hé" }));
    updates.extend(session.updates("item.completed", json!({ "item": message("assistant", text("Héllo")) })));
    let said = updates.iter().map(|update| match update {
        SessionUpdate::AgentMessageChunk(chunk) => match &chunk.content {
            ContentBlock::Text(text) => text.text.as_str(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    });
    assert_eq!(said.collect::<Vec<_>>(), ["Hé", "llo"]);
}

#[test]
fn what_a_subagent_says_is_thought() {
    let mut session = Session::new(Audience::default(), Echo::All);
    let mut item = message("assistant", text("from below"));
    item["parent_id"] = json!("itm_0");
    assert!(matches!(&session.item(item)[..], [SessionUpdate::AgentThoughtChunk(_)]));
}

#[test]
fn a_picture_is_told_with_its_bytes_where_they_are_there() {
    let path = "/v1/sessions/s/blobs/a.png";
    let picture = message("assistant", json!([{ "type": "image", "path": path, "mime": "image/png" }]));
    let mut session = Session::new(Audience::default(), Echo::All);
    let block = |updates: &[SessionUpdate]| match updates {
        [SessionUpdate::AgentMessageChunk(chunk)] => serde_json::to_value(&chunk.content).unwrap(),
        other => panic!("{other:?}"),
    };
    let link = json!({ "type": "resource_link", "name": "a.png", "uri": path, "mimeType": "image/png" });
    assert_eq!(block(&session.item(picture.clone())), link);
    session.blobs.insert(path, vec![0, 1]);
    let image = json!({ "type": "image", "data": "AAE=", "mimeType": "image/png", "uri": path });
    assert_eq!(block(&session.item(picture)), image);
}

#[test]
fn a_long_list_is_told_from_its_blob() {
    let path = "/v1/sessions/s/blobs/models.json";
    let data = || json!({ "model": "a", "models": { "$blob": path } });
    let mut session = Session::new(Audience::default(), Echo::All);
    assert_eq!(session.updates("session.updated", data()), []);
    let mut session = Session::new(Audience::default(), Echo::All);
    session.blobs.insert(path, br#"[{"id":"a"},{"id":"b"}]"#.to_vec());
    let updates = session.updates("session.updated", data());
    assert!(matches!(&updates[..], [SessionUpdate::ConfigOptionUpdate(_)]), "{updates:?}");
    assert!(session.projector.state().models.as_ref().is_some_and(|models| models.inline().is_some()));
}

#[test]
fn what_a_person_should_know_is_said_aloud() {
    let status = |label: &str| {
        let part = json!({ "type": "status", "label": label, "detail": "x" });
        json!({ "item_id": "itm_1", "kind": "status", "status": "completed", "content": [part] })
    };
    let told = |label: &str, audience| Session::new(audience, Echo::All).item(status(label)).remove(0);
    let plain = Audience::default();
    let rich = Audience { notices: true, compaction: true, ..plain };
    assert!(matches!(told("a.memory_lost", plain), SessionUpdate::AgentThoughtChunk(_)));
    assert!(matches!(told("a.memory_lost", rich), SessionUpdate::Notice(_)));
    assert!(matches!(told("a.compaction", plain), SessionUpdate::SessionInfoUpdate(_)));
    assert!(matches!(told("a.compaction", rich), SessionUpdate::CompactionUpdate(_)));
    assert!(matches!(told("a.retry", rich), SessionUpdate::SessionInfoUpdate(_)));
}

#[test]
fn growing_output_is_not_sent_over_and_over() {
    let mut session = Session::new(Audience::default(), Echo::All);
    let result = |output: &str| {
        let part = json!({ "type": "tool_result", "call_id": "call_1", "output": output });
        json!({ "item_id": "itm_2", "kind": "tool_result", "role": "tool", "status": "completed",
                "content": [part] })
    };
    session.updates("item.started", json!({ "item": result("") }));
    let mut sent = 0;
    for _ in 0..10_000 {
        let delta = json!({ "item_id": "itm_2", "delta": "0123456789", "part_type": "tool_output" });
        sent += session.updates("item.delta", delta).iter().map(size).sum::<usize>();
    }
    assert!((100_000..2_000_000).contains(&sent), "{sent}");
    let last = session.updates("item.completed", json!({ "item": result("all") }));
    assert!(matches!(&last[..], [SessionUpdate::ToolCallUpdate(update)]
        if update.fields.status == Some(ToolCallStatus::Completed)));
}

fn call(part: Value) -> Value {
    let mut part = part;
    part["type"] = json!("tool_call");
    part["call_id"] = json!("call_1");
    json!({ "item_id": "itm_1", "kind": "tool_call", "role": "assistant", "status": "completed",
            "content": [part] })
}

#[test]
fn a_call_is_told_by_its_kind_and_subject_whatever_its_name() {
    let mut session = Session::new(Audience::default(), Echo::All);
    let subject = json!({ "paths": [{ "path": "/w/a.rs", "line": 7 }, { "path": "/w/b.rs" }] });
    let told =
        session.item(call(json!({ "name": "odd", "arguments": "{}", "kind": "read", "subject": subject })));
    let [SessionUpdate::ToolCall(call)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((call.kind, call.title.as_str()), (ToolKind::Read, "odd: /w/a.rs"));
    let expected = json!([{ "path": "/w/a.rs", "line": 7 }, { "path": "/w/b.rs" }]);
    assert_eq!(serde_json::to_value(&call.locations).unwrap(), expected);
}

#[test]
fn a_call_whose_kind_nobody_tells_is_another_one_and_its_arguments_are_not_read() {
    let mut session = Session::new(Audience::default(), Echo::All);
    let arguments = r#"{"path":"/w/a.rs"}"#;
    let told = session.item(call(json!({ "name": "read", "arguments": arguments })));
    let [SessionUpdate::ToolCall(call)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((call.kind, call.title.as_str()), (ToolKind::Other, "read"));
    assert!(call.locations.is_empty());
}

#[test]
fn a_kind_and_subject_that_come_with_the_arguments_are_told_as_an_update() {
    let mut session = Session::new(Audience::default(), Echo::All);
    let begun = call(json!({ "name": "t", "arguments": "" }));
    session.updates("item.started", json!({ "item": begun }));
    let subject = json!({ "command": "ls", "paths": [{ "path": "/w" }] });
    let whole = call(json!({ "name": "t", "arguments": "{}", "kind": "execute", "subject": subject }));
    let told = session.updates("item.completed", json!({ "item": whole }));
    let [SessionUpdate::ToolCallUpdate(update)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(update.fields.kind, Some(ToolKind::Execute));
    assert_eq!(update.fields.title.as_deref(), Some("t: ls"));
    assert_eq!(update.fields.locations.as_ref().map(Vec::len), Some(1));
}

#[test]
fn a_call_that_failed_before_it_ran_is_never_in_progress() {
    let mut session = Session::new(Audience::default(), Echo::All);
    let item = call(json!({ "name": "t", "arguments": "{}" }));
    let mut told = session.updates("item.started", json!({ "item": item }));
    let failed = |mut item: Value| {
        item["status"] = json!("failed");
        json!({ "item": item })
    };
    told.extend(session.updates("item.completed", failed(item)));
    let part = json!({ "type": "tool_result", "call_id": "call_1", "output": "no result" });
    let result = json!({ "item_id": "itm_2", "kind": "tool_result", "role": "tool", "status": "in_progress",
        "content": [part] });
    told.extend(session.updates("item.started", json!({ "item": result })));
    told.extend(session.updates("item.completed", failed(result)));
    let status = |update: &SessionUpdate| match update {
        SessionUpdate::ToolCallUpdate(update) => update.fields.status,
        _ => None,
    };
    let told: Vec<_> = told.iter().filter_map(status).collect();
    assert_eq!(told, [ToolCallStatus::Failed, ToolCallStatus::Failed]);
}

#[test]
fn a_permission_shows_the_kind_and_files_of_the_call_that_waits() {
    let mut session = Session::new(Audience::default(), Echo::All);
    let subject = json!({ "paths": [{ "path": "/w/a.rs" }] });
    session.item(call(json!({ "name": "t", "arguments": "{}", "kind": "edit", "subject": subject })));
    let data = json!({ "permission_id": "perm_1", "action": "Change a.rs", "status": "requested",
                       "metadata": { "item_id": "itm_1", "tool": "t" } });
    let mut told = session.tell("permission.requested", data);
    let Some(Outgoing::ClientRequest(inquiry)) = told.pop() else { panic!("{told:?}") };
    let inquiry = *inquiry;
    let asked = serde_json::to_value(&inquiry.ask().unwrap().request).unwrap();
    assert_eq!(asked["toolCall"]["kind"], "edit");
    assert_eq!(asked["toolCall"]["locations"], json!([{ "path": "/w/a.rs" }]));
}

#[test]
fn what_a_command_wrote_to_stderr_is_shown_with_its_output() {
    let mut session = Session::new(Audience::default(), Echo::All);
    let part = json!({ "type": "tool_result", "call_id": "call_1", "output": "out", "stderr": "oops" });
    let result = json!({ "item_id": "itm_2", "kind": "tool_result", "role": "tool", "status": "completed",
        "content": [part] });
    let [.., SessionUpdate::ToolCallUpdate(last)] = &session.item(result)[..] else { panic!() };
    assert_eq!(last.fields.raw_output, Some(json!("out\noops")));
}

/// acpx prints content, `rawOutput` and structured data one after the other.
#[test]
fn a_client_that_prints_every_form_of_a_result_gets_one() {
    let edit =
        json!({ "type": "file_ref", "path": "/w/a", "action": "patch", "diff": "@@ -0,0 +1 @@\n+a\n" });
    let output = json!({ "type": "tool_result", "call_id": "call_1", "output": "hi" });
    let data = json!({ "type": "json", "json": { "content": "hi" } });
    let told = |parts: Vec<&Value>| {
        let one = Audience { results: ResultForms::One, ..Audience::default() };
        let mut session = Session::new(one, Echo::All);
        let result = json!({ "item_id": "itm_2", "kind": "tool_result", "role": "tool", "status": "completed",
            "content": parts });
        let [.., SessionUpdate::ToolCallUpdate(last)] = &session.item(result)[..] else { panic!() };
        let kinds = serde_json::to_value(&last.fields.content).unwrap();
        let kinds = kinds.as_array().unwrap().iter();
        let kinds = kinds.map(|part| part["content"]["type"].as_str().unwrap_or("diff").to_owned());
        (kinds.collect::<Vec<_>>(), last.fields.raw_output.clone())
    };
    assert_eq!(told(vec![&output, &data]), (vec!["text".to_owned()], None));
    assert_eq!(told(vec![&output, &edit, &data]), (vec!["diff".to_owned()], None));
    let empty = json!({ "type": "tool_result", "call_id": "call_1", "output": "" });
    assert_eq!(told(vec![&empty, &data]), (vec!["resource".to_owned()], None));
}

fn size(update: &SessionUpdate) -> usize {
    serde_json::to_string(update).unwrap().len()
}

#[test]
fn a_crash_tells_the_prompt_how_the_session_ends() {
    let mut session = Session::new(Audience::default(), Echo::All);
    session.turn("msg_1");
    let details =
        json!({ "exit_code": 3, "stderr": { "head": "boom", "truncated": false, "total_lines": 1 } });
    let crash = json!({ "message": "the process exited", "code": "agent_crashed", "details": details });
    assert!(session.tell("error", crash).is_empty());
    let metadata = json!({ "stop_reason": "error", "duration_ms": 1 });
    let ended = json!({ "phase": "ended", "turn_id": "turn_1", "metadata": metadata });
    let told = session.tell("turn.ended", ended);
    let [Outgoing::TurnEnded(ended)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(ended.message_id, Some(MessageId("msg_1".into())));
    let error = ended.answer.as_ref().unwrap_err();
    let end = &error.data.as_ref().unwrap()["_meta"][meta::SESSION_END];
    let stderr = json!({ "head": "boom", "truncated": false, "totalLines": 1 });
    let expected = json!({ "reason": "error", "terminatedBy": "agent", "message": "the process exited",
                           "exitCode": 3, "stderr": stderr });
    assert_eq!(*end, expected);
}

#[test]
fn a_session_that_we_end_has_not_exited() {
    let mut session = Session::new(Audience::default(), Echo::All);
    let told = session.tell("session.ended", json!({ "reason": "terminated", "terminated_by": "daemon" }));
    assert!(matches!(&told[..], [Outgoing::Update(_)]), "{told:?}");
    let crashed = json!({ "reason": "error", "terminated_by": "agent", "exit_code": 0 });
    let told = session.tell("session.ended", crashed);
    assert!(matches!(&told[..], [Outgoing::Update(_), Outgoing::Exited(exited)] if exited.success));
}

//! Tests that no recording covers: the queue, a client's own ids, and the daemon's own endings.

use omniglot_schema::{SessionId, UniversalEvent};
use serde_json::{Value, json};

use super::{Projector, SessionSummary};

/// A session whose events are written by hand.
struct Harness {
    projector: Projector,
    sequence: u64,
}

impl Harness {
    fn new() -> Self {
        let summary = SessionSummary {
            session: SessionId::parse("s").unwrap(),
            agent: "mock".into(),
            directory: "/work".into(),
            worktree: "/work".into(),
            project: "global".into(),
            created: 0,
            title: None,
            model: None,
            agent_mode: None,
        };
        Self { projector: Projector::new(summary), sequence: 0 }
    }

    /// Returns the frames made of one event, as JSON.
    fn tell(&mut self, kind: &str, data: Value) -> Vec<Value> {
        self.sequence += 1;
        let event: UniversalEvent = serde_json::from_value(json!({
            "event_id": format!("evt_{}", self.sequence), "sequence": self.sequence,
            "time": "2026-11-16T00:00:00Z", "session_id": "s", "source": "daemon", "synthetic": true,
            "type": kind, "data": data,
        }))
        .unwrap();
        let told = self.projector.event(&event);
        told.iter().map(|event| serde_json::to_value(event).unwrap()).collect()
    }

    fn queue(&mut self, messages: &[(&str, &str, &[&str])]) -> Vec<Value> {
        let queue = messages.iter().map(
            |(id, text, client_ids)| json!({ "message_id": id, "message": text, "client_ids": client_ids }),
        );
        let queue: Vec<Value> = queue.collect();
        let queue = if queue.is_empty() { Value::Null } else { queue.into() };
        self.tell("session.updated", json!({ "queue": queue }))
    }

    fn turn(&mut self, message: &str, client_ids: &[&str]) -> Vec<Value> {
        let metadata = json!({ "origin": "user", "message_id": message, "client_ids": client_ids });
        self.tell("turn.started", json!({ "phase": "started", "turn_id": "turn_1", "metadata": metadata }))
    }

    fn said(&mut self, item: &str, role: &str, text: &str) -> Vec<Value> {
        let item = |status| {
            json!({ "item": { "item_id": item, "kind": "message", "role": role, "status": status,
                "content": [{ "type": "text", "text": text }] } })
        };
        let mut told = self.tell("item.started", item("in_progress"));
        told.extend(self.tell("item.completed", item("completed")));
        told
    }

    /// Tells a call whole, with these members beside its ids.
    fn call(&mut self, members: Value) -> Vec<Value> {
        let item = |status: &str| {
            let mut part = members.clone();
            part["type"] = json!("tool_call");
            part["call_id"] = json!("call_1");
            json!({ "item": { "item_id": "itm_call", "kind": "tool_call", "role": "assistant",
                "status": status, "content": [part] } })
        };
        let mut told = self.tell("item.started", item("in_progress"));
        told.extend(self.tell("item.completed", item("completed")));
        told
    }

    fn end(&mut self, stop: &str) -> Vec<Value> {
        let metadata = json!({ "stop_reason": stop, "duration_ms": 1 });
        self.tell("turn.ended", json!({ "phase": "ended", "turn_id": "turn_1", "metadata": metadata }))
    }

    fn messages(&self) -> Value {
        serde_json::to_value(self.projector.messages()).unwrap()
    }
}

/// The types of events, with what a status says.
fn kinds(told: &[Value]) -> Vec<String> {
    let kind = |event: &Value| {
        let status = event["properties"]["status"]["type"].as_str();
        format!("{} {}", event["type"].as_str().unwrap(), status.unwrap_or_default()).trim_end().to_owned()
    };
    told.iter().map(kind).collect()
}

#[test]
fn a_message_that_waits_for_its_agent_is_shown_and_the_session_is_busy() {
    let mut harness = Harness::new();
    let told = harness.queue(&[("msg_1", "hi", &[])]);
    assert_eq!(kinds(&told), ["message.updated", "message.part.updated", "session.status busy"]);
    assert_eq!(kinds(&harness.turn("msg_1", &[])), [""; 0], "it is busy already");
    let told = harness.said("itm_1", "user", "hi");
    let expected = ["session.updated", "message.updated", "message.part.updated"];
    assert_eq!(kinds(&told), expected, "only the title and the assistant's message are new");
    assert_eq!(told[0]["properties"]["info"]["title"], "hi");
    assert_eq!(told[1]["properties"]["info"]["role"], "assistant");
    assert_eq!(kinds(&harness.queue(&[])), [""; 0]);
    assert_eq!(harness.messages()[0]["parts"][0]["text"], "hi");
}

#[test]
fn the_words_of_a_message_are_shown_before_its_agent_has_named_it() {
    let mut harness = Harness::new();
    harness.turn("msg_1", &[]);
    let item = |status| {
        json!({ "item": { "item_id": "itm_1", "kind": "message", "role": "user", "status": status,
            "content": [{ "type": "text", "text": "hi" }] } })
    };
    let told = harness.tell("item.started", item("in_progress"));
    assert_eq!(kinds(&told), ["message.updated", "message.part.updated", "session.updated"]);
    assert_eq!(told[1]["properties"]["part"]["text"], "hi");
    let told = harness.tell("item.completed", item("completed"));
    assert_eq!(told[0]["properties"]["info"]["role"], "assistant", "the words are not told twice");
}

#[test]
fn what_a_command_wrote_to_stderr_is_shown_with_its_output() {
    let mut harness = Harness::new();
    harness.turn("msg_1", &[]);
    harness.said("itm_1", "user", "go");
    let item = |id: &str, kind: &str, role: &str, part: Value| json!({ "item": { "item_id": id, "kind": kind, "role": role, "status": "completed", "content": [part] } });
    let call = json!({ "type": "tool_call", "name": "Bash", "arguments": "{}", "call_id": "call_1" });
    let result = json!({ "type": "tool_result", "call_id": "call_1", "output": "out", "stderr": "oops" });
    for (id, kind, role, part) in
        [("itm_2", "tool_call", "assistant", call), ("itm_3", "tool_result", "tool", result)]
    {
        harness.tell("item.started", item(id, kind, role, part.clone()));
        harness.tell("item.completed", item(id, kind, role, part));
    }
    let parts = harness.messages()[1]["parts"].clone();
    let shown = parts.as_array().unwrap().iter().find(|part| part["type"] == "tool").unwrap();
    assert_eq!(shown["state"]["output"], "out\noops", "{shown}");
}

#[test]
fn a_message_that_is_taken_back_disappears() {
    let mut harness = Harness::new();
    harness.turn("msg_1", &[]);
    harness.said("itm_1", "user", "first");
    harness.queue(&[("msg_2", "second", &[])]);
    assert_eq!(harness.messages().as_array().unwrap().len(), 3);
    let told = harness.queue(&[]);
    assert_eq!(kinds(&told), ["message.removed"]);
    assert_eq!(harness.messages().as_array().unwrap().len(), 2);
    let told = harness.end("end_turn");
    assert_eq!(kinds(&told).iter().filter(|kind| **kind == "session.idle").count(), 1);
}

#[test]
fn a_message_taken_back_before_its_agent_started_leaves_the_session_idle() {
    let mut harness = Harness::new();
    harness.queue(&[("msg_1", "hi", &[])]);
    assert_eq!(kinds(&harness.queue(&[])), ["message.removed", "session.status idle"]);
}

#[test]
fn a_client_s_own_ids_are_kept() {
    let ids = ["msg_1e0da09bd001byRTo4UfAiYmp8", "prt_1e0da09bd002byRTo4UfAiYmp8"];
    for queued in [false, true] {
        let mut harness = Harness::new();
        if queued {
            harness.queue(&[("msg_1", "hi", &ids)]);
        }
        harness.turn("msg_1", &ids);
        harness.said("itm_1", "user", "hi");
        let message = &harness.messages()[0];
        assert_eq!((&message["info"]["id"], &message["parts"][0]["id"]), (&json!(ids[0]), &json!(ids[1])));
        assert_eq!(harness.messages()[1]["info"]["parentID"], ids[0]);
        harness.end("end_turn");
        harness.turn("msg_2", &ids);
        harness.said("itm_2", "user", "again");
        assert_ne!(harness.messages()[2]["info"]["id"], ids[0], "an id that is taken is not taken twice");
    }
}

#[test]
fn a_message_into_the_running_turn_begins_a_new_answer() {
    let mut harness = Harness::new();
    harness.turn("msg_1", &[]);
    harness.said("itm_1", "user", "first");
    harness.said("itm_2", "assistant", "one");
    harness.said("itm_3", "user", "and");
    harness.said("itm_4", "assistant", "two");
    let told = harness.end("end_turn");
    assert_eq!(kinds(&told).iter().filter(|kind| *kind == "session.idle").count(), 1);
    let messages = harness.messages();
    let roles: Vec<&str> = messages
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["info"]["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    assert_eq!(messages[3]["info"]["parentID"], messages[2]["info"]["id"]);
    assert!(messages[1]["info"]["time"]["completed"].is_i64());
}

#[test]
fn a_turn_that_fails_before_it_says_anything_has_a_message_with_the_error_and_ends_once() {
    let names = [
        ("provider_auth", "ProviderAuthError"),
        ("rate_limit", "APIError"),
        ("context_overflow", "ContextOverflowError"),
        ("output_length", "MessageOutputLengthError"),
        ("aborted", "MessageAbortedError"),
        ("agent_crashed", "UnknownError"),
        ("daemon_restarted", "UnknownError"),
    ];
    for (code, name) in names {
        let mut harness = Harness::new();
        harness.turn("msg_1", &[]);
        harness.said("itm_1", "user", "hi");
        let told = harness.tell("error", json!({ "message": "broken", "code": code }));
        assert_eq!(kinds(&told), ["session.error"]);
        assert_eq!(told[0]["properties"]["error"]["name"], name);
        assert_eq!(told[0]["properties"]["error"]["data"]["message"], "broken");
        let told = harness.end("error");
        assert_eq!(
            kinds(&told),
            ["message.updated", "session.status idle", "session.idle", "session.updated"]
        );
        assert_eq!(harness.messages()[1]["info"]["error"]["name"], name);
        let ended = json!({ "reason": "error", "terminated_by": "agent" });
        assert_eq!(kinds(&harness.tell("session.ended", ended)), [""; 0]);
    }
}

#[test]
fn a_turn_that_the_agent_began_by_itself_belongs_to_what_was_said_last() {
    let mut harness = Harness::new();
    let begin = json!({ "phase": "started", "turn_id": "turn_1", "metadata": { "origin": "agent" } });
    harness.tell("turn.started", begin.clone());
    harness.said("itm_1", "assistant", "hello");
    harness.end("end_turn");
    assert_eq!(harness.messages()[1]["info"]["parentID"], harness.messages()[0]["info"]["id"]);
    assert_eq!(harness.messages()[0]["parts"], json!([]), "nobody said anything");
    harness.turn("msg_1", &[]);
    harness.said("itm_2", "user", "hi");
    harness.end("end_turn");
    harness.tell("turn.started", begin);
    harness.said("itm_3", "assistant", "by the way");
    harness.end("end_turn");
    assert_eq!(harness.messages()[4]["info"]["parentID"], harness.messages()[2]["info"]["id"]);
}

#[test]
fn an_open_request_is_listed_and_asked_again_until_it_is_answered() {
    let mut harness = Harness::new();
    harness.turn("msg_1", &[]);
    let permission = |status: &str| {
        json!({ "permission_id": "perm_s_1", "action": "touch a", "status": status,
            "metadata": { "tool": "Bash", "pattern": "touch *" } })
    };
    let asked = harness.tell("permission.requested", permission("requested"));
    let again = serde_json::to_value(harness.projector.pending()).unwrap();
    assert_eq!(again[0]["properties"], asked[0]["properties"]);
    assert_eq!(harness.projector.permissions().len(), 1);
    let told = harness.tell("permission.resolved", permission("accept_for_session"));
    assert_eq!(told[0]["properties"]["requestID"], asked[0]["properties"]["id"]);
    assert_eq!(told[0]["properties"]["reply"], "always");
    assert!(harness.projector.pending().is_empty());
    let question =
        json!({ "question_id": "qst_s_2", "prompt": "Which?", "options": ["a"], "status": "requested" });
    harness.tell("question.requested", question);
    assert_eq!(harness.projector.questions().len(), 1);
    let rejected =
        json!({ "question_id": "qst_s_2", "prompt": "Which?", "options": ["a"], "status": "rejected" });
    assert_eq!(kinds(&harness.tell("question.resolved", rejected)), ["question.rejected"]);
    assert!(harness.projector.questions().is_empty());
}

#[test]
fn an_event_that_is_folded_already_tells_nothing() {
    let mut harness = Harness::new();
    harness.turn("msg_1", &[]);
    harness.sequence = 0;
    assert_eq!(kinds(&harness.turn("msg_1", &[])), [""; 0]);
}

/// Of the last part that was told: its tool, and the input of it.
fn drawn(told: &[Value]) -> (Value, Value) {
    let mut parts = told.iter().map(|event| &event["properties"]["part"]);
    let part = parts.rfind(|part| part["type"] == "tool").unwrap();
    (part["tool"].clone(), part["state"]["input"].clone())
}

#[test]
fn a_call_that_asks_a_person_is_a_question_and_shows_what_it_asks() {
    for name in ["question", "odd"] {
        let mut harness = Harness::new();
        harness.turn("msg_1", &[]);
        harness.said("itm_1", "user", "ask me");
        harness.call(json!({ "name": name, "arguments": "{}" }));
        let asked = json!({ "question_id": "qst_1", "prompt": "First decide:\nWhich colour?",
            "options": ["Red"], "status": "requested", "metadata": { "item_id": "itm_call" } });
        let told = harness.tell("question.requested", asked);
        assert_eq!(kinds(&told), ["message.part.updated", "question.asked"]);
        let (tool, input) = drawn(&told);
        assert_eq!(tool, "question");
        let shown = &input["questions"][0];
        assert_eq!(
            (&shown["header"], &shown["options"][0]["label"]),
            (&json!("Which colour?"), &json!("Red"))
        );
    }
}

#[test]
fn a_call_that_asked_before_its_arguments_were_whole_stays_a_question() {
    let mut harness = Harness::new();
    harness.turn("msg_1", &[]);
    harness.said("itm_1", "user", "ask me");
    let call = |status: &str| {
        let part = json!({ "type": "tool_call", "name": "odd", "arguments": "{}", "call_id": "call_1" });
        json!({ "item": { "item_id": "itm_call", "kind": "tool_call", "role": "assistant",
            "status": status, "content": [part] } })
    };
    harness.tell("item.started", call("in_progress"));
    let asked = json!({ "question_id": "qst_1", "prompt": "Which?", "options": ["Red"],
        "status": "requested", "metadata": { "item_id": "itm_call" } });
    harness.tell("question.requested", asked);
    let (tool, input) = drawn(&harness.tell("item.completed", call("completed")));
    assert_eq!((&tool, &input["questions"][0]["question"]), (&json!("question"), &json!("Which?")));
}

#[test]
fn a_call_that_changes_the_mode_asks_and_stays_what_it_is() {
    let mut harness = Harness::new();
    harness.turn("msg_1", &[]);
    harness.said("itm_1", "user", "plan it");
    harness.call(json!({ "name": "leave", "arguments": "{}", "kind": "mode" }));
    let asked = json!({ "question_id": "qst_1", "prompt": "Approve?", "options": ["Yes"],
        "status": "requested", "metadata": { "item_id": "itm_call" } });
    assert_eq!(kinds(&harness.tell("question.requested", asked)), ["question.asked"]);
}

#[test]
fn a_call_is_drawn_by_its_kind_and_subject_whatever_its_name() {
    let mut harness = Harness::new();
    harness.turn("msg_1", &[]);
    harness.said("itm_1", "user", "do it");
    let told = harness.call(json!({ "name": "odd", "arguments": r#"{"line":"ls"}"#, "kind": "execute",
        "subject": { "command": "ls" } }));
    assert_eq!(drawn(&told), (json!("bash"), json!({ "command": "ls" })));
    let result = json!({ "item": { "item_id": "itm_result", "kind": "tool_result", "role": "tool",
        "status": "completed",
        "content": [{ "type": "tool_result", "call_id": "call_1", "output": "a", "exit_code": 0 }] } });
    harness.tell("item.started", result.clone());
    let told = harness.tell("item.completed", result);
    let state = &told[0]["properties"]["part"]["state"];
    assert_eq!((&state["title"], &state["metadata"]["output"]), (&json!("ls"), &json!("a")));
}

#[test]
fn a_call_whose_kind_nobody_tells_keeps_its_name_and_arguments() {
    let mut harness = Harness::new();
    harness.turn("msg_1", &[]);
    harness.said("itm_1", "user", "do it");
    let told = harness.call(json!({ "name": "Shell", "arguments": r#"{"cmd":"ls"}"# }));
    assert_eq!(drawn(&told), (json!("Shell"), json!({ "cmd": "ls" })));
}

#[test]
fn a_permission_is_named_by_the_kind_of_the_call_that_waits() {
    let asked = |call: Value, tool: &str| {
        let mut harness = Harness::new();
        harness.turn("msg_1", &[]);
        harness.said("itm_1", "user", "do it");
        harness.call(call);
        let told = harness.tell(
            "permission.requested",
            json!({ "permission_id": "perm_1", "action": "Do it", "status": "requested",
                "metadata": { "item_id": "itm_call", "tool": tool } }),
        );
        let request = &told[0]["properties"];
        (request["permission"].as_str().unwrap().to_owned(), request["metadata"].clone())
    };
    let call = |kind: &str, subject: Value| json!({ "name": "odd", "arguments": "{}", "kind": kind, "subject": subject });
    let command = || call("execute", json!({ "command": "ls" }));
    let (permission, metadata) = asked(command(), "odd");
    assert_eq!((&*permission, metadata), ("bash", json!({ "action": "Do it", "command": "ls" })));
    assert_eq!(asked(command(), "external_directory").0, "external_directory");
    let change = call("edit", json!({ "paths": [{ "path": "/a" }] }));
    assert_eq!(asked(change, "odd").1, json!({ "action": "Do it", "filepath": "/a" }));
    for kind in ["edit", "delete", "move"] {
        assert_eq!(asked(call(kind, json!({})), "odd").0, "edit", "{kind}");
    }
    assert_eq!(asked(call("mcp", json!({})), "odd").0, "odd");
    assert_eq!(asked(json!({ "name": "odd", "arguments": "{}" }), "odd").0, "odd");
}

#[test]
fn a_file_whose_path_looks_encoded_comes_back_as_the_same_path() {
    let mut harness = Harness::new();
    let path = "/kept/a%20b#c?d e.txt";
    let file = json!({ "path": path, "mime": "text/plain" });
    let queued =
        json!([{ "message_id": "msg_1", "message": "look", "attachments": [file], "client_ids": [] }]);
    harness.tell("session.updated", json!({ "queue": queued }));
    let url = harness.messages()[0]["parts"][1]["url"].as_str().unwrap().to_owned();
    assert_eq!(omniglot_schema::uri::to_path(&url).as_deref(), Some(path), "{url}");
}

#[test]
fn a_picture_that_waited_is_there_to_be_seen_when_it_is_delivered_and_keeps_its_name() {
    let mut harness = Harness::new();
    let file = json!({ "path": "/kept/00-a.png", "mime": "image/png", "filename": "a.png" });
    let queued =
        json!([{ "message_id": "msg_1", "message": "look", "attachments": [file], "client_ids": [] }]);
    harness.tell("session.updated", json!({ "queue": queued }));
    let waiting = harness.messages()[0]["parts"][1].clone();
    assert_eq!((&waiting["url"], &waiting["filename"]), (&json!("file:///kept/00-a.png"), &json!("a.png")));
    harness.turn("msg_1", &[]);
    let item = json!({ "item": { "item_id": "itm_1", "kind": "message", "role": "user", "status": "completed",
        "content": [{ "type": "text", "text": "look" },
                    { "type": "image", "path": "data:image/png;base64,AAAA", "mime": "image/png" }] } });
    harness.tell("item.started", item.clone());
    harness.tell("item.completed", item);
    let shown = harness.messages()[0]["parts"][1].clone();
    assert_eq!((&shown["id"], &shown["filename"]), (&waiting["id"], &json!("a.png")));
    assert_eq!(shown["url"], "data:image/png;base64,AAAA");
}

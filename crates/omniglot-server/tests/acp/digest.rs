//! Messages as text: a line each to read, or whole.

use std::fmt::Write as _;

use agent_client_protocol_schema::v1::{ContentBlock, ContentChunk, SessionUpdate, ToolCallUpdateFields};
use omniglot_server::faces::acp::project::Outgoing;
use serde::Serialize;
use serde_json::{Value, json};

/// One line per message; chunks of one message are one line.
pub(crate) fn short(messages: &[Outgoing]) -> String {
    let mut lines: Vec<(String, String, usize)> = vec![];
    for message in messages {
        let (head, tail) = line(message);
        match lines.last_mut() {
            Some((last, text, count)) if head.contains("_chunk") && *last == head => {
                text.push_str(&tail);
                *count += 1;
            }
            _ => lines.push((head, tail, 1)),
        }
    }
    let mut text = String::new();
    for (head, tail, count) in lines {
        let times = if count > 1 { format!(" ×{count}") } else { String::new() };
        writeln!(text, "{head}{times} {}", cut(&tail)).unwrap();
    }
    text
}

pub(crate) fn full(messages: &[Outgoing]) -> String {
    messages.iter().map(|message| format!("{}\n", json_of(message))).collect()
}

fn json_of(message: &Outgoing) -> Value {
    match message {
        Outgoing::Update(update) => json!({ "method": "session/update", "params": update }),
        Outgoing::ClientRequest(inquiry) => {
            let ask = inquiry.ask().unwrap();
            json!({ "id": ask.id, "method": ask.request.method(), "params": ask.request })
        }
        Outgoing::Settled(name) => json!({ "settled": name.as_str() }),
        Outgoing::TurnEnded(ended) => match &ended.answer {
            Ok(result) => json!({ "turn": ended.turn_id, "result": result }),
            Err(error) => json!({ "turn": ended.turn_id, "error": error }),
        },
        Outgoing::Exited(exited) => json!({ "method": "_adapter/agent_exited", "params": exited }),
    }
}

/// Returns the kind and the content of a message.
fn line(message: &Outgoing) -> (String, String) {
    match message {
        Outgoing::Update(notification) => updated(&notification.update),
        Outgoing::ClientRequest(inquiry) => {
            let ask = inquiry.ask().unwrap();
            (format!("ASK {} {}", ask.request.method(), ask.id), plain(&ask.request))
        }
        Outgoing::Settled(name) => (format!("SETTLED {}", name.as_str()), String::new()),
        Outgoing::TurnEnded(ended) => match &ended.answer {
            Ok(result) => (format!("ANSWER {}", word(&result.stop_reason)), String::new()),
            Err(error) => (format!("ERROR {}", i32::from(error.code)), error.message.clone()),
        },
        Outgoing::Exited(exited) => (format!("EXITED {:?}", exited.code), String::new()),
    }
}

fn updated(update: &SessionUpdate) -> (String, String) {
    match update {
        SessionUpdate::UserMessageChunk(chunk) => said("user_message_chunk", chunk),
        SessionUpdate::AgentMessageChunk(chunk) => said("agent_message_chunk", chunk),
        SessionUpdate::AgentThoughtChunk(chunk) => said("agent_thought_chunk", chunk),
        SessionUpdate::ToolCall(call) => {
            (format!("tool_call {} {}", call.tool_call_id, word(&call.kind)), format!("{:?}", call.title))
        }
        SessionUpdate::ToolCallUpdate(update) => {
            let status = update.fields.status.map(|status| format!(" {}", word(&status))).unwrap_or_default();
            (format!("tool_call_update {}{status}", update.tool_call_id), fields(&update.fields))
        }
        other => {
            let mut json = serde_json::to_value(other).unwrap();
            let kind = json.as_object_mut().unwrap().shift_remove("sessionUpdate").unwrap();
            (kind.as_str().unwrap().to_owned(), json.to_string())
        }
    }
}

fn said(kind: &str, chunk: &ContentChunk) -> (String, String) {
    let id = chunk.message_id.as_ref().unwrap();
    match &chunk.content {
        ContentBlock::Text(text) => (format!("{kind} {id}"), text.text.clone()),
        other => (format!("{kind} {id} block"), plain(other)),
    }
}

fn fields(fields: &ToolCallUpdateFields) -> String {
    let mut json = serde_json::to_value(fields).unwrap();
    json.as_object_mut().unwrap().shift_remove("status");
    json.to_string()
}

/// Writes a value without its notes, which would hide the rest.
fn plain(value: &impl Serialize) -> String {
    let mut json = serde_json::to_value(value).unwrap();
    json.as_object_mut().unwrap().shift_remove("_meta");
    json.to_string()
}

fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

fn cut(text: &str) -> String {
    let line = text.replace('\n', "⏎");
    let start: String = line.chars().take(140).collect();
    if start.len() < line.len() { format!("{start}…") } else { start }
}

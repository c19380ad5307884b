//! Outputs and events as one readable line each, for people who review transcripts.
//!
//! Long texts and lists are cut the same way every time; a transcript is for reading, not for parsing.

use std::fmt::Write as _;

use omniglot_schema::{ContentPart, UniversalEvent};
use omniglot_timeline::{
    Body, CallEnd, CallStart, Draft, Failure, ItemEnd, ItemStart, Origin, Outcome, PermissionAsk,
    SessionStarted, ToolCall, ToolResult, TurnEnd,
};
use serde::Serialize;
use serde_json::Value;

use crate::contract::{CommandAnswer, Output, Refusal, StreamOutput, TransportOutput};

/// Events, one per line: sequence, who made it, type and data.
pub fn events<'a>(events: impl IntoIterator<Item = &'a UniversalEvent>) -> String {
    let mut text = String::new();
    for event in events {
        let maker = if event.synthetic { '*' } else { ' ' };
        let data = short(&event.data);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:>4}{maker}{:<20} {data}", event.sequence, event.kind().as_str());
    }
    text
}

pub fn show_output(output: &Output) -> String {
    match output {
        Output::Stream(output) => show_stream(output),
        Output::Transport(output) => show_transport(output),
        Output::Answer(answer) => show_answer(answer),
    }
}

fn show_stream(output: &StreamOutput) -> String {
    match output {
        StreamOutput::Draft(draft) => show_draft(draft),
        StreamOutput::Dropped(reason) => format!("dropped {}", reason.as_str()),
        StreamOutput::Unparsed(unparsed) => {
            format!("unparsed {}: {}", unparsed.location, cut(&unparsed.error))
        }
    }
}

fn show_transport(output: &TransportOutput) -> String {
    match output {
        TransportOutput::Send(message) | TransportOutput::SendSecret { shown: message, .. } => {
            format!("send {}", short(message))
        }
        TransportOutput::Host(ask) => format!("host {} {}", ask.key.0, cut(&format!("{:?}", ask.request))),
        TransportOutput::Orphans(left) => {
            let detached = if left.detached { " and detached processes" } else { "" };
            format!("end orphans{detached}, spare {:?}", left.spared.values)
        }
        TransportOutput::CloseStdin => "close stdin".to_owned(),
        TransportOutput::Interrupt => "interrupt".to_owned(),
    }
}

fn show_answer(answer: &CommandAnswer) -> String {
    match answer {
        CommandAnswer::Configured(Ok(())) => "configured".to_owned(),
        CommandAnswer::Closed => "closed".to_owned(),
        CommandAnswer::ReplyRefused { key, message } => {
            format!("reply to {} refused {}", key.0, cut(message))
        }
        CommandAnswer::Refused(refusal) | CommandAnswer::Configured(Err(refusal)) => {
            let Refusal { kind, message, hint } = refusal;
            format!("refused {kind:?} {} {}", cut(message), short(hint))
        }
    }
}

fn show_draft(draft: &Draft) -> String {
    match draft {
        Draft::SessionStarted(SessionStarted { native_session_id, agent_version, resume, .. }) => {
            format!(
                "session {} version={} resume={}",
                short(native_session_id),
                short(agent_version),
                short(resume)
            )
        }
        Draft::SessionForgotten => "session forgotten".to_owned(),
        Draft::TurnStarted(Origin::User { message_id, content } | Origin::Echoed { message_id, content }) => {
            format!("turn + user {} {}", short(message_id), short(content))
        }
        Draft::UserEcho { item: None, native_id } => format!("turn = user native={}", short(native_id)),
        Draft::UserEcho { item: Some(key), native_id } => {
            format!("item . {} native={}", key.0, short(native_id))
        }
        Draft::TurnStarted(Origin::Agent) => "turn + agent".to_owned(),
        Draft::TurnEnded(end) => show_end(end),
        Draft::ItemStarted(start) | Draft::Steered { start, .. } => show_start(start),
        Draft::ItemDelta { key, delta } => format!("item ~ {} {}", key.0, short(delta)),
        Draft::ItemCompleted(ItemEnd { key, outcome, body }) => {
            let mark = if *outcome == Outcome::Completed { '.' } else { '!' };
            let body = body.as_ref().map(show_body).unwrap_or_default();
            format!("item {mark} {} {body}", key.0).trim_end().to_owned()
        }
        Draft::CallStarted(CallStart { key, native_id, parent, call }) => {
            let parent = parent.as_ref().map(|parent| format!(" in {}", parent.0)).unwrap_or_default();
            format!("call + {} native={}{parent} {}", key.0, short(native_id), show_call(call))
        }
        Draft::CallInput { key, delta } => format!("call ~ {} {}", key.0, short(delta)),
        Draft::CallReady { key, call } => {
            let call = call.as_ref().map(show_call).unwrap_or_default();
            format!("call = {} {call}", key.0).trim_end().to_owned()
        }
        Draft::CallOutput { key, delta } => format!("call > {} {}", key.0, short(delta)),
        Draft::CallEnded(CallEnd { key, outcome, result }) => {
            let mark = if *outcome == Outcome::Completed { '.' } else { '!' };
            format!("call {mark} {} {}", key.0, show_result(result))
        }
        Draft::PermissionRequested(ask) => show_ask(ask),
        Draft::PermissionResolved { key, status, by, message } => {
            format!("permission . {} {} by {} {}", key.0, short(status), short(by), short(message))
        }
        Draft::QuestionRequested(ask) => {
            let call = ask.call.as_ref().map(|call| call.0.as_str());
            let native = short(&ask.native_id);
            format!(
                "question + {} native={native} call={} {}",
                ask.key.0,
                short(&call),
                short(&ask.questions)
            )
        }
        Draft::QuestionResolved { key, answers, by } => {
            format!("question . {} {} by {}", key.0, short(answers), short(by))
        }
        Draft::Error(failure) => format!("error {}", show_failure(failure)),
        Draft::State(patch) => format!("state {}", short(patch)),
    }
}

fn show_start(start: &ItemStart) -> String {
    let ItemStart { key, native_id, parent, body } = start;
    let parent = parent.as_ref().map(|parent| format!(" in {}", parent.0)).unwrap_or_default();
    format!("item + {} native={}{parent} {}", key.0, short(native_id), show_body(body))
}

fn show_body(body: &Body) -> String {
    match body {
        Body::Message { role, parts } => format!("message {} {}", short(role), short(parts)),
        Body::Reasoning { text, visibility } => format!("reasoning {} {}", short(visibility), short(text)),
        Body::System { parts } => format!("system {}", short(parts)),
        Body::Status { label, detail } => format!("status {} {}", label.as_str(), short(detail)),
        Body::Step { detail, usage } => format!("step {} {}", short(detail), short(usage)),
        Body::Unknown { parts } => format!("unknown {}", short(parts)),
    }
}

fn show_call(call: &ToolCall) -> String {
    let ToolCall { name, arguments, title, kind, subject } = call;
    let title = title.as_deref().map(|title| format!(" {:?}", cut(title))).unwrap_or_default();
    let kind = kind.as_ref().map(|kind| format!(" kind={}", short(kind))).unwrap_or_default();
    let subject = subject.as_ref().map(|subject| format!(" {}", short(subject))).unwrap_or_default();
    format!("{name} {}{title}{kind}{subject}", cut(arguments))
}

fn show_result(result: &ToolResult) -> String {
    let ToolResult { output, stderr, is_error, exit_code, duration_ms, parts, goes_on } = result;
    let mut text = short(output);
    let facts = [
        ("stderr", short(stderr)),
        ("error", short(is_error)),
        ("exit", short(exit_code)),
        ("ms", short(duration_ms)),
        ("parts", if parts.is_empty() { "null".to_owned() } else { show_parts(parts) }),
    ];
    for (name, value) in facts.into_iter().filter(|(_, value)| value != "null") {
        // Writing to a string cannot fail.
        let _ = write!(text, " {name}={value}");
    }
    text + if *goes_on { " goes on" } else { "" }
}

fn show_parts(parts: &[ContentPart]) -> String {
    short(&parts)
}

fn show_ask(ask: &PermissionAsk) -> String {
    let call = ask.call.as_ref().map(|call| call.0.as_str());
    format!(
        "permission + {} native={} {} tool={} call={} options={} files={}",
        ask.key.0,
        short(&ask.native_id),
        short(&ask.action),
        short(&ask.tool),
        short(&call),
        short(&ask.options),
        show_parts(&ask.files),
    )
}

fn show_end(end: &TurnEnd) -> String {
    let mut text = format!("turn . {}", short(&end.stop));
    let facts = [
        ("model", short(&end.model)),
        ("usage", short(&end.usage)),
        ("subagents", short(&end.usage_subagents)),
        ("cost", short(&end.cost_usd)),
        ("error", end.error.as_ref().map_or_else(|| "null".to_owned(), show_failure)),
    ];
    for (name, value) in facts.into_iter().filter(|(_, value)| value != "null") {
        // Writing to a string cannot fail.
        let _ = write!(text, " {name}={value}");
    }
    text
}

fn show_failure(failure: &Failure) -> String {
    format!("{} {} {}", short(&failure.code), short(&failure.message), short(&failure.details))
}

/// Compact JSON with long texts and lists cut.
fn short(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(value) => shorten(value).to_string(),
        Err(error) => format!("<{error}>"),
    }
}

fn shorten(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(cut(&text)),
        Value::Array(list) => {
            let more = list.len().saturating_sub(LIST);
            let mut kept: Vec<Value> = list.into_iter().take(LIST).map(shorten).collect();
            if more > 0 {
                kept.push(Value::String(format!("…{more} more")));
            }
            Value::Array(kept)
        }
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(key, value)| (key, shorten(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

fn cut(text: &str) -> String {
    let length = text.chars().count();
    if length <= TEXT {
        return text.to_owned();
    }
    let head: String = text.chars().take(TEXT).collect();
    format!("{head}…{} more", length - TEXT)
}

const LIST: usize = 4;
const TEXT: usize = 240;

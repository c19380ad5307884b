//! The body of a call: titles and kinds of what has happened, in a form that receivers understand.
//!
//! Commands, differences of files, questions and answers are in it only with `include = "details"`.

use bytes::Bytes;
use jiff::Timestamp;
use omniglot_runtime::config::HookFormat;
use omniglot_schema::{EventData, HookCall, HookCallData, SessionInfo, StopReason, UniversalEvent};
use reqwest::Url;
use serde::Serialize;

use super::hook::Hook;

/// A body with more than this goes without its event.
const MOST_BYTES: usize = 256 << 10;
/// ntfy cuts longer texts, and makes a file of a body over 4 KiB.
const LONGEST_TITLE: usize = 120;
const LONGEST_WORDS: usize = 1000;

/// A call that is ready to be made.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// The same on every repetition.
    pub(super) id: String,
    pub(super) url: Url,
    pub(super) body: Bytes,
}

impl Message {
    /// Makes the call about an event.
    pub(super) fn of_event(
        hook: &Hook,
        event: UniversalEvent,
        session: SessionInfo,
        links: EventLinks,
    ) -> Result<Self, serde_json::Error> {
        let id = event.event_id.to_string();
        let detail = detail(&event.data).filter(|_| hook.details);
        Self::new(hook, id, of_event(hook, event, session, links), detail)
    }

    /// Makes a call that only tries whether calls arrive.
    pub(super) fn of_test(hook: &Hook) -> Result<Self, serde_json::Error> {
        let message = format!("This is a test of the hook {}.", hook.name);
        let data = HookCallData {
            hook: hook.name.clone(),
            message,
            title: Some("Omniglot".into()),
            ..HookCallData::default()
        };
        let call = HookCall { r#type: "test".into(), timestamp: Timestamp::now(), data };
        Self::new(hook, format!("test_{}", uuid::Uuid::now_v7().simple()), call, None)
    }

    fn new(
        hook: &Hook,
        id: String,
        call: HookCall,
        detail: Option<String>,
    ) -> Result<Self, serde_json::Error> {
        let (url, body) = match hook.format {
            HookFormat::Json => (hook.url.clone(), bounded(call)?),
            HookFormat::Ntfy => {
                let (url, topic) = topic(&hook.url);
                (url, serde_json::to_vec(&Ntfy::of(&call, topic, detail))?)
            }
        };
        Ok(Self { id, url, body: body.into() })
    }
}

/// The addresses that a call carries.
#[derive(Debug, Default)]
pub(super) struct EventLinks {
    pub(super) page: Option<String>,
    pub(super) answer: Option<String>,
}

fn of_event(hook: &Hook, event: UniversalEvent, session: SessionInfo, links: EventLinks) -> HookCall {
    let SessionInfo { session_id, agent, title, labels, .. } = session;
    let mut data = HookCallData {
        hook: hook.name.clone(),
        message: sentence(&agent, &event.data),
        session_id: Some(session_id),
        title,
        agent: Some(agent),
        labels,
        sequence: Some(event.sequence),
        url: links.page,
        answer_url: links.answer,
        ..HookCallData::default()
    };
    match &event.data {
        EventData::PermissionRequested(asked) | EventData::PermissionResolved(asked) => {
            data.request_id = Some(asked.permission_id.to_string());
            data.tool = asked.metadata.as_ref().and_then(|metadata| metadata.tool.clone());
        }
        EventData::QuestionRequested(asked) | EventData::QuestionResolved(asked) => {
            data.request_id = Some(asked.question_id.to_string());
        }
        EventData::TurnEnded(ended) => {
            data.stop_reason = Some(ended.metadata.stop_reason);
            data.duration_ms = Some(ended.metadata.duration_ms);
        }
        EventData::Error(error) => data.error_code = error.code,
        EventData::SessionEnded(ended) => data.end_reason = Some(ended.reason),
        _ => {}
    }
    let (kind, timestamp) = (event.kind().as_str().to_owned(), event.time);
    data.event = hook.details.then(|| Box::new(event));
    HookCall { r#type: kind, timestamp, data }
}

fn bounded(mut call: HookCall) -> Result<Vec<u8>, serde_json::Error> {
    let body = serde_json::to_vec(&call)?;
    if body.len() <= MOST_BYTES || call.data.event.take().is_none() {
        return Ok(body);
    }
    serde_json::to_vec(&call)
}

/// Tells a person what has happened, without its content.
fn sentence(agent: &str, data: &EventData) -> String {
    match data {
        EventData::PermissionRequested(asked) => {
            match asked.metadata.as_ref().and_then(|metadata| metadata.tool.as_ref()) {
                Some(tool) => format!("{agent} asks whether it may use {tool}."),
                None => format!("{agent} asks for a permission."),
            }
        }
        EventData::PermissionResolved(_) => format!("A permission of {agent} is resolved."),
        EventData::QuestionRequested(_) => format!("{agent} asks a question."),
        EventData::QuestionResolved(_) => format!("A question of {agent} is resolved."),
        EventData::TurnStarted(_) => format!("{agent} begins to work."),
        EventData::TurnEnded(ended) => match ended.metadata.stop_reason {
            StopReason::EndTurn => format!("{agent} has finished."),
            StopReason::MaxTokens | StopReason::MaxTurns | StopReason::MaxBudget => {
                format!("{agent} has stopped at a limit.")
            }
            StopReason::Refusal => format!("The model of {agent} refuses to go on."),
            StopReason::Cancelled => format!("The turn of {agent} was cancelled."),
            StopReason::Error => format!("The turn of {agent} has failed."),
        },
        EventData::Error(_) => format!("{agent} has failed."),
        EventData::SessionStarted(_) => format!("A session of {agent} begins."),
        EventData::SessionEnded(_) => format!("The session of {agent} has ended."),
        EventData::SessionUpdated(_) => format!("The state of the session of {agent} has changed."),
        EventData::ItemStarted(_) | EventData::ItemDelta(_) | EventData::ItemCompleted(_) => {
            format!("{agent} has done something.")
        }
        EventData::AgentUnparsed(_) => format!("{agent} has said something that is not understood."),
    }
}

/// Returns the words of the event itself, for a receiver that gets details.
fn detail(data: &EventData) -> Option<String> {
    match data {
        EventData::PermissionRequested(asked) => Some(asked.action.clone()),
        EventData::QuestionRequested(asked) => Some(asked.prompt.clone()),
        EventData::Error(error) => Some(error.message.clone()),
        EventData::SessionEnded(ended) => ended.message.clone(),
        _ => None,
    }
}

/// Divides the address of a topic: messages with a title of any alphabet go to the server as JSON.
fn topic(url: &Url) -> (Url, String) {
    let mut server = url.clone();
    let topic =
        url.path_segments().and_then(|mut segments| segments.next_back()).unwrap_or_default().to_owned();
    if let Ok(mut segments) = server.path_segments_mut() {
        segments.pop();
    }
    (server, topic)
}

/// The body that a server of ntfy takes.
#[derive(Debug, Serialize)]
struct Ntfy {
    topic: String,
    title: String,
    message: String,
    tags: Vec<&'static str>,
    priority: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    click: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    actions: Vec<NtfyAction>,
}

/// A button of a notification.
#[derive(Debug, Serialize)]
struct NtfyAction {
    action: &'static str,
    label: &'static str,
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'static str>,
    /// Whether the notification goes when the button was used.
    clear: bool,
}

impl NtfyAction {
    /// Returns the buttons of a request: the page of the link, and for a permission both answers.
    fn all(kind: &str, url: &str) -> Vec<Self> {
        let answer = |label, body| Self {
            action: "http",
            label,
            url: url.to_owned(),
            method: Some("POST"),
            body: Some(body),
            clear: true,
        };
        let page = Self {
            action: "view",
            label: "Look",
            url: url.to_owned(),
            method: None,
            body: None,
            clear: false,
        };
        match kind {
            "permission.requested" => {
                vec![answer("Allow once", "answer=once"), answer("Reject", "answer=reject"), page]
            }
            _ => vec![page],
        }
    }
}

impl Ntfy {
    fn of(call: &HookCall, topic: String, detail: Option<String>) -> Self {
        let data = &call.data;
        let session = data.session_id.as_ref().map(ToString::to_string);
        let title = data.title.clone().or(session).unwrap_or_else(|| data.hook.clone());
        let (tags, priority) = emphasis(&call.r#type);
        let message = match detail {
            Some(detail) => format!("{}\n{}", data.message, cut(&detail, LONGEST_WORDS)),
            None => data.message.clone(),
        };
        let actions =
            data.answer_url.as_ref().map(|url| NtfyAction::all(&call.r#type, url)).unwrap_or_default();
        let title = cut(&title, LONGEST_TITLE);
        let click = data.answer_url.clone().or_else(|| data.url.clone());
        Self { topic, title, message, tags, priority, click, actions }
    }
}

/// Returns the signs and the priority of a notification, 3 being that of most.
fn emphasis(kind: &str) -> (Vec<&'static str>, u8) {
    match kind {
        "permission.requested" | "question.requested" => (vec!["raised_hand"], 4),
        "error" => (vec!["rotating_light"], 4),
        "turn.ended" => (vec!["white_check_mark"], 3),
        "session.ended" => (vec!["checkered_flag"], 3),
        _ => (vec!["speech_balloon"], 3),
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;

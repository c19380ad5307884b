//! The rules that clients rely on, for every agent.

use std::collections::{HashMap, HashSet};

use agent_client_protocol_schema::v1::{ContentBlock, ContentChunk, SessionUpdate, ToolCallStatus};
use omniglot_schema::{ContentPart, EventData, ItemKind, UniversalEvent};
use omniglot_server::faces::acp::project::Outgoing;

#[track_caller]
pub(crate) fn assert_kept(name: &str, events: &[UniversalEvent], told: &[Vec<Outgoing>]) {
    let updates: Vec<_> = told.iter().flatten().filter_map(update).collect();
    assert_text_is_said_once(name, events, &updates);
    assert_calls_are_whole(name, &updates);
    assert_requests_are_settled(name, told);
    assert_each_turn_is_answered_once(name, events, told);
}

fn update(message: &Outgoing) -> Option<&SessionUpdate> {
    match message {
        Outgoing::Update(notification) => Some(&notification.update),
        _ => None,
    }
}

fn chunk(update: &SessionUpdate) -> Option<&ContentChunk> {
    match update {
        SessionUpdate::UserMessageChunk(chunk)
        | SessionUpdate::AgentMessageChunk(chunk)
        | SessionUpdate::AgentThoughtChunk(chunk) => Some(chunk),
        _ => None,
    }
}

#[track_caller]
fn assert_text_is_said_once(name: &str, events: &[UniversalEvent], updates: &[&SessionUpdate]) {
    let mut said: HashMap<&str, String> = HashMap::new();
    for chunk in updates.iter().copied().filter_map(chunk) {
        if let ContentBlock::Text(text) = &chunk.content {
            said.entry(&chunk.message_id.as_ref().unwrap().0).or_default().push_str(&text.text);
        }
    }
    for event in events {
        let EventData::ItemCompleted(data) = &event.data else { continue };
        if matches!(data.item.kind, ItemKind::Message | ItemKind::System | ItemKind::Unknown) {
            let whole: String = data.item.content.iter().map(words).collect();
            let said = said.remove(data.item.item_id.as_str()).unwrap_or_default();
            assert_eq!(said, whole, "{name}: {}", data.item.item_id);
        }
    }
}

fn words(part: &ContentPart) -> &str {
    match part {
        ContentPart::Text { text } | ContentPart::Reasoning { text, .. } => text,
        _ => "",
    }
}

#[track_caller]
fn assert_calls_are_whole(name: &str, updates: &[&SessionUpdate]) {
    let mut open: HashSet<&str> = HashSet::new();
    let mut known: HashSet<&str> = HashSet::new();
    for update in updates {
        match update {
            SessionUpdate::ToolCall(call) => {
                assert!(known.insert(&call.tool_call_id.0), "{name}: {} twice", call.tool_call_id);
                open.insert(&call.tool_call_id.0);
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let id = &*update.tool_call_id.0;
                assert!(known.contains(id), "{name}: {id} was not announced");
                if matches!(update.fields.status, Some(ToolCallStatus::Completed | ToolCallStatus::Failed)) {
                    open.remove(id);
                }
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "{name}: never ended: {open:?}");
}

#[track_caller]
fn assert_requests_are_settled(name: &str, told: &[Vec<Outgoing>]) {
    let mut open = HashSet::new();
    for message in told.iter().flatten() {
        match message {
            Outgoing::ClientRequest(inquiry) => assert!(open.insert(inquiry.name()), "{name}: asked twice"),
            Outgoing::Settled(settled) => assert!(open.remove(settled), "{name}: {settled:?} was not asked"),
            _ => {}
        }
    }
    assert!(open.is_empty(), "{name}: never settled: {open:?}");
}

#[track_caller]
fn assert_each_turn_is_answered_once(name: &str, events: &[UniversalEvent], told: &[Vec<Outgoing>]) {
    let begun = events.iter().filter_map(|event| match &event.data {
        EventData::TurnStarted(data) => Some(&data.turn_id),
        _ => None,
    });
    let answered = told.iter().flatten().filter_map(|message| match message {
        Outgoing::TurnEnded(ended) => Some(&ended.turn_id),
        _ => None,
    });
    assert_eq!(begun.collect::<Vec<_>>(), answered.collect::<Vec<_>>(), "{name}");
}

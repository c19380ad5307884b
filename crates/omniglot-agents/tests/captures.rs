//! Every recording of every agent, replayed to its reviewed transcript.
//!
//! A new agent's recordings are picked up by their folder. The snapshots are read like code: a line
//! that is wrong is a bug, even if it was always so.

#![expect(clippy::unwrap_used, reason = "a helper of tests; the exemption sees only the tests themselves")]

#[path = "captures/view.rs"]
mod view;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use omniglot_agents::replay::{self, show};
use omniglot_agents::{Adapter, Registry};
use omniglot_schema::{
    ContentPart, EventData, FileAction, ItemStatus, SessionId, ToolKind, UniversalEvent, UniversalEventType,
    UniversalItem, Usage,
};
use omniglot_testkit::captures::agent_of;
use omniglot_testkit::validate::assert_lawful_but;
use omniglot_timeline::Identity;
use omniglot_timeline::check::Allow;

#[test]
fn captures_replay_to_their_transcripts() {
    insta::glob!("../captures", "*/*.jsonl", |capture| {
        let events = |text: &str| {
            let events = replay::events(&agent(capture), text, identity(capture)).unwrap();
            assert_lawful_but(&events, Allow { unparsed: true, ..Allow::default() });
            assert_calls_have_a_kind(&events);
            assert_reads_name_their_files(&events);
            view::assert_folds(&events);
            assert_steps_add_up(&events);
            events
        };
        let sessions: Vec<Vec<_>> = sessions(capture).iter().map(|text| events(text)).collect();
        let unparsed =
            sessions.iter().flatten().filter(|event| event.kind() == UniversalEventType::AgentUnparsed);
        assert_eq!(unparsed.count(), not_understood(capture), "agent.unparsed in {}", capture.display());
        insta::assert_snapshot!("events", told(sessions.iter().map(show::events)));
    });
}

/// The calls of the model that a turn tells add up to the usage of its end: those of the session's own agent to its
/// usage, those below a call to that of subagents. A turn that dies tells no usage, and not every agent tells calls.
fn assert_steps_add_up(events: &[UniversalEvent]) {
    let (mut own, mut below) = (None, None);
    for event in events {
        match &event.data {
            EventData::TurnStarted(_) => (own, below) = (None, None),
            EventData::ItemCompleted(data) => {
                let sum = if data.item.parent_id.is_none() { &mut own } else { &mut below };
                for usage in data.item.content.iter().filter_map(step_usage) {
                    *sum = Some(sum.unwrap_or(0) + usage.total_tokens.unwrap());
                }
            }
            EventData::TurnEnded(data) => {
                let told = [&data.metadata.usage, &data.metadata.usage_subagents];
                for (steps, told) in [own, below].into_iter().zip(told) {
                    let told = told.as_ref().and_then(|usage| usage.total_tokens);
                    assert!(steps.is_none() || told.is_none() || steps == told, "{steps:?}, {event:?}");
                }
            }
            _ => {}
        }
    }
}

fn step_usage(part: &ContentPart) -> Option<&Usage> {
    if let ContentPart::Status { usage, .. } = part { usage.as_ref() } else { None }
}

/// Every call says what it is, from its first mention on: readers know no agent's tools by name.
fn assert_calls_have_a_kind(events: &[UniversalEvent]) {
    let items = events.iter().filter_map(|event| match &event.data {
        EventData::ItemStarted(data) | EventData::ItemCompleted(data) => Some(&data.item),
        _ => None,
    });
    for item in items {
        let lacks = |part: &ContentPart| matches!(part, ContentPart::ToolCall { kind: None, .. });
        assert!(!item.content.iter().any(lacks), "a call without a kind: {item:?}");
    }
}

/// The subject of every call that has read a file names it, and so does its result.
fn assert_reads_name_their_files(events: &[UniversalEvent]) {
    let mut reads = HashMap::new();
    for item in events.iter().filter_map(completed) {
        for part in &item.content {
            match part {
                ContentPart::ToolCall { call_id, kind: Some(ToolKind::Read), subject, .. } => {
                    let named = subject.as_ref().is_some_and(|subject| !subject.paths.is_empty());
                    reads.insert(call_id, named);
                }
                ContentPart::ToolResult { call_id, .. } if item.status == ItemStatus::Completed => {
                    let named =
                        reads.get(call_id).is_none_or(|named| *named && item.content.iter().any(is_read));
                    assert!(named, "a read names no file: {item:?}");
                }
                _ => {}
            }
        }
    }
}

fn completed(event: &UniversalEvent) -> Option<&UniversalItem> {
    if let EventData::ItemCompleted(data) = &event.data { Some(&data.item) } else { None }
}

fn is_read(part: &ContentPart) -> bool {
    matches!(part, ContentPart::FileRef { action: FileAction::Read, diff: None, .. })
}

/// How much of a recording is nonsense on purpose; everything else is understood (T17).
fn not_understood(capture: &Path) -> usize {
    const ON_PURPOSE: &[(&str, usize)] = &[
        // The client sends a request whose method is a number, and the agent answers it.
        ("gemini/other_methods.jsonl", 1),
        // The client names MCP servers of its own, which we never do: their messages are refused.
        ("claude/mcp_sdk.jsonl", 4),
        ("claude-2.1.325/mcp_sdk.jsonl", 4),
        // The client offers tools of its own, which we never do: calls of them are refused.
        ("codex/dynamic_tools.jsonl", 4),
        // The program is started without its JSON lines, without a login or with wrong flags, which we never do: it
        // prints words for people.
        ("amp/error_no_login.jsonl", 6),
        ("amp/text_plain.jsonl", 1),
        ("amp/version.jsonl", 6),
    ];
    ON_PURPOSE.iter().find(|(name, _)| capture.ends_with(name)).map_or(0, |(_, count)| *count)
}

/// The sessions of a recording: several, where they share a connection.
fn sessions(capture: &Path) -> Vec<String> {
    replay::sessions(&agent(capture), &fs::read_to_string(capture).unwrap()).unwrap()
}

/// One after the other, with a heading where there are several.
fn told(sessions: impl ExactSizeIterator<Item = String>) -> String {
    let several = sessions.len() > 1;
    let told = sessions.enumerate().map(|(number, text)| match several {
        true => format!("session {}\n{text}", number + 1),
        false => text,
    });
    told.collect()
}

/// The adapter for a recording.
fn agent(capture: &Path) -> Adapter {
    let registry = Registry::default();
    *registry.get(agent_of(&folder(capture), registry.ids())).unwrap()
}

fn folder(capture: &Path) -> String {
    capture.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
}

/// The session that a recording stands for, named after its agent's folder.
fn identity(capture: &Path) -> Identity {
    Identity { session_id: SessionId::parse("recorded").unwrap(), agent: folder(capture) }
}

//! The lines of a transcript in the order in which they came to be, each with its thread.
//!
//! The file has lines twice (what a compaction preserved), some late (the command that asked for a compaction
//! stands after it), and those of subagents in files of their own. The file tells which prompt came after which;
//! between two of them, time tells the rest.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use serde_json::value::RawValue;

use super::said::{Said, said};
use super::wire::{Head, Line};

pub(super) struct Entry<'a> {
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) at: Timestamp,
    pub(super) content: Content<'a>,
    /// The native id of the call whose subagent says this.
    pub(super) thread: Option<String>,
    /// How many prompts there were before it, itself included.
    prompts: usize,
    /// The reply was cut by an interruption.
    pub(super) cut: bool,
}

pub(super) enum Content<'a> {
    Line {
        head: Head,
        frame: &'a RawValue,
    },
    /// The same line stands further down.
    Superseded,
    Garbage(&'a str),
}

impl Entry<'_> {
    pub(super) fn head(&self) -> Option<&Head> {
        match &self.content {
            Content::Line { head, .. } => Some(head),
            Content::Superseded | Content::Garbage(_) => None,
        }
    }

    fn line(&self) -> Option<Line<'_>> {
        match &self.content {
            Content::Line { head, frame } => Line::parse(&head.kind, frame).ok(),
            Content::Superseded | Content::Garbage(_) => None,
        }
    }

    fn is_prompt(&self) -> bool {
        matches!(self.line(), Some(Line::User(line)) if matches!(said(&line), Said::Prompt(_)))
    }
}

pub(super) fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut entries = parsed(text);
    supersede(&mut entries);
    assign_threads(&mut entries);
    in_time(&mut entries);
    mark_cut(&mut entries);
    entries
}

/// A line without a time belongs to the one before it.
fn parsed(text: &str) -> Vec<Entry<'_>> {
    let mut at = Timestamp::UNIX_EPOCH;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let mut entries: Vec<Entry<'_>> = lines
        .map(|(index, line)| {
            let content = content(line);
            at = time(&content).unwrap_or(at);
            Entry { number: index + 1, at, content, thread: None, prompts: 0, cut: false }
        })
        .collect();
    let begin = entries.iter().find_map(|entry| time(&entry.content)).unwrap_or(at);
    for entry in entries.iter_mut().filter(|entry| entry.at == Timestamp::UNIX_EPOCH) {
        entry.at = begin;
    }
    entries
}

fn content(line: &str) -> Content<'_> {
    let read = || Some((serde_json::from_str(line).ok()?, serde_json::from_str(line).ok()?));
    match read() {
        Some((head, frame)) => Content::Line { head, frame },
        None => Content::Garbage(line),
    }
}

fn time(content: &Content<'_>) -> Option<Timestamp> {
    let Content::Line { head, .. } = content else { return None };
    head.timestamp.as_deref()?.parse().ok()
}

/// Of several lines with one id the last counts, in the place of the first.
fn supersede(entries: &mut [Entry<'_>]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for index in 0..entries.len() {
        let uuid = entries.get(index).and_then(Entry::head).and_then(|head| head.uuid.clone());
        let Some(uuid) = uuid else { continue };
        let Some(first) = seen.get(&uuid).copied() else {
            seen.insert(uuid, index);
            continue;
        };
        let last =
            entries.get_mut(index).map(|entry| std::mem::replace(&mut entry.content, Content::Superseded));
        if let (Some(entry), Some(last)) = (entries.get_mut(first), last) {
            entry.content = last;
        }
    }
}

/// The file of a subagent, read alone, is a conversation of its own.
fn assign_threads(entries: &mut [Entry<'_>]) {
    let spoken = |entry: &&Entry<'_>| entry.head().is_some_and(Head::is_spoken);
    let beside = |entry: &Entry<'_>| entry.head().is_some_and(|head| head.is_sidechain);
    if entries.iter().filter(spoken).all(beside) {
        return;
    }
    let calls = calls_of_agents(entries);
    for entry in entries {
        let Some(head) = entry.head().filter(|head| head.is_sidechain) else { continue };
        let agent = head.agent_id.clone().unwrap_or_default();
        entry.thread = Some(calls.get(&agent).cloned().unwrap_or(agent));
    }
}

/// Which call made which subagent: its result says so.
fn calls_of_agents(entries: &[Entry<'_>]) -> HashMap<String, String> {
    let result = |entry: &Entry<'_>| match entry.line() {
        Some(Line::User(line)) => line.agent_and_call(),
        _ => None,
    };
    entries.iter().filter_map(result).collect()
}

/// Sorts entries by time, but for prompts: the output of a command may be stamped later than the prompt after it.
fn in_time(entries: &mut [Entry<'_>]) {
    let mut prompts: Vec<Timestamp> = Vec::new();
    for entry in entries.iter_mut().filter(|entry| entry.thread.is_none()) {
        if entry.is_prompt() {
            prompts.push(entry.at);
        }
        entry.prompts = prompts.len();
    }
    for entry in entries.iter_mut().filter(|entry| entry.thread.is_some()) {
        entry.prompts = prompts.iter().filter(|prompt| **prompt <= entry.at).count();
    }
    entries.sort_by_key(|entry| (entry.prompts, entry.at));
}

/// 2.1.197 does not say that a reply was cut: it has no reason to stop, and the note about the interruption
/// follows. Versions before it never gave a reason.
fn mark_cut(entries: &mut [Entry<'_>]) {
    let mut candidates: Vec<usize> = Vec::new();
    let mut cut = HashSet::new();
    for (index, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.thread.is_none()) {
        match entry.line() {
            Some(Line::Assistant(line)) if line.message.stop_reason.is_none() => candidates.push(index),
            Some(Line::User(line)) if line.is_interruption() => cut.extend(candidates.drain(..)),
            Some(Line::User(_) | Line::Assistant(_)) => candidates.clear(),
            _ => {}
        }
    }
    for (index, entry) in entries.iter_mut().enumerate() {
        entry.cut = cut.contains(&index);
    }
}

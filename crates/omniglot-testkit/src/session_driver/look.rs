//! The contents of a turn, for assertions: items, requests, thoughts, numbers.

use omniglot_schema::{
    ContentPart, EventData, FileAction, ItemKind, PermissionEventData, StatusLabel, ToolKind, ToolSubject,
    TurnEndedMetadata, UniversalEvent, UniversalItem, Usage,
};

use super::Turn;
use crate::validate::outline;

impl Turn {
    /// Returns the completed items, in order.
    pub fn items(&self) -> Vec<&UniversalItem> {
        let items = self.events.iter().filter_map(|event| match &event.data {
            EventData::ItemCompleted(data) => Some(&data.item),
            _ => None,
        });
        items.collect()
    }

    fn parts(&self, kind: ItemKind) -> impl Iterator<Item = &ContentPart> {
        self.items().into_iter().filter(move |item| item.kind == kind).flat_map(|item| &item.content)
    }

    /// Returns the names of the tools that were called.
    pub fn calls(&self) -> Vec<&str> {
        let names = self.parts(ItemKind::ToolCall).filter_map(|part| match part {
            ContentPart::ToolCall { name, .. } => Some(name.as_str()),
            _ => None,
        });
        names.collect()
    }

    /// Returns the kinds and subjects of the calls.
    pub fn subjects(&self) -> Vec<(Option<ToolKind>, ToolSubject)> {
        let subjects = self.parts(ItemKind::ToolCall).filter_map(|part| match part {
            ContentPart::ToolCall { kind, subject, .. } => {
                Some((*kind, subject.as_deref().cloned().unwrap_or_default()))
            }
            _ => None,
        });
        subjects.collect()
    }

    /// Returns the files that results name with this action.
    pub fn files(&self, action: FileAction) -> Vec<&str> {
        let files = self.parts(ItemKind::ToolResult).filter_map(|part| match part {
            ContentPart::FileRef { path, action: told, .. } if *told == action => Some(path.as_str()),
            _ => None,
        });
        files.collect()
    }

    /// Returns the tools' outputs, as text.
    pub fn outputs(&self) -> Vec<&str> {
        let outputs = self.parts(ItemKind::ToolResult).filter_map(|part| match part {
            ContentPart::ToolResult { output, .. } => Some(output.as_str()),
            _ => None,
        });
        outputs.collect()
    }

    /// Returns what commands wrote to stderr, where it is told apart.
    pub fn stderr(&self) -> String {
        let written = self.parts(ItemKind::ToolResult).filter_map(|part| match part {
            ContentPart::ToolResult { stderr, .. } => stderr.as_deref(),
            _ => None,
        });
        written.collect()
    }

    /// Returns the usage of each call of the model that is told.
    pub fn steps(&self) -> Vec<&Usage> {
        let steps = self.parts(ItemKind::Status).filter_map(|part| match part {
            ContentPart::Status { label, usage, .. } => {
                usage.as_ref().filter(|_| StatusLabel::of_label(label) == Some(StatusLabel::Step))
            }
            _ => None,
        });
        steps.collect()
    }

    /// Returns the changes of files, as unified diffs.
    pub fn diffs(&self) -> Vec<&str> {
        let diffs = self.parts(ItemKind::ToolResult).filter_map(|part| match part {
            ContentPart::FileRef { diff, .. } => diff.as_deref(),
            _ => None,
        });
        diffs.collect()
    }

    /// Returns the complete thoughts.
    pub fn thoughts(&self) -> Vec<&str> {
        let thoughts = self.parts(ItemKind::Message).filter_map(|part| match part {
            ContentPart::Reasoning { text, .. } => Some(text.as_str()),
            _ => None,
        });
        thoughts.collect()
    }

    /// Returns the permissions that the agent asked for.
    pub fn asked(&self) -> Vec<&PermissionEventData> {
        let asked = self.events.iter().filter_map(|event| match &event.data {
            EventData::PermissionRequested(data) => Some(data),
            _ => None,
        });
        asked.collect()
    }

    pub fn ended(&self) -> &TurnEndedMetadata {
        match self.events.last().map(|event| &event.data) {
            Some(EventData::TurnEnded(end)) => &end.metadata,
            _ => panic!("the turn has no end:\n{self}"),
        }
    }

    /// Returns the sequence of its last event.
    pub fn last_sequence(&self) -> u64 {
        self.events.last().map_or(0, |event| event.sequence)
    }
}

/// Writes one line per event.
impl std::fmt::Display for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&outline(&self.events))
    }
}

/// Returns the labels of the status items among `events`.
pub fn labels(events: &[UniversalEvent]) -> Vec<&str> {
    let parts = events.iter().filter_map(|event| match &event.data {
        EventData::ItemCompleted(data) => Some(&data.item.content),
        _ => None,
    });
    let labels = parts.flatten().filter_map(|part| match part {
        ContentPart::Status { label, .. } => Some(label.as_str()),
        _ => None,
    });
    labels.collect()
}

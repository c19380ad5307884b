//! Search in what was said and done: the words by which an item is found, and what a search tells.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{ItemId, SessionId};
use crate::item::{ContentPart, ItemKind, ItemRole, UniversalItem};

/// One item that has all the words of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// The session of the item.
    pub session_id: SessionId,
    /// The agent of the session.
    pub agent: String,
    /// The title of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The sequence of the event that completed the item.
    pub sequence: u64,
    /// Milliseconds since 1970.
    pub time: i64,
    /// The item.
    pub item_id: ItemId,
    /// The kind of the item: a message or a tool call.
    pub kind: ItemKind,
    /// The author of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<ItemRole>,
    /// The words around the first that was searched for, on one line.
    pub text: String,
}

/// Found items, those of the newest session first, and in each the latest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchResponse {
    /// The found items.
    pub hits: Vec<SearchHit>,
    /// Whether there are more.
    pub has_more: bool,
}

impl UniversalItem {
    /// Returns the words by which people find the item: those of a message, or what a call does to which files.
    pub fn searchable(&self) -> Option<String> {
        let mut words: Vec<&str> = vec![];
        for part in &self.content {
            match (self.kind, part) {
                (ItemKind::Message, ContentPart::Text { text }) => words.push(text),
                (ItemKind::Message, ContentPart::FileRef { path, .. }) => words.push(path),
                (ItemKind::ToolCall, ContentPart::ToolCall { title, subject, .. }) => {
                    words.extend(title.as_deref());
                    if let Some(subject) = subject {
                        let paths = subject.paths.iter().map(|path| &*path.path);
                        let texts = [&subject.command, &subject.query, &subject.url, &subject.description];
                        // Many titles are the command itself.
                        for text in paths.chain(texts.into_iter().filter_map(|text| text.as_deref())) {
                            if !words.iter().any(|said| said.contains(text)) {
                                words.push(text);
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        let text = words.join("\n");
        (!text.trim().is_empty()).then_some(text)
    }
}

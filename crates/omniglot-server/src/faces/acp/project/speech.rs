//! Messages: deltas as they come, and at the end what no delta has said. No text is sent twice.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{ContentBlock, ContentChunk, SessionUpdate, TextContent};
use omniglot_schema::{
    ContentPart, DeltaPart, ItemDeltaData, ItemId, ItemKind, ItemRole, ReasoningVisibility, UniversalItem,
};

use super::Out;
use super::blocks::{self, Blobs};
use crate::faces::acp::meta::{self, Notes};

/// As whose words something is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Agent,
    /// Also what a subagent says, and what was put into the conversation: ACP has one voice for everything
    /// that is not the answer.
    Thought,
}

/// The messages that are being said.
#[derive(Debug, Default)]
pub(super) struct Speech {
    open: HashMap<ItemId, Open>,
}

#[derive(Debug)]
struct Open {
    speaker: Speaker,
    notes: Notes,
    visibility: Option<ReasoningVisibility>,
    /// How much of its text was sent, in bytes.
    said: usize,
    /// The client knows it already.
    is_known: bool,
}

impl Speech {
    pub(super) fn started(&mut self, item: &UniversalItem, is_known: bool) {
        let open = Open {
            speaker: speaker(item),
            notes: notes(item),
            visibility: item.content.iter().find_map(visibility),
            said: 0,
            is_known,
        };
        self.open.insert(item.item_id.clone(), open);
    }

    /// Whether the delta was one of a message.
    pub(super) fn delta(&mut self, data: &ItemDeltaData, out: &mut Out<'_>) -> bool {
        let Some(open) = self.open.get_mut(&data.item_id) else { return false };
        open.said += data.delta.len();
        if !open.is_known && !data.delta.is_empty() {
            let is_thought = data.part_type == Some(DeltaPart::Reasoning);
            let speaker = if is_thought { Speaker::Thought } else { open.speaker };
            let block = text(&data.delta, open.visibility.filter(|_| is_thought));
            out.update(chunk(speaker, &data.item_id, block, open.notes.clone()));
        }
        true
    }

    pub(super) fn completed(&mut self, item: &UniversalItem, blobs: &Blobs, out: &mut Out<'_>) {
        let Some(mut open) = self.open.remove(&item.item_id) else { return };
        if open.is_known {
            return;
        }
        for part in &item.content {
            open.part(item, part, blobs, out);
        }
    }

    /// Nothing of an ended turn is said any more.
    pub(super) fn forget(&mut self) {
        self.open.clear();
    }
}

impl Open {
    /// Says what of this part the deltas have not.
    fn part(&mut self, item: &UniversalItem, part: &ContentPart, blobs: &Blobs, out: &mut Out<'_>) {
        let block = match part {
            ContentPart::Text { text: words } => match self.rest(words) {
                Some(rest) => text(rest, None),
                None => return,
            },
            // Hidden thought has no text; that there was some is told all the same.
            ContentPart::Reasoning { text: words, visibility } => match self.rest(words) {
                Some(rest) => text(rest, Some(*visibility)),
                None if words.is_empty() => text("", Some(*visibility)),
                None => return,
            },
            other => match blocks::block(&item.item_id, other, blobs) {
                Some(block) => block,
                None => return,
            },
        };
        let is_thought = matches!(part, ContentPart::Reasoning { .. });
        let speaker = if is_thought { Speaker::Thought } else { self.speaker };
        out.update(chunk(speaker, &item.item_id, block, self.notes.clone()));
    }

    /// The end of `words` that was not said, if there is one.
    fn rest<'a>(&mut self, words: &'a str) -> Option<&'a str> {
        let said = self.said.min(words.len());
        self.said -= said;
        words.get(said..).filter(|rest| !rest.is_empty())
    }
}

fn speaker(item: &UniversalItem) -> Speaker {
    // The parent of a message is the call that began the subagent which says it.
    let of_subagent = item.parent_id.is_some();
    match (item.kind, item.role) {
        (ItemKind::Message, Some(ItemRole::User)) if !of_subagent => Speaker::User,
        (ItemKind::Message, Some(ItemRole::Assistant)) if !of_subagent => Speaker::Agent,
        _ => Speaker::Thought,
    }
}

fn visibility(part: &ContentPart) -> Option<ReasoningVisibility> {
    match part {
        ContentPart::Reasoning { visibility, .. } => Some(*visibility),
        _ => None,
    }
}

fn text(words: &str, visibility: Option<ReasoningVisibility>) -> ContentBlock {
    let notes = Notes::default().with(meta::REASONING_VISIBILITY, visibility);
    ContentBlock::Text(TextContent::new(words).meta(notes.into_meta()))
}

/// What every update about an item says of it.
pub(super) fn notes(item: &UniversalItem) -> Notes {
    Notes::default()
        .with(meta::ITEM_ID, Some(&item.item_id))
        .with(meta::NATIVE_ITEM_ID, item.native_item_id.as_ref())
        .with(meta::PARENT_ID, item.parent_id.as_ref())
}

pub(super) fn chunk(speaker: Speaker, item: &ItemId, block: ContentBlock, notes: Notes) -> SessionUpdate {
    let chunk = ContentChunk::new(block).message_id(item.as_str()).meta(notes.into_meta());
    match speaker {
        Speaker::User => SessionUpdate::UserMessageChunk(chunk),
        Speaker::Agent => SessionUpdate::AgentMessageChunk(chunk),
        Speaker::Thought => SessionUpdate::AgentThoughtChunk(chunk),
    }
}

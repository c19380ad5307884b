//! Messages: deltas as they come, and at the end what no delta has said. No text is sent twice.

use agent_client_protocol_schema::v1::{ContentBlock, ContentChunk, SessionUpdate, TextContent};
use omniglot_schema::{
    ContentPart, DeltaPart, ItemId, ItemKind, ItemRole, ReasoningVisibility, UniversalItem,
};
use omniglot_timeline::view::Message;

use super::Out;
use super::blocks::{self, Blobs};
use crate::faces::acp::wire::meta::{self, Notes};

/// As whose words something is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Agent,
    /// Also what a subagent says, and what was put into the conversation: ACP has one voice for everything
    /// that is not the answer.
    Thought,
}

pub(super) fn delta(message: &Message, part: DeltaPart, delta: &str, out: &mut Out<'_>) {
    if delta.is_empty() {
        return;
    }
    let is_thought = part == DeltaPart::Reasoning;
    let speaker = if is_thought { Speaker::Thought } else { speaker(&message.item) };
    let visibility = message.item.content.iter().find_map(visibility).filter(|_| is_thought);
    out.update(chunk(speaker, &message.item.item_id, text(delta, visibility), notes_of(&message.item)));
}

/// Says what no delta has said.
pub(super) fn ended(message: &Message, blobs: &Blobs, out: &mut Out<'_>) {
    let item = &message.item;
    let mut said = message.streamed;
    for part in &item.content {
        let Some(block) = unsaid(item, part, &mut said, blobs) else { continue };
        let is_thought = matches!(part, ContentPart::Reasoning { .. });
        let speaker = if is_thought { Speaker::Thought } else { speaker(item) };
        out.update(chunk(speaker, &item.item_id, block, notes_of(item)));
    }
}

/// Returns the end of a part that was not said; `said` bytes of it and of the following ones were.
fn unsaid(item: &UniversalItem, part: &ContentPart, said: &mut usize, blobs: &Blobs) -> Option<ContentBlock> {
    let mut rest = |words: &str| {
        let known = words.len().min(*said);
        *said -= known;
        words.get(known..).filter(|rest| !rest.is_empty()).map(str::to_owned)
    };
    match part {
        ContentPart::Text { text: words } => rest(words).map(|rest| text(&rest, None)),
        // Hidden thought has no text; that there was some is told all the same.
        ContentPart::Reasoning { text: words, visibility } => {
            let rest = if words.is_empty() { Some(String::new()) } else { rest(words) };
            rest.map(|rest| text(&rest, Some(*visibility)))
        }
        other => blocks::block(&item.item_id, other, blobs),
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

pub(super) fn notes_of(item: &UniversalItem) -> Notes {
    notes(&item.item_id, item.native_item_id.as_ref(), item.parent_id.as_ref())
}

/// Returns the keys of every update about an item.
pub(super) fn notes(item: &ItemId, native: Option<&String>, parent: Option<&ItemId>) -> Notes {
    Notes::default()
        .with(meta::ITEM_ID, Some(item))
        .with(meta::NATIVE_ITEM_ID, native)
        .with(meta::PARENT_ID, parent)
}

pub(super) fn chunk(speaker: Speaker, item: &ItemId, block: ContentBlock, notes: Notes) -> SessionUpdate {
    let chunk = ContentChunk::new(block).message_id(item.as_str()).meta(notes.into_meta());
    match speaker {
        Speaker::User => SessionUpdate::UserMessageChunk(chunk),
        Speaker::Agent => SessionUpdate::AgentMessageChunk(chunk),
        Speaker::Thought => SessionUpdate::AgentThoughtChunk(chunk),
    }
}

//! Messages and turns as a reader sees them.

use omniglot_schema::{
    CallId, ContentPart, DeltaPart, ErrorData, ItemId, ItemKind, ItemRole, MessageId, TurnId,
    TurnStartedData, UniversalItem,
};
use serde::Serialize;

/// An item that is neither a call, a result nor a status: the words of a person, of the agent or of the system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Message {
    /// The item with its content as it was last told; its ids are those that it started with.
    pub item: UniversalItem,
    /// The posted message whose words these are: the first of a person in the turn that answers it.
    pub posted: Option<MessageId>,
    /// The call whose subagent says this.
    pub within: Option<CallId>,
    /// Whether it is a thought.
    pub reasoning: bool,
    /// The text so far; the whole text once the message has ended.
    pub text: String,
    /// The bytes of the text that came as deltas.
    pub streamed: usize,
}

impl Message {
    pub(super) fn of(item: &UniversalItem, within: Option<CallId>) -> Self {
        let reasoning = item.content.iter().any(is_reasoning);
        Self { item: item.clone(), posted: None, within, reasoning, text: String::new(), streamed: 0 }
    }

    pub(super) fn grow(&mut self, part: DeltaPart, delta: &str) {
        self.reasoning |= part == DeltaPart::Reasoning;
        self.text.push_str(delta);
        self.streamed += delta.len();
    }

    pub(super) fn end(&mut self, item: &UniversalItem) {
        self.item.status = item.status;
        self.item.content.clone_from(&item.content);
        self.reasoning |= item.content.iter().any(is_reasoning);
        self.text = item.content.iter().filter_map(words).collect();
    }
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Turn {
    pub id: TurnId,
    /// The posted message that it answers; absent when the agent began the turn by itself.
    pub message: Option<MessageId>,
    /// The posting client's own ids for the message and its parts.
    pub client_ids: Vec<String>,
    /// The item of the first message of a person.
    pub user: Option<ItemId>,
    pub failure: Option<ErrorData>,
}

impl Turn {
    pub(super) fn of(data: &TurnStartedData) -> Self {
        Self {
            id: data.turn_id.clone(),
            message: data.metadata.message_id.clone(),
            client_ids: data.metadata.client_ids.clone(),
            user: None,
            failure: None,
        }
    }

    /// Takes a message as the one that the turn answers, if it is the first of a person.
    pub(super) fn begins_with(&mut self, message: &mut Message) {
        let of_person = message.item.kind == ItemKind::Message && message.item.role == Some(ItemRole::User);
        if of_person && message.within.is_none() && self.user.is_none() {
            self.user = Some(message.item.item_id.clone());
            message.posted.clone_from(&self.message);
        }
    }
}

fn is_reasoning(part: &ContentPart) -> bool {
    matches!(part, ContentPart::Reasoning { .. })
}

fn words(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::Text { text } | ContentPart::Reasoning { text, .. } => Some(text),
        _ => None,
    }
}

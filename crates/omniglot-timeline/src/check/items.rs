//! Items: started, streamed and completed once each, within their turn, with content that fits.

use std::collections::HashMap;

use indexmap::IndexSet;
use omniglot_schema::{
    CallId, ContentPart, DeltaPart, ItemDeltaData, ItemId, ItemKind, ItemRole, ItemStatus, StatusLabel,
    UniversalItem,
};

use super::Code;
use super::session::Session;

#[derive(Debug, Default)]
pub(super) struct Items {
    seen: HashMap<ItemId, Seen>,
    open: IndexSet<ItemId>,
    calls: HashMap<CallId, ItemId>,
    results: HashMap<CallId, ItemId>,
    /// Calls without a result.
    unanswered: IndexSet<CallId>,
}

/// The state of one item, folded from the stream so far.
#[derive(Debug, Clone)]
struct Seen {
    kind: ItemKind,
    role: Option<ItemRole>,
    parent: Option<ItemId>,
    started: u64,
    completed: Option<u64>,
    text: String,
    reasoning: String,
    deltas: Vec<DeltaPart>,
    late: bool,
}

impl Seen {
    fn of(item: &UniversalItem, started: u64) -> Self {
        Self {
            kind: item.kind,
            role: item.role,
            parent: item.parent_id.clone(),
            started,
            completed: None,
            text: String::new(),
            reasoning: String::new(),
            deltas: vec![],
            late: is_late(item),
        }
    }
}

impl Items {
    pub(super) fn count(&self) -> usize {
        self.seen.len()
    }

    pub(super) fn kind(&self, id: &ItemId) -> Option<ItemKind> {
        self.seen.get(id).map(|seen| seen.kind)
    }

    pub(super) fn report_open(&mut self) -> IndexSet<ItemId> {
        std::mem::take(&mut self.open)
    }

    /// Late text that no turn holds may still grow.
    pub(super) fn allow_open_late(&mut self) {
        self.open.retain(|id| self.seen.get(id).is_none_or(|seen| !seen.late));
    }

    pub(super) fn report_unanswered(&mut self) -> IndexSet<CallId> {
        std::mem::take(&mut self.unanswered)
    }
}

impl Session {
    pub(super) fn item_started(&mut self, item: &UniversalItem) {
        self.prefix("itm_", item.item_id.as_str());
        if item.status != ItemStatus::InProgress {
            self.say(Code::ItemStatus, format!("{} starts {:?}", item.item_id, item.status));
        }
        if self.items.seen.contains_key(&item.item_id) {
            return self.say(Code::ItemStartedTwice, item.item_id.as_str());
        }
        self.item_alone(item);
        let speaks = matches!(item.role, Some(ItemRole::Assistant | ItemRole::User | ItemRole::Tool));
        if self.turns.open.is_none() && speaks {
            self.say(
                Code::ItemOutsideTurn,
                format!("{:?} {} starts outside a turn", item.kind, item.item_id),
            );
        }
        self.items.seen.insert(item.item_id.clone(), Seen::of(item, self.sequence));
        self.items.open.insert(item.item_id.clone());
        self.item_links(item);
    }

    pub(super) fn item_delta(&mut self, data: &ItemDeltaData) {
        let Some(seen) = self.items.seen.get_mut(&data.item_id) else {
            return self.say(Code::DeltaBeforeStart, data.item_id.as_str());
        };
        if seen.completed.is_some() {
            return self.say(Code::DeltaAfterEnd, data.item_id.as_str());
        }
        let part = data.part_type.unwrap_or(DeltaPart::Text);
        match part {
            DeltaPart::Text => seen.text.push_str(&data.delta),
            DeltaPart::Reasoning => seen.reasoning.push_str(&data.delta),
            // A preview; the completed part is the truth.
            DeltaPart::ToolInput | DeltaPart::ToolOutput => {}
        }
        if !seen.deltas.contains(&part) {
            seen.deltas.push(part);
            let kind = seen.kind;
            self.delta_part(part, kind);
        }
    }

    fn delta_part(&mut self, part: DeltaPart, kind: ItemKind) {
        let fits = match kind {
            ItemKind::Message => matches!(part, DeltaPart::Text | DeltaPart::Reasoning),
            ItemKind::ToolCall => part == DeltaPart::ToolInput,
            ItemKind::ToolResult => part == DeltaPart::ToolOutput,
            ItemKind::System | ItemKind::Status | ItemKind::Unknown => true,
        };
        if !fits {
            self.say(Code::DeltaPartType, format!("{part:?} deltas on a {kind:?} item"));
        }
    }

    pub(super) fn item_completed(&mut self, item: &UniversalItem) {
        if item.status == ItemStatus::InProgress {
            self.say(Code::ItemStatus, format!("{} completes in progress", item.item_id));
        }
        self.items.open.shift_remove(&item.item_id);
        let Some(seen) = self.items.seen.get_mut(&item.item_id) else {
            self.items.seen.insert(item.item_id.clone(), Seen::of(item, self.sequence));
            return self.say(Code::CompletedBeforeStart, item.item_id.as_str());
        };
        if seen.completed.replace(self.sequence).is_some() {
            return self.say(Code::ItemCompletedTwice, item.item_id.as_str());
        }
        let seen = seen.clone();
        self.item_unchanged(item, &seen);
        self.item_links(item);
        self.item_content(item);
        self.message_content(item, &seen);
    }

    /// Checks an item by itself when it starts.
    fn item_alone(&mut self, item: &UniversalItem) {
        let role = item.role;
        let legal = match item.kind {
            ItemKind::Message => role.is_some(),
            ItemKind::ToolCall => role == Some(ItemRole::Assistant),
            ItemKind::ToolResult => role == Some(ItemRole::Tool),
            ItemKind::Status | ItemKind::System => role.is_none(),
            ItemKind::Unknown => true,
        };
        if !legal {
            self.say(Code::Role, format!("{:?} with role {role:?}", item.kind));
        }
        if item.parent_id.as_ref().is_some_and(|parent| !self.items.seen.contains_key(parent)) {
            self.say(Code::Parent, format!("{} has an unknown parent", item.item_id));
        }
    }

    fn item_unchanged(&mut self, item: &UniversalItem, seen: &Seen) {
        if item.kind != seen.kind {
            self.say(Code::ItemKind, format!("{} was {:?}, is {:?}", item.item_id, seen.kind, item.kind));
        } else if item.role != seen.role {
            self.say(Code::Role, format!("{} was {:?}, is {:?}", item.item_id, seen.role, item.role));
        }
        if item.parent_id != seen.parent {
            self.say(Code::Parent, format!("{} changes its parent", item.item_id));
        }
    }

    /// Remembers calls and ties every result to one of them.
    fn item_links(&mut self, item: &UniversalItem) {
        for part in &item.content {
            match part {
                ContentPart::ToolCall { call_id, .. } if item.kind == ItemKind::ToolCall => {
                    self.call(item, call_id)
                }
                ContentPart::ToolResult { call_id, .. } => self.result(item, call_id),
                _ => {}
            }
        }
    }

    fn call(&mut self, item: &UniversalItem, id: &CallId) {
        match self.items.calls.get(id) {
            Some(owner) if *owner == item.item_id => {}
            Some(_) => self.say(Code::CallId, format!("call {id} belongs to two items")),
            None => {
                self.prefix("call_", id.as_str());
                self.items.calls.insert(id.clone(), item.item_id.clone());
                self.items.unanswered.insert(id.clone());
            }
        }
    }

    fn result(&mut self, item: &UniversalItem, id: &CallId) {
        let Some(call) = self.items.calls.get(id) else {
            return self.say(Code::CallId, format!("result for unknown call {id}"));
        };
        match self.items.results.get(id) {
            Some(known) if *known == item.item_id => return,
            Some(_) => return self.say(Code::ResultTwice, format!("two results for call {id}")),
            None => {}
        }
        let completed = self.items.seen.get(call).and_then(|call| call.completed);
        let started = self.items.seen.get(&item.item_id).map(|result| result.started);
        if completed.is_none() || completed > started {
            self.say(
                Code::ResultBeforeCall,
                format!("the result of {id} starts before the call is complete"),
            );
        }
        self.items.unanswered.shift_remove(id);
        self.items.results.insert(id.clone(), item.item_id.clone());
    }

    fn item_content(&mut self, item: &UniversalItem) {
        let (mut calls, mut results) = (0, 0);
        for part in &item.content {
            match part {
                ContentPart::ToolCall { arguments, .. } => {
                    calls += 1;
                    if item.status == ItemStatus::Completed && !is_json(arguments) {
                        self.say(Code::Arguments, format!("arguments of {} are not JSON", item.item_id));
                    }
                }
                ContentPart::ToolResult { .. } => results += 1,
                ContentPart::Image { path, .. } if path.starts_with("data:") => {
                    self.say(Code::InlineImage, format!("{} holds the bytes of an image", item.item_id));
                }
                _ => {}
            }
        }
        let fits = match item.kind {
            ItemKind::ToolCall => (calls, results) == (1, 0),
            ItemKind::ToolResult => (calls, results) == (0, 1),
            _ => (calls, results) == (0, 0),
        };
        if !fits {
            self.say(Code::ItemContent, format!("{:?} with {calls} calls and {results} results", item.kind));
        }
        if item.kind == ItemKind::Status {
            self.status_label(item);
        }
    }

    fn status_label(&mut self, item: &UniversalItem) {
        let Some((ContentPart::Status { label, .. }, more)) = item.content.split_first() else {
            return self.say(Code::StatusLabel, format!("{} does not begin with its status", item.item_id));
        };
        let what = StatusLabel::of_label(label);
        if !more.is_empty() && what != Some(StatusLabel::Late) {
            self.say(Code::StatusLabel, format!("{} is not one status part", item.item_id));
        }
        match what {
            Some(StatusLabel::MemoryLost) => self.owes_memory_lost = false,
            Some(_) => {}
            None => self.say(Code::StatusLabel, format!("label {label:?}")),
        }
    }

    fn message_content(&mut self, item: &UniversalItem, seen: &Seen) {
        if item.kind != ItemKind::Message {
            return;
        }
        let (mut text, mut reasoning) = (None::<String>, None::<String>);
        for part in &item.content {
            match part {
                ContentPart::Text { text: part } => text.get_or_insert_default().push_str(part),
                ContentPart::Reasoning { text: part, .. } => reasoning.get_or_insert_default().push_str(part),
                _ => {}
            }
        }
        if reasoning.is_some() && item.role != Some(ItemRole::Assistant) {
            self.say(Code::Role, format!("{} reasons with role {:?}", item.item_id, item.role));
        }
        if reasoning.is_some() && text.is_some() {
            self.say(Code::ReasoningMixed, format!("{} holds thought and answer", item.item_id));
        }
        if item.role != Some(ItemRole::Assistant) && seen.deltas.is_empty() {
            return;
        }
        if text.unwrap_or_default() != seen.text || reasoning.unwrap_or_default() != seen.reasoning {
            self.say(Code::DeltaText, format!("{}: the deltas are not its text", item.item_id));
        }
    }
}

fn is_late(item: &UniversalItem) -> bool {
    let Some(ContentPart::Status { label, .. }) = item.content.first() else { return false };
    item.kind == ItemKind::Status && StatusLabel::of_label(label) == Some(StatusLabel::Late)
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

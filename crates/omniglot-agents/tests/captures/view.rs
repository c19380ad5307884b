//! The reader's view over every recording: what it joins is what the stream has said apart.

use std::collections::{HashMap, HashSet};

use omniglot_schema::{CallId, ContentPart, EventData, ItemId, ItemKind, UniversalEvent, UniversalItem};
use omniglot_timeline::view::{Call, CallStatus, Change, Message, View};

/// The changes that one fold has told.
#[derive(Default)]
struct Told {
    started: Vec<ItemId>,
    ended: Vec<Call>,
    messages: Vec<Message>,
    /// The spawning call of each call and message of a subagent.
    within: HashMap<ItemId, CallId>,
    /// The streamed text of each message.
    streamed: HashMap<ItemId, String>,
}

pub(super) fn assert_folds(events: &[UniversalEvent]) {
    let (mut view, mut told) = (View::default(), Told::default());
    for event in events {
        told.hear(view.apply(event));
        told.assert_children(&view);
        if matches!(event.data, EventData::TurnEnded(_)) {
            assert!(view.turn().is_none());
        }
    }
    let items: Vec<&UniversalItem> = events.iter().filter_map(super::completed).collect();
    told.assert_calls(&items);
    told.assert_messages(&items);
}

impl Told {
    fn hear(&mut self, change: Change<'_>) {
        match change {
            Change::CallStarted(call) => {
                self.started.push(call.item.clone());
                self.within.extend(call.within.clone().map(|within| (call.item.clone(), within)));
            }
            Change::MessageStarted(message) => {
                let item = message.item.item_id.clone();
                self.within.extend(message.within.clone().map(|within| (item, within)));
            }
            Change::MessageText { message, delta, .. } => {
                let text = self.streamed.entry(message.item.item_id.clone()).or_default();
                text.push_str(delta);
                assert_eq!((&message.text, message.streamed), (&*text, text.len()));
            }
            Change::MessageEnded(message) => self.messages.push(*message),
            Change::CallReady { call, before } => {
                assert_eq!(before.map(|before| before.call_id), Some(call.call_id.clone()));
            }
            Change::CallOutput { call, delta } => {
                assert!(call.output.ends_with(delta) && call.result.is_some());
            }
            Change::CallEnded(call) => self.ended.push(*call),
            Change::CallRunning(call) => assert_ne!(call.status, CallStatus::Writing),
            Change::TurnStarted(_)
            | Change::TurnEnded { .. }
            | Change::CallInput { .. }
            | Change::Happened(_)
            | Change::Other => {}
        }
    }

    /// Items of a subagent are the children of the call that spawned it, and of no other.
    fn assert_children(&self, view: &View) {
        for call in self.started.iter().filter_map(|item| view.call(item)) {
            for child in &call.children {
                assert_eq!(self.within.get(child), Some(&call.call_id), "{child}");
            }
        }
    }

    /// Every call is told once, and ends once, with the result that names it.
    fn assert_calls(&self, items: &[&UniversalItem]) {
        let ids = |kind| items.iter().filter(move |item| item.kind == kind).map(|item| item.item_id.clone());
        assert_eq!(self.started.iter().cloned().collect::<HashSet<_>>(), ids(ItemKind::ToolCall).collect());
        assert_eq!(self.started.len(), ids(ItemKind::ToolCall).count(), "a call is told twice");
        let ended: Vec<_> = self.ended.iter().map(|call| call.item.clone()).collect();
        assert_eq!(ended.iter().collect::<HashSet<_>>(), self.started.iter().collect(), "calls and results");
        assert_eq!(ended.len(), self.started.len(), "a call ends twice");
        for call in &self.ended {
            let result = call.result.as_ref().unwrap();
            let names = |part: &ContentPart| matches!(part, ContentPart::ToolResult { call_id, .. } if *call_id == call.call_id);
            assert!(result.content.iter().any(names), "{}", call.item);
            let told = items.iter().find(|item| item.item_id == call.item).unwrap();
            let is_call = |part: &ContentPart| {
                matches!(part, ContentPart::ToolCall { name, arguments, kind, .. }
                    if *name == call.name && *arguments == call.arguments && *kind == call.kind)
            };
            assert!(told.content.iter().any(is_call), "{}", call.item);
        }
    }

    /// The text of each message is that of its item, and its deltas are the beginning of it (T6).
    fn assert_messages(&self, items: &[&UniversalItem]) {
        let is_message = |item: &&&UniversalItem| {
            matches!(item.kind, ItemKind::Message | ItemKind::System | ItemKind::Unknown)
        };
        let words = |part: &ContentPart| match part {
            ContentPart::Text { text } | ContentPart::Reasoning { text, .. } => Some(text.clone()),
            _ => None,
        };
        let all: String =
            items.iter().filter(is_message).flat_map(|item| &item.content).filter_map(words).collect();
        let told: String = self.messages.iter().map(|message| &*message.text).collect();
        assert_eq!(told, all);
        for message in &self.messages {
            let streamed = self.streamed.get(&message.item.item_id).map_or("", |text| text);
            assert!(message.text.starts_with(streamed), "{}", message.item.item_id);
        }
    }
}

//! The transcript of another session, as a fork begins with it: what was said and done there, under new ids.
//!
//! Only what is over is copied: whole turns, completed items and resolved requests. State, starts and ends of the
//! origin are not, since the fork has its own.

use std::collections::HashSet;

use indexmap::IndexMap;
use omniglot_schema::{
    CopiedFrom, DeltaPart, EventData, EventId, EventMetadata, ItemDeltaData, ItemId, SessionId,
    TurnEndedData, TurnId, UniversalEvent,
};

use super::{Emitted, Timeline};
use crate::fold::Snapshot;

/// The session that a fork begins as a copy of.
#[derive(Debug, Clone)]
pub struct ForkSource {
    session: SessionId,
    seed: String,
    events: Vec<UniversalEvent>,
}

impl ForkSource {
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Calls `visit` with the path of every blob that the copies name.
    pub fn visit_blobs(&mut self, visit: &mut dyn FnMut(&str)) {
        for event in &mut self.events {
            event.data.visit_blob_paths(&mut |path| {
                visit(path);
                None
            });
        }
    }
}

/// Chooses the events of a session that its fork begins with. Reads them in their order, each once.
#[derive(Debug)]
pub struct ForkSourceReader {
    origin: ForkSource,
    turn: Option<TurnId>,
    /// Events of the turn that is open, and of items and requests that are not over.
    open: Vec<UniversalEvent>,
    /// The text of messages that are not completed.
    growing: IndexMap<ItemId, Vec<UniversalEvent>>,
}

impl ForkSourceReader {
    pub fn new(session: SessionId, snapshot: &Snapshot) -> Self {
        let origin = ForkSource { session, seed: snapshot.seed.clone(), events: vec![] };
        Self { origin, turn: None, open: vec![], growing: IndexMap::new() }
    }

    pub fn read(&mut self, event: UniversalEvent) {
        match &event.data {
            EventData::SessionStarted(_)
            | EventData::SessionEnded(_)
            | EventData::SessionUpdated(_)
            | EventData::AgentUnparsed(_) => {}
            EventData::ItemDelta(data) => self.delta(data.clone(), event),
            EventData::ItemCompleted(data) => {
                let text = self.growing.shift_remove(&data.item.item_id).unwrap_or_default();
                self.open.extend(text);
                self.push(event);
            }
            EventData::TurnStarted(data) => {
                self.turn = Some(data.turn_id.clone());
                self.push(event);
            }
            EventData::TurnEnded(TurnEndedData { turn_id, .. }) => {
                if self.turn.as_ref() == Some(turn_id) {
                    self.turn = None;
                }
                self.push(event);
            }
            EventData::ItemStarted(_)
            | EventData::Error(_)
            | EventData::PermissionRequested(_)
            | EventData::PermissionResolved(_)
            | EventData::QuestionRequested(_)
            | EventData::QuestionResolved(_) => self.push(event),
        }
    }

    pub fn finish(mut self) -> ForkSource {
        if self.turn.is_none() {
            self.settle();
        }
        self.origin
    }

    fn push(&mut self, event: UniversalEvent) {
        let begins = matches!(event.data, EventData::TurnStarted(_));
        if begins {
            self.settle();
        }
        self.open.push(event);
    }

    /// The pieces of a text become one; previews of tools are left out, since the completed item has it all.
    fn delta(&mut self, data: ItemDeltaData, event: UniversalEvent) {
        let part = data.part_type.unwrap_or(DeltaPart::Text);
        if matches!(part, DeltaPart::ToolInput | DeltaPart::ToolOutput) {
            return;
        }
        let texts = self.growing.entry(data.item_id).or_default();
        let same = texts.iter_mut().find_map(|text| match &mut text.data {
            EventData::ItemDelta(known) if known.part_type.unwrap_or(DeltaPart::Text) == part => Some(known),
            _ => None,
        });
        match same {
            Some(known) => known.delta.push_str(&data.delta),
            None => texts.push(event),
        }
    }

    /// Takes what was read since the last turn began, without the items and requests that are not over.
    fn settle(&mut self) {
        let over: HashSet<String> = self.open.iter().filter_map(ended).collect();
        let is_whole = |event: &UniversalEvent| begun(event).is_none_or(|id| over.contains(&id));
        self.origin.events.extend(std::mem::take(&mut self.open).into_iter().filter(is_whole));
    }
}

/// The id of an item or request that this event ends.
fn ended(event: &UniversalEvent) -> Option<String> {
    match &event.data {
        EventData::ItemCompleted(data) => Some(data.item.item_id.to_string()),
        EventData::PermissionResolved(data) => Some(data.permission_id.to_string()),
        EventData::QuestionResolved(data) => Some(data.question_id.to_string()),
        _ => None,
    }
}

/// The id of an item or request that this event is about and does not end.
fn begun(event: &UniversalEvent) -> Option<String> {
    match &event.data {
        EventData::ItemStarted(data) => Some(data.item.item_id.to_string()),
        EventData::ItemDelta(data) => Some(data.item_id.to_string()),
        EventData::PermissionRequested(data) => Some(data.permission_id.to_string()),
        EventData::QuestionRequested(data) => Some(data.question_id.to_string()),
        _ => None,
    }
}

impl Timeline {
    /// Returns how many events are copies of the origin's.
    pub fn copied(&self) -> u64 {
        self.copied
    }

    pub(super) fn copy(&mut self, origin: ForkSource, out: &mut Vec<Emitted>) {
        let ForkSource { session, seed, events } = origin;
        let blobs = (blobs_of(&session), blobs_of(&self.identity.session_id));
        self.copied = events.len() as u64;
        for event in events {
            let mut data = event.data;
            data.visit_ids(&mut |id| {
                *id = renamed(id, &seed, &self.seed);
            });
            data.visit_blob_paths(&mut |path| Some(format!("{}{}", blobs.1, path.strip_prefix(&blobs.0)?)));
            forget_message(&mut data);
            let copied_from = CopiedFrom { session: session.clone(), sequence: event.sequence };
            let event = UniversalEvent {
                event_id: EventId(self.mint("evt")),
                sequence: self.next_seq(),
                session_id: self.identity.session_id.clone(),
                native_session_id: None,
                metadata: Some(EventMetadata { copied_from: Some(copied_from) }),
                data,
                raw: None,
                ..event
            };
            self.fold.apply(&event);
            out.push(Emitted { event, frame: None });
        }
    }
}

/// Takes out the ids of a message that was posted to the origin; its author stays.
fn forget_message(data: &mut EventData) {
    let (message_id, client_ids) = match data {
        EventData::TurnStarted(turn) => {
            turn.metadata.client_metadata = None;
            (&mut turn.metadata.message_id, &mut turn.metadata.client_ids)
        }
        EventData::ItemStarted(told) | EventData::ItemCompleted(told) => match told.metadata.as_deref_mut() {
            Some(message) => {
                message.client_metadata = None;
                (&mut message.message_id, &mut message.client_ids)
            }
            None => return,
        },
        _ => return,
    };
    *message_id = None;
    client_ids.clear();
}

/// Ids of the origin hold its seed, or another one if they were imported. The marks keep them apart from those that
/// the fork makes itself.
fn renamed(id: &str, from: &str, to: &str) -> String {
    let (prefix, rest) = id.split_once('_').unwrap_or(("", id));
    match rest.strip_prefix(from) {
        Some(rest) => format!("{prefix}_{to}c{rest}"),
        None => format!("{prefix}_{to}i_{rest}"),
    }
}

fn blobs_of(session: &SessionId) -> String {
    format!("/v1/sessions/{session}/blobs/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_several_origins_never_meet() {
        assert_eq!(renamed("itm_a_5", "a", "b"), "itm_bc_5");
        assert_eq!(renamed("itm_bc_5", "b", "d"), "itm_dcc_5");
        assert_eq!(renamed("itm_b_5", "b", "d"), "itm_dc_5");
        assert_eq!(renamed("itm_a_5", "b", "d"), "itm_di_a_5", "imported into b");
        assert_eq!(renamed("itm_di_a_5", "d", "e"), "itm_eci_a_5");
    }
}

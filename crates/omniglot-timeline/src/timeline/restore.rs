//! Bringing a Timeline back from what was stored: the snapshot, and the events of the open turn.
//!
//! The keys of the agent run are gone with it, so what was open is keyed by its id; it can only be closed.

use omniglot_schema::{
    ContentPart, EventData, ItemKind, ItemRole, PendingRequest, ResolvedBy, StatusLabel, UniversalEvent,
    UniversalItem,
};

use super::bodies::Content;
use super::fates::{Call, Half, OpenItem, Slot};
use super::requests::{InboundRequest, OpenRequest};
use super::turns::Turn;
use super::{Emitted, Identity, MOST_ITEM_BYTES, Stamp, Timeline};
use crate::draft::{Body, Failure, ItemKey, RequestKey, ToolCall, ToolResult, TurnEnd};
use crate::fold::Snapshot;

/// A Timeline that is told what happened before it was.
#[derive(Debug)]
pub struct Restoring(Timeline);

impl Restoring {
    /// The next event of the open turn.
    pub fn read(&mut self, event: &UniversalEvent) {
        let Self(timeline) = self;
        if event.sequence > timeline.fold.last_seq {
            timeline.fold.apply(event);
            timeline.stats.unparsed += u64::from(matches!(event.data, EventData::AgentUnparsed(_)));
        }
        timeline.absorb(event);
    }

    pub fn done(self) -> Timeline {
        let Self(mut timeline) = self;
        if timeline.turn.is_some() {
            timeline.reopen_requests();
        }
        timeline
    }
}

impl OpenItem {
    /// A text of an earlier version may be longer than the log takes again as one row: it is kept as far as that goes.
    fn extend_restored(&mut self, delta: &str) {
        if self.streamed.len().saturating_add(delta.len()) <= MOST_ITEM_BYTES && !self.is_full {
            self.streamed.push_str(delta);
        } else {
            self.is_full = true;
        }
    }
}

impl Timeline {
    /// `open` holds the events from the open turn's `turn.started` on; empty when no turn is open. The
    /// snapshot may be older than the last of them.
    pub fn restore(identity: Identity, snapshot: Snapshot, open: &[UniversalEvent]) -> Self {
        let mut restoring = Self::restoring(identity, snapshot);
        for event in open {
            restoring.read(event);
        }
        restoring.done()
    }

    /// As [`restore`](Self::restore), for a turn that is too long to be held at once.
    pub fn restoring(identity: Identity, snapshot: Snapshot) -> Restoring {
        Restoring(Self::from_snapshot(identity, snapshot))
    }

    /// Closes what was left open, most often by a daemon that died.
    pub fn recover(&mut self, failure: Failure, stamp: Stamp, out: &mut Vec<Emitted>) {
        self.close_turn(TurnEnd::failed(failure), ResolvedBy::Restart, stamp, out);
        self.forget_run(stamp, out);
    }

    fn absorb(&mut self, event: &UniversalEvent) {
        match &event.data {
            EventData::TurnStarted(turn) => {
                let id = turn.turn_id.clone();
                let started = event.time;
                let (for_requests, refused_requests) = (false, false);
                self.turn = Some(Turn {
                    id,
                    started,
                    ticks: None,
                    failure: None,
                    for_requests,
                    refused_requests,
                    user_item: None,
                });
            }
            EventData::TurnEnded(_) => {
                self.turn = None;
                self.fates.clear();
            }
            EventData::ItemStarted(data) => self.absorb_start(&data.item, event.sequence),
            EventData::ItemDelta(data) => {
                if let Some(open) = self.fates.open_item_mut(&data.item_id) {
                    open.extend_restored(&data.delta);
                }
            }
            EventData::ItemCompleted(data) => {
                self.fates.end_item(&data.item.item_id);
            }
            EventData::SessionStarted(_)
            | EventData::SessionEnded(_)
            | EventData::SessionUpdated(_)
            | EventData::Error(_)
            | EventData::PermissionRequested(_)
            | EventData::PermissionResolved(_)
            | EventData::QuestionRequested(_)
            | EventData::QuestionResolved(_)
            | EventData::AgentUnparsed(_) => {}
        }
    }

    fn absorb_start(&mut self, item: &UniversalItem, since: u64) {
        if crate::fold::is_late(item) {
            // The fold holds it.
            return;
        }
        let mut at = (ItemKey(item.item_id.to_string()), Half::Item);
        if let Some(ContentPart::ToolCall { call_id, .. }) = item.content.first() {
            let call = Call {
                id: call_id.clone(),
                item: item.item_id.clone(),
                since,
                native_id: item.native_item_id.clone(),
                parent: item.parent_id.clone(),
                rejected: false,
            };
            self.fates.begin_call(&at.0, call);
        }
        if let Some(ContentPart::ToolResult { call_id, .. }) = item.content.first()
            && let Some(call) = self.fates.call_named(call_id)
        {
            at = (call.clone(), Half::Result);
        }
        let open = OpenItem {
            id: item.item_id.clone(),
            since,
            native_id: item.native_item_id.clone(),
            parent: item.parent_id.clone(),
            body: content_of(item),
            streamed: String::new(),
            is_full: false,
        };
        let (key, half) = &at;
        self.fates.begin(Slot { key, half: *half }, open);
    }

    fn reopen_requests(&mut self) {
        for (id, pending) in self.fold.pending.iter() {
            let asked = match pending.clone() {
                PendingRequest::Permission(data) => InboundRequest::Permission(data),
                PendingRequest::Question(data) => InboundRequest::Question(data),
            };
            self.requests.insert(RequestKey(id.clone()), OpenRequest { asked, made_call: None });
        }
    }
}

fn content_of(item: &UniversalItem) -> Content {
    let parts = item.content.clone();
    match (item.kind, parts.first()) {
        (ItemKind::ToolCall, Some(ContentPart::ToolCall { name, arguments, title, kind, subject, .. })) => {
            Content::Call(ToolCall {
                name: name.clone(),
                arguments: arguments.clone(),
                title: title.clone(),
                kind: *kind,
                subject: subject.clone(),
            })
        }
        (ItemKind::ToolResult, Some(ContentPart::ToolResult { .. })) => {
            Content::Result(ToolResult::default())
        }
        (ItemKind::Message, Some(ContentPart::Reasoning { visibility, .. })) => {
            Body::Reasoning { text: String::new(), visibility: *visibility }.into()
        }
        (ItemKind::Message, _) => {
            Body::Message { role: item.role.unwrap_or(ItemRole::Assistant), parts }.into()
        }
        (ItemKind::Status, Some(ContentPart::Status { label, detail, usage })) => {
            let detail = detail.clone();
            match StatusLabel::of_label(label).unwrap_or(StatusLabel::Warning) {
                StatusLabel::Step => Body::Step { detail, usage: usage.clone() }.into(),
                label => Body::Status { label, detail }.into(),
            }
        }
        (ItemKind::System, _) => Body::System { parts }.into(),
        (ItemKind::ToolCall | ItemKind::ToolResult | ItemKind::Status | ItemKind::Unknown, _) => {
            Body::Unknown { parts }.into()
        }
    }
}

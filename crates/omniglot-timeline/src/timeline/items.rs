//! Items: started, extended, completed, each end once (T5 to T9). A call's two items are driven by `calls`.

use omniglot_schema::{
    CallId, DeltaPart, EventData, ItemDeltaData, ItemEventData, ItemId, ItemRole, ItemStatus,
};

use super::bodies::{Content, Fit, fit, split_streamed};
use super::fates::{Call, OpenItem, Slot};
use super::{Emitted, Stamp, Timeline};
use crate::draft::{Body, DropReason, ItemEnd, ItemKey, ItemStart, Outcome, ToolResult};

impl Timeline {
    pub(super) fn item_started(&mut self, start: ItemStart, stamp: Stamp, out: &mut Vec<Emitted>) {
        let ItemStart { key, native_id, parent, body } = start;
        self.started(&key, native_id, parent.as_ref(), body.into(), stamp, out);
    }

    pub(super) fn item_delta(&mut self, key: &ItemKey, delta: String, stamp: Stamp, out: &mut Vec<Emitted>) {
        let stub = || Body::Message { role: ItemRole::Assistant, parts: vec![] }.into();
        self.extended(key, delta, stub, stamp, out);
    }

    pub(super) fn item_completed(&mut self, end: ItemEnd, stamp: Stamp, out: &mut Vec<Emitted>) {
        let ItemEnd { key, outcome, body } = end;
        self.completed(&key, outcome, body.map(Content::Plain), stamp, out);
    }

    pub(super) fn started(
        &mut self,
        key: &ItemKey,
        native_id: Option<String>,
        parent: Option<&ItemKey>,
        body: Content,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let at = Slot::item(key);
        if self.fates.is_open(at) || self.fates.is_late(at) || self.fates.is_full(at) {
            return self.dropped(DropReason::Duplicate);
        }
        if self.comes_late(at, &body) {
            return self.begun_late(at, body, stamp, out);
        }
        self.admit(at, native_id, parent, body, stamp, out);
    }

    /// Whether an item has no place in the running turn.
    fn comes_late(&self, at: Slot<'_>, body: &Content) -> bool {
        self.fates.ended(at).is_some() || (self.turn.is_none() && body.needs_turn())
    }

    /// Begins an item that has its place; outside a turn it is complete at once.
    fn admit(
        &mut self,
        at: Slot<'_>,
        native_id: Option<String>,
        parent: Option<&ItemKey>,
        body: Content,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let parent = parent.and_then(|key| self.fates.item(key)).cloned();
        if self.turn.is_none() {
            return self.whole_item(body, native_id, parent, stamp, out);
        }
        self.open_item(at, native_id, parent, body, stamp, out);
    }

    pub(super) fn open_item(
        &mut self,
        at: Slot<'_>,
        native_id: Option<String>,
        parent: Option<ItemId>,
        body: Content,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let id = ItemId(self.mint("itm"));
        if let Content::Call(_) = body {
            let (call, since) = (CallId(self.mint("call")), self.next_seq());
            let (native_id, parent) = (native_id.clone(), parent.clone());
            let call = Call { id: call, item: id.clone(), since, native_id, parent, rejected: false };
            self.fates.begin_call(at.key, call);
        }
        let (body, text) = split_streamed(body);
        self.announce(at, id, native_id, parent, body, stamp, out);
        if !text.is_empty() {
            self.extend(at, text, stamp.synthetic(), out);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of an open item, and where they go")]
    fn announce(
        &mut self,
        at: Slot<'_>,
        id: ItemId,
        native_id: Option<String>,
        parent: Option<ItemId>,
        body: Content,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let since = self.next_seq();
        let open = OpenItem { id, since, native_id, parent, body, streamed: String::new(), is_full: false };
        let item = self.item(at.key, &open, ItemStatus::InProgress, open.body.clone());
        self.fates.begin(at, open);
        let metadata = self.steering.get(at.key).cloned().map(Box::new);
        self.emit(EventData::ItemStarted(ItemEventData { item, metadata }), stamp, out);
    }

    /// Extends an item; one that nobody has started begins as `stub`.
    pub(super) fn extended(
        &mut self,
        key: &ItemKey,
        delta: String,
        stub: impl FnOnce() -> Content,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        if delta.is_empty() {
            return self.dropped(DropReason::Internal);
        }
        let at = Slot::item(key);
        if self.fates.is_full(at) {
            return self.dropped(DropReason::TooLong);
        }
        if !self.fates.is_open(at) {
            if self.turn.is_none() || self.fates.is_known(at) {
                return self.late_delta(at, delta, stamp, out);
            }
            self.open_item(at, None, None, stub(), stamp.synthetic(), out);
        }
        self.extend(at, delta, stamp, out);
    }

    pub(super) fn extend(&mut self, at: Slot<'_>, delta: String, stamp: Stamp, out: &mut Vec<Emitted>) {
        let delta = self.within_bounds(at, delta);
        if !delta.is_empty() {
            self.append(at, delta, stamp, out);
        }
        self.end_full(at, stamp, out);
    }

    fn append(&mut self, at: Slot<'_>, delta: String, stamp: Stamp, out: &mut Vec<Emitted>) {
        let Some(open) = self.fates.open_mut(at) else { return };
        open.streamed.push_str(&delta);
        let part_type = match open.body {
            Content::Plain(Body::Reasoning { .. }) => Some(DeltaPart::Reasoning),
            Content::Plain(_) => None,
            Content::Call(_) => Some(DeltaPart::ToolInput),
            Content::Result(_) => Some(DeltaPart::ToolOutput),
        };
        let data = ItemDeltaData {
            item_id: open.id.clone(),
            native_item_id: open.native_id.clone(),
            delta,
            part_type,
        };
        self.emit(EventData::ItemDelta(data), stamp, out);
    }

    pub(super) fn completed(
        &mut self,
        key: &ItemKey,
        outcome: Outcome,
        body: Option<Content>,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let at = Slot::item(key);
        if self.fates.is_known(at) {
            return self.end_known(at, outcome, body, stamp, out);
        }
        let Some(body) = body else { return self.dropped(DropReason::Superseded) };
        if self.comes_late(at, &body) {
            return self.told_late(at, body, stamp, out);
        }
        // Its start is a stub of ours; an item that is complete at once has none.
        let started = if self.turn.is_some() { stamp.synthetic() } else { stamp };
        self.admit(at, None, None, body.clone(), started, out);
        if self.fates.is_open(at) {
            self.close_item(at, outcome, Some(body), stamp, out);
        }
    }

    /// Ends an item that is open or late. One that has ended is told again only if its turn had cut it.
    pub(super) fn end_known(
        &mut self,
        at: Slot<'_>,
        outcome: Outcome,
        body: Option<Content>,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        if self.fates.is_open(at) {
            return self.close_item(at, outcome, body, stamp, out);
        }
        if self.fates.is_late(at) {
            return self.ended_late(at, body, stamp, out);
        }
        match body.filter(|_| self.fates.take_cut(at).is_some()) {
            Some(body) => self.told_late(at, body, stamp, out),
            None => self.dropped(DropReason::Duplicate),
        }
    }

    fn close_item(
        &mut self,
        at: Slot<'_>,
        outcome: Outcome,
        body: Option<Content>,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let Some(open) = self.fates.open(at) else { return };
        let fit = body.map(|body| fit(&open.body, &open.streamed, body));
        match fit {
            None => self.finish(at, outcome, None, stamp, out),
            Some(Fit::Extends { body, rest }) => {
                if !rest.is_empty() {
                    self.extend(at, rest, stamp.synthetic(), out);
                }
                self.finish(at, outcome, Some(body), stamp, out);
            }
            Some(Fit::Contradicts { body }) => {
                // What contradicts the item that was streamed is said anew, as an item of its own.
                let (parent, native_id) = (open.parent.clone(), open.native_id.clone());
                self.finish(at, Outcome::Failed, None, stamp.synthetic(), out);
                self.stats.rewritten += 1;
                self.open_item(at, native_id, parent, body.clone(), stamp.synthetic(), out);
                self.close_item(at, outcome, Some(body), stamp, out);
            }
        }
    }

    pub(super) fn finish(
        &mut self,
        at: Slot<'_>,
        outcome: Outcome,
        body: Option<Content>,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let Some(open) = self.fates.end(at) else { return };
        let status = match outcome {
            Outcome::Completed => ItemStatus::Completed,
            Outcome::Failed => ItemStatus::Failed,
        };
        let mut body = body.unwrap_or_else(|| open.body.clone());
        let is_cut = self.cut_to_bound(&open, &mut body);
        let status = if is_cut { ItemStatus::Failed } else { status };
        let is_result = matches!(body, Content::Result(_));
        if let Content::Result(ToolResult { goes_on: true, .. }) = body {
            // Its end may still be told.
            self.fates.cut(Slot::result(at.key), String::new());
        }
        let item = self.item(at.key, &open, status, body);
        let metadata = self.steering.remove(at.key).map(Box::new);
        self.emit(EventData::ItemCompleted(ItemEventData { item, metadata }), stamp, out);
        if is_cut && !is_result {
            self.tell_cut(open.id, stamp, out);
        }
    }

    /// An item that begins and ends at once, without deltas: not for what an assistant says.
    pub(super) fn whole_item(
        &mut self,
        body: impl Into<Content>,
        native_id: Option<String>,
        parent: Option<ItemId>,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let key = self.begin_whole(body, native_id, parent, stamp, out);
        self.end_whole(&key, stamp, out);
    }

    pub(super) fn begin_whole(
        &mut self,
        body: impl Into<Content>,
        native_id: Option<String>,
        parent: Option<ItemId>,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) -> ItemKey {
        let key = ItemKey(format!("whole:{}", self.next_seq()));
        let id = ItemId(self.mint("itm"));
        self.announce(Slot::item(&key), id, native_id, parent, body.into(), stamp, out);
        key
    }

    pub(super) fn end_whole(&mut self, key: &ItemKey, stamp: Stamp, out: &mut Vec<Emitted>) {
        self.finish(Slot::item(key), Outcome::Completed, None, stamp, out);
        self.fates.forget(key);
    }
}

//! Items: started, extended, completed, each end once, every call with one result (T5 to T9).

use omniglot_schema::{
    CallId, DeltaPart, EventData, ItemDeltaData, ItemEventData, ItemId, ItemRole, ItemStatus,
};

use super::bodies::{Fit, fit, needs_turn, settled, split_streamed};
use super::fates::{Call, OpenItem};
use super::{Emitted, Stamp, Timeline};
use crate::draft::{Body, DropReason, ItemEnd, ItemKey, ItemStart, Outcome, ToolCall, ToolResult};

impl Timeline {
    /// Whether what comes for this item comes after its end.
    fn is_late(&self, key: &ItemKey) -> bool {
        let fates = &self.fates;
        fates.is_late(key) || fates.ended(key).is_some() || fates.owed(key).is_some()
    }

    pub(super) fn item_started(&mut self, start: ItemStart, stamp: Stamp, out: &mut Vec<Emitted>) {
        if self.fates.is_open(&start.key) || self.fates.is_late(&start.key) {
            return self.dropped(DropReason::Duplicate);
        }
        if self.comes_late(&start.key, &start.body, stamp, out) {
            return self.begun_late(start, stamp, out);
        }
        self.admit(start, stamp, out);
    }

    /// Whether an item has no place in the running turn. A result that has one takes it.
    fn comes_late(&mut self, key: &ItemKey, body: &Body, stamp: Stamp, out: &mut Vec<Emitted>) -> bool {
        if self.fates.ended(key).is_some() || (self.turn.is_none() && needs_turn(body)) {
            return true;
        }
        let Body::ToolResult(result) = body else { return false };
        !self.claim_call(&result.call.clone(), stamp, out)
    }

    /// Begins an item that has its place; outside a turn it is complete at once.
    fn admit(&mut self, start: ItemStart, stamp: Stamp, out: &mut Vec<Emitted>) {
        let parent = start.parent.as_ref().and_then(|key| self.fates.item(key)).cloned();
        let parent = parent.or_else(|| self.inherited(&start.body));
        if self.turn.is_none() {
            return self.whole_item(start.body, start.native_id, parent, stamp, out);
        }
        let ItemStart { key, native_id, body, .. } = start;
        self.open_item(key, native_id, parent, body, stamp, out);
    }

    /// A result belongs where its call belongs.
    fn inherited(&self, body: &Body) -> Option<ItemId> {
        let Body::ToolResult(result) = body else { return None };
        self.fates.call(&result.call)?.parent.clone()
    }

    fn open_item(
        &mut self,
        key: ItemKey,
        native_id: Option<String>,
        parent: Option<ItemId>,
        body: Body,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let id = ItemId(self.mint("itm"));
        if let Body::ToolCall(_) = body {
            let call = CallId(self.mint("call"));
            let (native_id, parent) = (native_id.clone(), parent.clone());
            let (item, since) = (id.clone(), self.next_seq());
            let call = Call { id: call, item, since, native_id, parent, has_result: false, rejected: false };
            self.fates.begin_call(&key, call);
        }
        let (body, text) = split_streamed(body);
        self.announce(key.clone(), id, native_id, parent, body, stamp, out);
        if !text.is_empty() {
            self.extend(&key, text, stamp.synthetic(), out);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of an open item, and where they go")]
    fn announce(
        &mut self,
        key: ItemKey,
        id: ItemId,
        native_id: Option<String>,
        parent: Option<ItemId>,
        body: Body,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let since = self.next_seq();
        let open = OpenItem { id, since, native_id, parent, body, streamed: String::new() };
        let item = self.item(&key, &open, ItemStatus::InProgress, open.body.clone());
        self.fates.begin(key, open);
        self.emit(EventData::ItemStarted(ItemEventData { item }), stamp, out);
    }

    pub(super) fn item_delta(&mut self, key: &ItemKey, delta: String, stamp: Stamp, out: &mut Vec<Emitted>) {
        if delta.is_empty() {
            return self.dropped(DropReason::Internal);
        }
        if !self.fates.is_open(key) {
            if self.turn.is_none() || self.is_late(key) {
                return self.late_delta(key, delta, stamp, out);
            }
            let body = Body::Message { role: ItemRole::Assistant, parts: vec![] };
            self.open_item(key.clone(), None, None, body, stamp.synthetic(), out);
        }
        self.extend(key, delta, stamp, out);
    }

    fn extend(&mut self, key: &ItemKey, delta: String, stamp: Stamp, out: &mut Vec<Emitted>) {
        let Some(open) = self.fates.open_mut(key) else { return };
        open.streamed.push_str(&delta);
        let part_type = match open.body {
            Body::Reasoning { .. } => Some(DeltaPart::Reasoning),
            Body::ToolCall(_) => Some(DeltaPart::ToolInput),
            Body::ToolResult(_) => Some(DeltaPart::ToolOutput),
            Body::Message { .. }
            | Body::System { .. }
            | Body::Status { .. }
            | Body::Step { .. }
            | Body::Unknown { .. } => None,
        };
        let data = ItemDeltaData {
            item_id: open.id.clone(),
            native_item_id: open.native_id.clone(),
            delta,
            part_type,
        };
        self.emit(EventData::ItemDelta(data), stamp, out);
    }

    pub(super) fn item_completed(&mut self, end: ItemEnd, stamp: Stamp, out: &mut Vec<Emitted>) {
        let ItemEnd { key, outcome, body } = end;
        let body = body.map(|body| settled(body, outcome));
        if self.fates.is_open(&key) {
            return self.close_item(&key, outcome, body, stamp, out);
        }
        if self.fates.is_late(&key) {
            return self.ended_late(&key, body, stamp, out);
        }
        if self.fates.ended(&key).is_some() {
            return match body.filter(|_| self.fates.take_cut(&key).is_some()) {
                Some(body) => self.told_late(&key, body, stamp, out),
                None => self.dropped(DropReason::Duplicate),
            };
        }
        let Some(body) = body else { return self.dropped(DropReason::Superseded) };
        if self.comes_late(&key, &body, stamp, out) {
            return self.told_late(&key, body, stamp, out);
        }
        let start = ItemStart { key: key.clone(), native_id: None, parent: None, body: body.clone() };
        // Its start is a stub of ours; an item that is complete at once has none.
        let started = if self.turn.is_some() { stamp.synthetic() } else { stamp };
        self.admit(start, started, out);
        if self.fates.is_open(&key) {
            self.close_item(&key, outcome, Some(body), stamp, out);
        }
    }

    fn close_item(
        &mut self,
        key: &ItemKey,
        outcome: Outcome,
        body: Option<Body>,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let Some(open) = self.fates.open(key) else { return };
        let fit = body.map(|body| fit(&open.body, &open.streamed, body));
        match fit {
            None => self.finish(key, outcome, None, stamp, out),
            Some(Fit::Extends { body, rest }) => {
                if !rest.is_empty() {
                    self.extend(key, rest, stamp.synthetic(), out);
                }
                self.finish(key, outcome, Some(body), stamp, out);
            }
            Some(Fit::Contradicts { body }) => {
                let parent = open.parent.clone();
                let native_id = open.native_id.clone();
                self.finish(key, Outcome::Failed, None, stamp.synthetic(), out);
                self.stats.rewritten += 1;
                self.rewrite(key, native_id, parent, outcome, body, stamp, out);
            }
        }
    }

    /// Says anew, as an item of its own, what contradicts the item that was streamed.
    #[expect(clippy::too_many_arguments, reason = "one call; a struct would only name them twice")]
    fn rewrite(
        &mut self,
        key: &ItemKey,
        native_id: Option<String>,
        parent: Option<ItemId>,
        outcome: Outcome,
        body: Body,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        if let Body::ToolResult(result) = &body
            && !self.claim_call(&result.call.clone(), stamp, out)
        {
            return self.told_late(key, body, stamp, out);
        }
        self.open_item(key.clone(), native_id, parent, body.clone(), stamp.synthetic(), out);
        self.close_item(key, outcome, Some(body), stamp, out);
    }

    pub(super) fn finish(
        &mut self,
        key: &ItemKey,
        outcome: Outcome,
        body: Option<Body>,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let Some(open) = self.fates.end(key) else { return };
        let status = match outcome {
            Outcome::Completed => ItemStatus::Completed,
            Outcome::Failed => ItemStatus::Failed,
        };
        let body = settled(body.unwrap_or_else(|| open.body.clone()), outcome);
        if let Body::ToolResult(ToolResult { call: key, goes_on: true, .. }) = &body
            && let Some(item) = self.fates.call(key).map(|call| call.item.clone())
        {
            self.fates.outlasts(key, item);
        }
        let item = self.item(key, &open, status, body);
        self.emit(EventData::ItemCompleted(ItemEventData { item }), stamp, out);
    }

    /// An item that begins and ends at once, without deltas: not for what an assistant says.
    pub(super) fn whole_item(
        &mut self,
        body: Body,
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
        body: Body,
        native_id: Option<String>,
        parent: Option<ItemId>,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) -> ItemKey {
        let key = ItemKey(format!("whole:{}", self.next_seq()));
        let id = ItemId(self.mint("itm"));
        self.announce(key.clone(), id, native_id, parent, body, stamp, out);
        key
    }

    pub(super) fn end_whole(&mut self, key: &ItemKey, stamp: Stamp, out: &mut Vec<Emitted>) {
        self.finish(key, Outcome::Completed, None, stamp, out);
        self.fates.forget(key);
    }

    /// Makes sure that `call` is there and complete, and takes the place of its one result.
    fn claim_call(&mut self, call: &ItemKey, stamp: Stamp, out: &mut Vec<Emitted>) -> bool {
        if self.fates.call(call).is_none() {
            if self.fates.owed(call).is_some() || self.fates.item(call).is_some() {
                return false;
            }
            let body = Body::ToolCall(ToolCall::made("unknown"));
            self.open_item(call.clone(), None, None, body, stamp.synthetic(), out);
        }
        if self.fates.is_open(call) {
            self.finish(call, Outcome::Completed, None, stamp.synthetic(), out);
        }
        match self.fates.call_mut(call) {
            Some(call) if !call.has_result => {
                call.has_result = true;
                true
            }
            _ => false,
        }
    }
}

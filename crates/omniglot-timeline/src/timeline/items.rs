//! Items: started, extended, completed, each end once, every call with one result (T5 to T9).

use omniglot_schema::{
    CallId, ContentPart, DeltaPart, EventData, ItemDeltaData, ItemEventData, ItemId, ItemRole, ItemStatus,
    StatusLabel, UniversalItem,
};

use super::bodies::{Fit, fit, json_text, needs_turn, plain_text, split_streamed, with_text};
use super::{Emitted, Stamp, Timeline};
use crate::draft::{Body, DropReason, ItemEnd, ItemKey, ItemStart, Outcome, ToolResult};

#[derive(Debug)]
pub(super) struct OpenItem {
    pub(super) id: ItemId,
    pub(super) native_id: Option<String>,
    pub(super) parent: Option<ItemId>,
    pub(super) body: Body,
    /// The deltas so far.
    pub(super) streamed: String,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: CallId,
    pub(super) item: ItemId,
    pub(super) native_id: Option<String>,
    pub(super) parent: Option<ItemId>,
    pub(super) has_result: bool,
    /// Somebody rejected it: an agent may never mention it again.
    pub(super) rejected: bool,
}

impl Timeline {
    pub(super) fn item_id(&self, key: &ItemKey) -> Option<ItemId> {
        let open = self.items.get(key).map(|open| &open.id);
        open.or_else(|| self.ended_item(key)).or_else(|| self.lasting.get(key)).cloned()
    }

    fn ended_item(&self, key: &ItemKey) -> Option<&ItemId> {
        self.closed.get(key).or_else(|| self.earlier.get(key))
    }

    pub(super) fn item_started(&mut self, start: ItemStart, stamp: Stamp, out: &mut Vec<Emitted>) {
        if self.items.contains_key(&start.key) {
            return self.dropped(DropReason::Duplicate);
        }
        if self.ended_item(&start.key).is_some() || (self.turn.is_none() && needs_turn(&start.body)) {
            return self.late(&start.key, &plain_text(&start.body), stamp, out);
        }
        if let Body::ToolResult(result) = &start.body
            && !self.claim_call(&result.call.clone(), stamp, out)
        {
            return self.late(&start.key, &plain_text(&start.body), stamp, out);
        }
        let parent =
            start.parent.as_ref().and_then(|key| self.item_id(key)).or_else(|| self.inherited(&start.body));
        if self.turn.is_none() {
            return self.whole_item(start.body, start.native_id, parent, stamp, out);
        }
        let ItemStart { key, native_id, body, .. } = start;
        self.open_item(key, native_id, parent, body, stamp, out);
    }

    /// A result belongs where its call belongs.
    fn inherited(&self, body: &Body) -> Option<ItemId> {
        let Body::ToolResult(result) = body else { return None };
        self.calls.get(&result.call)?.parent.clone()
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
        if let Body::ToolCall { .. } = body {
            let call = CallId(self.mint("call"));
            let (native_id, parent) = (native_id.clone(), parent.clone());
            self.calls.insert(
                key.clone(),
                Call { id: call, item: id.clone(), native_id, parent, has_result: false, rejected: false },
            );
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
        let open = OpenItem { id, native_id, parent, body, streamed: String::new() };
        let item = self.item(&key, &open, ItemStatus::InProgress, None);
        self.items.insert(key, open);
        self.emit(EventData::ItemStarted(ItemEventData { item }), stamp, out);
    }

    pub(super) fn item_delta(&mut self, key: &ItemKey, delta: String, stamp: Stamp, out: &mut Vec<Emitted>) {
        if delta.is_empty() {
            return self.dropped(DropReason::Internal);
        }
        if !self.items.contains_key(key) {
            if self.ended_item(key).is_some() || self.turn.is_none() {
                return self.late(key, &delta, stamp, out);
            }
            let body = Body::Message { role: ItemRole::Assistant, parts: vec![] };
            self.open_item(key.clone(), None, None, body, stamp.synthetic(), out);
        }
        self.extend(key, delta, stamp, out);
    }

    fn extend(&mut self, key: &ItemKey, delta: String, stamp: Stamp, out: &mut Vec<Emitted>) {
        let Some(open) = self.items.get_mut(key) else { return };
        open.streamed.push_str(&delta);
        let part_type = match open.body {
            Body::Reasoning { .. } => Some(DeltaPart::Reasoning),
            Body::ToolCall { .. } => Some(DeltaPart::ToolInput),
            Body::ToolResult(_) => Some(DeltaPart::ToolOutput),
            Body::Message { .. } | Body::System { .. } | Body::Status { .. } | Body::Unknown { .. } => None,
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
        if self.items.contains_key(&key) {
            return self.close_item(&key, outcome, body, stamp, out);
        }
        if self.ended_item(&key).is_some() {
            return match body.filter(|_| self.cut.remove(&key)) {
                Some(body) => self.late(&key, &plain_text(&body), stamp, out),
                None => self.dropped(DropReason::Duplicate),
            };
        }
        let Some(body) = body else { return self.dropped(DropReason::Superseded) };
        let start = ItemStart { key: key.clone(), native_id: None, parent: None, body: body.clone() };
        self.item_started(start, stamp.synthetic(), out);
        if self.items.contains_key(&key) {
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
        let Some(open) = self.items.get(key) else { return };
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
            return self.late(key, &plain_text(&body), stamp, out);
        }
        self.open_item(key.clone(), native_id, parent, body.clone(), stamp.synthetic(), out);
        self.close_item(key, outcome, Some(body), stamp, out);
    }

    fn finish(
        &mut self,
        key: &ItemKey,
        outcome: Outcome,
        body: Option<Body>,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let Some(open) = self.items.shift_remove(key) else { return };
        let status = match outcome {
            Outcome::Completed => ItemStatus::Completed,
            Outcome::Failed => ItemStatus::Failed,
        };
        if let Some(Body::ToolResult(ToolResult { call: key, goes_on: true, .. })) = &body
            && let Some(call) = self.calls.get(key)
        {
            self.lasting.insert(key.clone(), call.item.clone());
        }
        let item = self.item(key, &open, status, body);
        self.closed.insert(key.clone(), open.id);
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
        let key = ItemKey(format!("whole:{}", self.next_seq()));
        let id = ItemId(self.mint("itm"));
        self.announce(key.clone(), id, native_id, parent, body, stamp, out);
        self.finish(&key, Outcome::Completed, None, stamp, out);
        self.closed.remove(&key);
    }

    /// What an agent says about something that has ended (T9). Nothing reopens.
    fn late(&mut self, key: &ItemKey, text: &str, stamp: Stamp, out: &mut Vec<Emitted>) {
        if text.is_empty() {
            return self.dropped(DropReason::Superseded);
        }
        let parent = self.ended_item(key).cloned();
        let body = Body::Status { label: StatusLabel::Late, detail: Some(text.to_owned()) };
        self.whole_item(body, None, parent, stamp, out);
    }

    /// Makes sure that `call` is there and complete, and takes the place of its one result.
    fn claim_call(&mut self, call: &ItemKey, stamp: Stamp, out: &mut Vec<Emitted>) -> bool {
        if !self.calls.contains_key(call) {
            if self.item_id(call).is_some() {
                return false;
            }
            let body = Body::tool_call("unknown", "{}");
            self.open_item(call.clone(), None, None, body, stamp.synthetic(), out);
        }
        if self.items.contains_key(call) {
            self.finish(call, Outcome::Completed, None, stamp.synthetic(), out);
        }
        match self.calls.get_mut(call) {
            Some(call) if !call.has_result => {
                call.has_result = true;
                true
            }
            _ => false,
        }
    }

    /// Ends everything that a turn leaves open, and gives every call its result.
    pub(super) fn close_items(&mut self, stamp: Stamp, out: &mut Vec<Emitted>) {
        self.cut.clear();
        for key in self.items.keys().cloned().collect::<Vec<_>>() {
            self.finish(&key, Outcome::Failed, None, stamp, out);
            self.cut.insert(key);
        }
        let unanswered = self.calls.iter().filter(|(_, call)| !call.has_result);
        let unanswered: Vec<_> = unanswered.map(|(key, call)| (key.clone(), call.rejected)).collect();
        for (call, rejected) in unanswered {
            let key = ItemKey(format!("{}:no-result", call.0));
            let output = if rejected { "rejected" } else { "the turn ended before this call had a result" };
            let result =
                ToolResult { output: output.to_owned(), is_error: Some(true), ..ToolResult::of(call) };
            let body = Some(Body::ToolResult(result));
            self.item_completed(ItemEnd { key, outcome: Outcome::Failed, body }, stamp, out);
        }
        self.calls.clear();
    }

    fn item(&self, key: &ItemKey, open: &OpenItem, status: ItemStatus, body: Option<Body>) -> UniversalItem {
        let body = body.unwrap_or_else(|| open.body.clone());
        let native_item_id = match &body {
            Body::ToolResult(result) => self.calls.get(&result.call).and_then(|call| call.native_id.clone()),
            _ => None,
        };
        UniversalItem {
            item_id: open.id.clone(),
            native_item_id: open.native_id.clone().or(native_item_id),
            parent_id: open.parent.clone(),
            kind: body.kind(),
            role: body.role(),
            status,
            content: self.content(key, body, &open.streamed, status),
        }
    }

    fn content(&self, key: &ItemKey, body: Body, streamed: &str, status: ItemStatus) -> Vec<ContentPart> {
        match body {
            Body::Message { parts, .. } | Body::System { parts } | Body::Unknown { parts } => {
                with_text(parts, streamed)
            }
            Body::Reasoning { visibility, .. } => {
                vec![ContentPart::Reasoning { text: streamed.to_owned(), visibility }]
            }
            Body::ToolCall { name, arguments, title } => {
                let arguments = match status {
                    ItemStatus::InProgress => arguments,
                    ItemStatus::Completed | ItemStatus::Failed => json_text(&arguments, streamed),
                };
                vec![ContentPart::ToolCall { name, arguments, call_id: self.call_id(key), title }]
            }
            Body::ToolResult(result) => {
                let ToolResult { call, output, is_error, exit_code, duration_ms, parts, goes_on: _ } = result;
                let output = if output.is_empty() { streamed.to_owned() } else { output };
                let call_id = self.call_id(&call);
                let mut content =
                    vec![ContentPart::ToolResult { call_id, output, is_error, exit_code, duration_ms }];
                content.extend(parts);
                content
            }
            Body::Status { label, detail } => {
                let label = format!("{}.{}", self.identity.agent, label.as_str());
                vec![ContentPart::Status { label, detail }]
            }
        }
    }

    fn call_id(&self, call: &ItemKey) -> CallId {
        self.calls.get(call).map_or_else(|| CallId(format!("call_{}_0", self.seed)), |call| call.id.clone())
    }
}

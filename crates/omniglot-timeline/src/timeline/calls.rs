//! Calls: each is two items, the call until its arguments are final, and then its one result (T5, T7).

use super::bodies::Content;
use super::closing::{GOES_ON, with_reason};
use super::fates::Slot;
use super::{Emitted, Stamp, Timeline};
use crate::draft::{CallEnd, CallStart, DropReason, ItemKey, Outcome, ToolCall, ToolResult};

impl Timeline {
    pub(super) fn call_started(&mut self, start: CallStart, stamp: Stamp, out: &mut Vec<Emitted>) {
        let CallStart { key, native_id, parent, call } = start;
        self.started(&key, native_id, parent.as_ref(), Content::Call(call), stamp, out);
    }

    pub(super) fn call_input(&mut self, key: &ItemKey, delta: String, stamp: Stamp, out: &mut Vec<Emitted>) {
        self.extended(key, delta, || Content::Call(ToolCall::made("unknown")), stamp, out);
    }

    pub(super) fn call_ready(
        &mut self,
        key: &ItemKey,
        call: Option<ToolCall>,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        self.completed(key, Outcome::Completed, call.map(Content::Call), stamp, out);
    }

    pub(super) fn call_output(&mut self, key: &ItemKey, delta: String, stamp: Stamp, out: &mut Vec<Emitted>) {
        let at = Slot::result(key);
        let is_open = self.fates.is_open(at) || self.begin_result(key, ToolResult::default(), stamp, out);
        match (is_open, delta.is_empty()) {
            (true, true) => {}
            (true, false) => self.extend(at, delta, stamp, out),
            (false, true) => self.dropped(DropReason::Superseded),
            (false, false) => self.late_delta(at, delta, stamp, out),
        }
    }

    pub(super) fn call_ended(&mut self, end: CallEnd, stamp: Stamp, out: &mut Vec<Emitted>) {
        let CallEnd { key, outcome, mut result } = end;
        if outcome == Outcome::Failed {
            // A result that failed is an error, also where its agent does not say so again.
            result.is_error.get_or_insert(true);
        }
        let at = Slot::result(&key);
        if result.goes_on && result.output.is_empty() {
            let streamed = self.fates.open(at).map_or("", |open| &open.streamed);
            result.output = with_reason(streamed, GOES_ON);
        }
        let body = Content::Result(result);
        if self.fates.is_known(at) || self.begin_result(&key, ToolResult::default(), stamp, out) {
            self.end_known(at, outcome, Some(body), stamp, out);
        } else {
            self.told_late(at, body, stamp, out);
        }
    }

    /// Gives a call a result of ours, if it has none.
    pub(super) fn whole_result(
        &mut self,
        call: &ItemKey,
        outcome: Outcome,
        result: ToolResult,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        if self.begin_result(call, result.clone(), stamp, out) {
            self.finish(Slot::result(call), outcome, Some(Content::Result(result)), stamp, out);
        }
    }

    /// Makes sure that the call is there and complete, and begins its one result in the running turn. Returns
    /// whether there was a place for it.
    fn begin_result(
        &mut self,
        key: &ItemKey,
        begun: ToolResult,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) -> bool {
        if self.turn.is_none() {
            return false;
        }
        let (call, result) = (Slot::item(key), Slot::result(key));
        if self.fates.call(key).is_none() {
            if self.fates.is_known(call) || self.fates.is_known(result) {
                return false;
            }
            let made = Content::Call(ToolCall::made("unknown"));
            self.open_item(call, None, None, made, stamp.synthetic(), out);
        }
        if self.fates.is_open(call) {
            self.finish(call, Outcome::Completed, None, stamp.synthetic(), out);
        }
        if self.fates.is_known(result) {
            return false;
        }
        // A result belongs where its call belongs.
        let parent = self.fates.call(key).and_then(|call| call.parent.clone());
        self.open_item(result, None, parent, Content::Result(begun), stamp, out);
        true
    }
}

//! The end of a turn for its items: what is open fails, and every call gets its one result (T5).

use omniglot_schema::ItemRole;

use super::fates::{Call, OpenItem};
use super::{Emitted, Stamp, Timeline};
use crate::draft::{Body, ItemEnd, ItemKey, Outcome, ToolResult};

const NO_RESULT: &str = "the turn ended before this call had a result";

impl Call {
    fn why_no_result(&self) -> &'static str {
        if self.rejected { "rejected" } else { NO_RESULT }
    }
}

impl Timeline {
    /// Ends everything that a turn leaves open, and gives every call its result.
    pub(super) fn close_items(&mut self, stamp: Stamp, out: &mut Vec<Emitted>) {
        self.fates.forget_cuts();
        for key in self.fates.all_open() {
            let Some(open) = self.fates.open(&key) else { continue };
            let (item, streamed, outcome) = (open.id.clone(), open.streamed.clone(), left_open(open));
            let body = self.unfinished(open);
            if let Some(Body::ToolResult(result)) = &body {
                self.fates.owe(&result.call, item.clone());
                self.fates.owe(&key, item);
            }
            self.finish(&key, outcome, body, stamp, out);
            self.fates.cut(&key, streamed);
        }
        let unanswered = self.fates.calls().filter(|(_, call)| !call.has_result);
        let mut unanswered: Vec<_> =
            unanswered.map(|(key, call)| (call.since, key.clone(), call.why_no_result())).collect();
        unanswered.sort_unstable_by_key(|(since, ..)| *since);
        for (_, call, reason) in unanswered {
            let key = ItemKey(format!("{}:no-result", call.0));
            let body = Some(cut_short(&ToolResult::of(call.clone()), "", reason));
            self.item_completed(ItemEnd { key: key.clone(), outcome: Outcome::Failed, body }, stamp, out);
            if let Some(item) = self.fates.item(&key).cloned() {
                self.fates.owe(&call, item);
            }
        }
        self.fates.forget_calls();
    }

    /// What is left of a result that its turn did not wait for.
    fn unfinished(&self, open: &OpenItem) -> Option<Body> {
        let Body::ToolResult(result) = &open.body else { return None };
        let reason = self.fates.call(&result.call).map_or(NO_RESULT, Call::why_no_result);
        Some(cut_short(result, &open.streamed, reason))
    }
}

/// What a person has said is whole, whoever has heard it.
fn left_open(open: &OpenItem) -> Outcome {
    let is_user = matches!(open.body, Body::Message { role: ItemRole::User, .. });
    if is_user { Outcome::Completed } else { Outcome::Failed }
}

/// A result that will not be whole: what there is of it, and why there is no more.
fn cut_short(result: &ToolResult, streamed: &str, reason: &str) -> Body {
    let shown = if result.output.is_empty() { streamed } else { &result.output };
    let line_end = if shown.is_empty() || shown.ends_with('\n') { "" } else { "\n" };
    let output = format!("{shown}{line_end}{reason}");
    Body::ToolResult(ToolResult { output, is_error: Some(true), ..result.clone() })
}

//! The end of a turn for its items: what is open fails, and every call gets its one result (T5).

use omniglot_schema::ItemRole;

use super::items::{Call, OpenItem};
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
        self.cut.clear();
        for key in self.items.keys().cloned().collect::<Vec<_>>() {
            let body = self.items.get(&key).and_then(|open| self.unfinished(open));
            if let Some(Body::ToolResult(result)) = &body {
                let item = self.item_id(&key);
                self.owed.extend(
                    item.iter()
                        .flat_map(|item| [(result.call.clone(), item.clone()), (key.clone(), item.clone())]),
                );
            }
            let streamed = self.items.get(&key).map(|open| open.streamed.clone()).unwrap_or_default();
            let outcome = self.items.get(&key).map_or(Outcome::Failed, left_open);
            self.finish(&key, outcome, body, stamp, out);
            self.cut.insert(key, streamed);
        }
        let unanswered = self.calls.iter().filter(|(_, call)| !call.has_result);
        let unanswered: Vec<_> = unanswered.map(|(key, call)| (key.clone(), call.why_no_result())).collect();
        for (call, reason) in unanswered {
            let key = ItemKey(format!("{}:no-result", call.0));
            let body = Some(cut_short(&ToolResult::of(call.clone()), "", reason));
            self.item_completed(ItemEnd { key: key.clone(), outcome: Outcome::Failed, body }, stamp, out);
            self.owed.extend(self.item_id(&key).map(|item| (call, item)));
        }
        self.calls.clear();
    }

    /// What is left of a result that its turn did not wait for.
    fn unfinished(&self, open: &OpenItem) -> Option<Body> {
        let Body::ToolResult(result) = &open.body else { return None };
        let reason = self.calls.get(&result.call).map_or(NO_RESULT, Call::why_no_result);
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

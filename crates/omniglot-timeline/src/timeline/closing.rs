//! The end of a turn for its items: what is open fails, and every call gets its one result (T5).

use super::bodies::Content;
use super::fates::{Call, Half, OpenItem, Slot};
use super::{Emitted, Stamp, Timeline};
use crate::draft::{ItemKey, Outcome, ToolResult};

/// The output of a call that goes on.
pub(super) const GOES_ON: &str = "it goes on in the background";

const NO_RESULT: &str = "the turn ended before this call had a result";

impl Call {
    pub(super) fn why_no_result(&self) -> &'static str {
        if self.rejected { "rejected" } else { NO_RESULT }
    }
}

impl Timeline {
    /// Ends everything that a turn leaves open, and gives every call its result.
    pub(super) fn close_items(&mut self, stamp: Stamp, out: &mut Vec<Emitted>) {
        self.fates.forget_cuts();
        for (key, half) in self.fates.all_open() {
            let at = Slot { key: &key, half };
            let Some(open) = self.fates.open(at) else { continue };
            let (streamed, outcome) = (open.streamed.clone(), left_open(open));
            let rest = self.unfinished(&key, open);
            self.finish(at, outcome, rest, stamp, out);
            self.fates.cut(at, if half == Half::Item { streamed } else { String::new() });
        }
        for (call, reason) in self.fates.unanswered_calls() {
            let result = cut_short(&ToolResult::default(), "", reason);
            self.whole_result(&call, Outcome::Failed, result, stamp, out);
            self.fates.cut(Slot::result(&call), String::new());
        }
        self.fates.forget_calls();
    }

    /// Returns what is left of a result that its turn did not wait for.
    fn unfinished(&self, key: &ItemKey, open: &OpenItem) -> Option<Content> {
        let Content::Result(result) = &open.body else { return None };
        let reason = self.fates.call(key).map_or(NO_RESULT, Call::why_no_result);
        Some(Content::Result(cut_short(result, &open.streamed, reason)))
    }
}

/// Returns the outcome of an item that its turn leaves open: a user's message is always complete.
fn left_open(open: &OpenItem) -> Outcome {
    if open.is_of_user() { Outcome::Completed } else { Outcome::Failed }
}

/// A result that will not be whole: what there is of it, and why there is no more.
fn cut_short(result: &ToolResult, streamed: &str, reason: &str) -> ToolResult {
    let shown = if result.output.is_empty() { streamed } else { &result.output };
    ToolResult { output: with_reason(shown, reason), is_error: Some(true), ..result.clone() }
}

/// Returns the output so far, and in a line of its own why there is no more.
pub(super) fn with_reason(shown: &str, reason: &str) -> String {
    let line_end = if shown.is_empty() || shown.ends_with('\n') { "" } else { "\n" };
    format!("{shown}{line_end}{reason}")
}

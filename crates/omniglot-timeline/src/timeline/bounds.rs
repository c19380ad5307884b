//! Bounds of what one session may keep: an item that grows for ever must end, and so must an agent that asks for ever.
//!
//! A text that is too long fails its item, which keeps what fits, and a status item says so; the deltas joined stay the
//! text (T6). Previews of a tool's input and output stop (T7), and the final ones are cut.

use omniglot_schema::{ItemId, StatusLabel};

use super::bodies::{Content, is_json, is_streamed};
use super::closing::with_reason;
use super::fates::{OpenItem, Slot};
use super::{Effect, Emitted, Stamp, Timeline};
use crate::draft::{Body, DropReason, Outcome, RequestKey, ToolCall, ToolResult};

/// The longest text that any configuration may allow an item: written as JSON, a character may take six bytes, and a
/// row of the database holds no more than 10⁹.
pub const MOST_ITEM_BYTES: usize = 128 << 20;

/// The most of late text: each delta of it outside a turn is written with all that came before.
const MOST_LATE_BYTES: usize = 1 << 20;

/// The most that one session may keep of an item, and may be asked at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The longest text of an item.
    pub item_bytes: usize,
    /// The number of permissions and questions that may be open.
    pub open_requests: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { item_bytes: 64 << 20, open_requests: 256 }
    }
}

impl Bounds {
    fn too_long(self) -> String {
        let most = self.item_bytes;
        format!(
            "this is longer than the {most} bytes that `limits.max_item_bytes` allows; the rest was dropped"
        )
    }

    pub(super) fn late_bytes(self) -> usize {
        self.item_bytes.min(MOST_LATE_BYTES)
    }
}

impl Timeline {
    /// Sets the bounds from now on.
    pub fn bound(&mut self, bounds: Bounds) {
        self.bounds = Bounds { item_bytes: bounds.item_bytes.min(MOST_ITEM_BYTES), ..bounds };
    }

    /// Returns the part of `delta` that its item may still take; the rest is dropped.
    pub(super) fn within_bounds(&mut self, at: Slot<'_>, mut delta: String) -> String {
        let most = self.bounds.item_bytes;
        let Some(open) = self.fates.open_mut(at) else { return delta };
        let room = most.saturating_sub(open.streamed.len());
        if delta.len() > room {
            open.is_full = true;
            delta.truncate(delta.floor_char_boundary(room));
            self.dropped(DropReason::TooLong);
        }
        delta
    }

    /// Fails an item whose text has reached its bound; more of it is dropped from now on.
    pub(super) fn end_full(&mut self, at: Slot<'_>, stamp: Stamp, out: &mut Vec<Emitted>) {
        let is_over = |open: &OpenItem| open.is_full && is_streamed(&open.body);
        if !self.fates.open(at).is_some_and(is_over) {
            return;
        }
        self.finish(at, Outcome::Failed, None, stamp.synthetic(), out);
        self.fates.fill(at);
    }

    /// Cuts the final content of an item to its bound. Returns whether it had to.
    pub(super) fn cut_to_bound(&self, open: &OpenItem, body: &mut Content) -> bool {
        let most = self.bounds.item_bytes;
        match body {
            Content::Call(ToolCall { arguments, .. }) => {
                let preview_is_all = open.is_full && !is_json(arguments);
                truncate(arguments, most) || preview_is_all
            }
            Content::Result(result) => {
                let ToolResult { output, stderr, is_error, .. } = result;
                let preview_is_all = open.is_full && output.is_empty() && stderr.is_none();
                if preview_is_all {
                    output.clone_from(&open.streamed);
                }
                let mut is_cut = truncate(output, most) || preview_is_all;
                is_cut |= stderr.as_mut().is_some_and(|stderr| truncate(stderr, most - output.len()));
                if is_cut {
                    *output = with_reason(output, &self.bounds.too_long());
                    *is_error = Some(true);
                }
                is_cut
            }
            Content::Plain(Body::Message { .. } | Body::Reasoning { .. }) => open.is_full,
            Content::Plain(_) => false,
        }
    }

    pub(super) fn has_too_many_requests(&self) -> bool {
        self.requests.len() >= self.bounds.open_requests
    }

    /// Refuses a request at once (T18): the first of a turn is told, all are counted.
    pub(super) fn refuse_request(&mut self, key: RequestKey, stamp: Stamp, out: &mut Vec<Emitted>) {
        self.dropped(DropReason::TooMany);
        self.effects.push(Effect::Withdraw(key));
        let is_told =
            self.turn.as_mut().is_none_or(|turn| std::mem::replace(&mut turn.refused_requests, true));
        if !is_told {
            let most = self.bounds.open_requests;
            let detail = format!(
                "the agent has more than the {most} open requests that `limits.open_requests` allows; others are refused"
            );
            self.status(StatusLabel::Warning, detail, stamp.synthetic(), out);
        }
    }

    /// Says of an item that it was cut; a result has said so itself.
    pub(super) fn tell_cut(&mut self, item: ItemId, stamp: Stamp, out: &mut Vec<Emitted>) {
        let body = Body::Status { label: StatusLabel::Warning, detail: Some(self.bounds.too_long()) };
        self.whole_item(body, None, Some(item), stamp.synthetic(), out);
    }
}

/// Cuts `text` to at most so many bytes. Returns whether it was longer.
fn truncate(text: &mut String, most: usize) -> bool {
    let is_longer = text.len() > most;
    if is_longer {
        text.truncate(text.floor_char_boundary(most));
    }
    is_longer
}

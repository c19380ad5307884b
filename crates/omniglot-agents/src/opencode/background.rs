//! Subagents in the background: they work while no turn is open, and their words wait for the next one (T5).
//!
//! OpenCode has them only where its variable `OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS` is set. When one is
//! done OpenCode begins a turn by itself, so nothing waits for ever.

use super::resync::HELD;
use super::wire::Event;
use super::{OpenCode, dropped};
use crate::contract::{DropReason, Output};

impl OpenCode {
    pub(crate) fn waits_for_turn(&self, event: &Event) -> bool {
        self.turn.is_none() && event.speaks_in().is_some_and(|session| self.is_in_background(session))
    }

    /// Whether it works on although the call that began it is over.
    fn is_in_background(&self, session: &str) -> bool {
        let call = self.children.get(session).and_then(|part| self.calls.get(part.as_ref()?));
        call.is_some_and(|call| call.has_succeeded())
    }

    pub(crate) fn keep_for_turn(&mut self, event: Event, out: &mut Vec<Output>) {
        if self.untold.len() >= HELD {
            return self.event(event, out);
        }
        self.untold.push(event);
        out.push(dropped(DropReason::Superseded));
    }

    /// A turn has begun.
    pub(crate) fn tell_background(&mut self, out: &mut Vec<Output>) {
        for event in std::mem::take(&mut self.untold) {
            self.event(event, out);
        }
    }
}

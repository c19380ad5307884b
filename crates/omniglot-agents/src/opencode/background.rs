//! Subagents in the background: they work while no turn is open, and their words wait for the next one (T5),
//! as does what OpenCode tells the model about them.
//!
//! OpenCode has them only where its variable `OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS` is set. When one is
//! done OpenCode begins a turn by itself, so nothing waits for ever.

use super::message::Author;
use super::resync::HELD;
use super::translate::Whose;
use super::wire::{Event, PartBody, PartUpdated};
use super::{OpenCode, dropped};
use crate::contract::{DropReason, Output};

impl OpenCode {
    pub(crate) fn waits_for_turn(&self, event: &Event) -> bool {
        self.turn.is_none()
            && (self.is_injected(event)
                || event.speaks_in().is_some_and(|session| self.is_in_background(session)))
    }

    /// Whether it is what OpenCode says to the model in the user's name: a turn of its own is about to begin.
    fn is_injected(&self, event: &Event) -> bool {
        let Event::PartUpdated(PartUpdated { head, body: PartBody::Text(text) }) = event else {
            return false;
        };
        text.synthetic
            && self.whose(&head.session) == Whose::Mine
            && self.authors.get(&head.message) == Some(&Author::User)
            && !self.copied.contains(&head.message)
            && head.message > self.floor
    }

    /// Whether it works on although the call that began it is over.
    pub(crate) fn is_in_background(&self, session: &str) -> bool {
        let call = self.children.get(session).and_then(|child| self.calls.get(child.part.as_ref()?));
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

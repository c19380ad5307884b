//! Calls of the model: each is told with its tokens when it is over, and becomes one completed status item.

use omniglot_timeline::{Body, ItemKey, ItemStart};

use super::Codex;
use super::wire::Tokens;
use crate::contract::Output;
use crate::conversation::items::whole;

impl Codex {
    /// A child agent may go on when the session's turn is over; what it uses then is of no turn.
    pub(crate) fn step(&mut self, call: Option<Tokens>, parent: Option<ItemKey>, out: &mut Vec<Output>) {
        let Some(tokens) = call.filter(|_| self.turns.is_running()) else { return };
        let body = Body::Step { detail: None, usage: Some(tokens.to_usage()) };
        whole(ItemStart { parent, ..self.steps.item("step", body) }, true, out);
    }
}

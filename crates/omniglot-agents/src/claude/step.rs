//! Calls of the model: `message_start` begins one and `message_stop` ends it, with the tokens that were told
//! meanwhile. Each call is one status item that is open as long as the call lasts.
//!
//! Only the main thread is streamed: of the calls of a subagent neither the end nor the tokens are told.

use omniglot_timeline::{Body, ItemEnd, ItemKey, ItemStart, Outcome};

use super::wire::Tokens;
use crate::contract::{Draft, Output};

/// A call of the model that has begun.
#[derive(Debug)]
pub(crate) struct Step {
    key: ItemKey,
    tokens: Tokens,
    stop_reason: Option<String>,
}

impl Step {
    pub(crate) fn start(
        number: u64,
        native_id: String,
        parent: Option<ItemKey>,
        tokens: Option<Tokens>,
        out: &mut Vec<Output>,
    ) -> Self {
        let key = ItemKey(format!("step:{number}"));
        let (native_id, body) = (Some(native_id), Body::Step { detail: None, usage: None });
        out.push(Draft::ItemStarted(ItemStart { key: key.clone(), native_id, parent, body }).into());
        Self { key, tokens: tokens.unwrap_or_default(), stop_reason: None }
    }

    /// Takes in what the end of the message tells, which may come in several parts.
    pub(crate) fn add(&mut self, tokens: Option<Tokens>, stop_reason: Option<String>) {
        self.tokens = tokens.unwrap_or_default().or(self.tokens);
        self.stop_reason = stop_reason.or(self.stop_reason.take());
    }

    pub(crate) fn tokens(&self) -> Tokens {
        self.tokens
    }

    pub(crate) fn complete(self, out: &mut Vec<Output>) {
        let body = Some(Body::Step { detail: self.stop_reason, usage: self.tokens.to_usage() });
        out.push(Draft::ItemCompleted(ItemEnd { key: self.key, outcome: Outcome::Completed, body }).into());
    }

    /// The call was cut, and the tokens that it had used until then are not counted.
    pub(crate) fn fail(self, out: &mut Vec<Output>) {
        let end = ItemEnd { key: self.key, outcome: Outcome::Failed, body: None };
        out.push(Draft::ItemCompleted(end).into());
    }
}

//! Commands of clients that wait until the agent has read their messages, mostly because its pipe is full.
//!
//! A command is answered when its messages are in the agent's pipe, and refused when they never will be. A
//! prompt that begins a turn is no such command: it stays in the queue until it is sent. Replies to requests of
//! the agent are left to `client_replies`.

use omniglot_store::Durability;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Answer, IdempotencyKey, InFlight, Posted, Session, Waiting, answer};
use crate::agent::{Agent, Sending, Ticket};
use crate::error::RuntimeError;

/// A command that is answered once its messages are sent.
#[derive(Debug)]
pub(super) struct Undelivered {
    pub(super) ticket: Ticket,
    pub(super) effect: Effect,
    pub(super) client: oneshot::Sender<Answer>,
}

/// The answer to a client whose command is done.
#[derive(Debug)]
pub(super) enum Effect {
    Done,
    Posted(Posted),
    /// The message goes into the turn that runs.
    Steered(Posted, Option<IdempotencyKey>),
    /// A reply was given to the agent.
    Replied,
}

impl Session {
    /// The fate of what a command has just told the agent.
    pub(super) fn sending(&self, effect: &Effect) -> Sending {
        match effect {
            Effect::Done | Effect::Posted(_) | Effect::Replied => Sending::Sent,
            Effect::Steered(..) => self.agent.as_ref().map_or(Sending::Lost, Agent::sending),
        }
    }

    /// Answers the client of a command whose messages have this fate.
    pub(super) fn finish(&mut self, sending: Sending, effect: Effect, client: oneshot::Sender<Answer>) {
        match (effect, sending) {
            (Effect::Replied, _) => self.await_client_reply(client),
            (effect, Sending::Waits(ticket)) => {
                self.undelivered.push(Undelivered { ticket, effect, client });
            }
            (effect, Sending::Sent) => self.done(effect, client),
            (_, Sending::Lost) => answer(client, Answer::Refused(lost(&self.spec.agent))),
        }
    }

    /// Answers the clients whose messages are sent, and refuses those whose messages never will be: the agent
    /// reads no more, or is gone.
    pub(super) fn settle_undelivered(&mut self) {
        for Undelivered { ticket, effect, client } in std::mem::take(&mut self.undelivered) {
            let sending = self.agent.as_ref().map_or(Sending::Lost, |agent| agent.sending_of(ticket));
            self.finish(sending, effect, client);
        }
        self.settle_client_replies();
    }

    /// Answers a client once everything so far is committed.
    pub(super) fn done(&mut self, effect: Effect, client: oneshot::Sender<Answer>) {
        let posted = match effect {
            Effect::Done | Effect::Replied => None,
            Effect::Posted(posted) => Some(posted),
            Effect::Steered(posted, key) => {
                self.remember_receipt(key, &posted);
                Some(posted)
            }
        };
        let key = self.step.receipt.as_ref().map(|receipt| receipt.key.clone());
        let commit = self.commit(Durability::Power);
        let waiting = Waiting { reply: Some(client), since: Instant::now(), posted, key };
        self.in_flight.push_back(InFlight { commit, waiting: Some(waiting) });
    }
}

fn lost(agent: &str) -> RuntimeError {
    RuntimeError::AgentFailed {
        agent: agent.to_owned(),
        message: "its process ended before it read the message".to_owned(),
        hint: None,
    }
}

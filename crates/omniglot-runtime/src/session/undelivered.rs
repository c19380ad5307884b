//! Commands of clients that wait until the agent has read their messages, mostly because its pipe is full.
//!
//! A command is answered when its messages are in the agent's pipe, and refused when they never will be. A
//! prompt that begins a turn is no such command: it stays in the queue until it is sent.

use omniglot_store::Durability;
use tokio::sync::oneshot;

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
    /// The request that was answered.
    Replied(String),
}

impl Session {
    /// The fate of what a command has just told the agent.
    pub(super) fn sending(&self, effect: &Effect) -> Sending {
        match effect {
            Effect::Done | Effect::Posted(_) => Sending::Sent,
            Effect::Steered(..) | Effect::Replied(_) => {
                self.agent.as_ref().map_or(Sending::Lost, Agent::sending)
            }
        }
    }

    /// Answers the client of a command whose messages have this fate.
    pub(super) fn finish(&mut self, sending: Sending, effect: Effect, client: oneshot::Sender<Answer>) {
        match sending {
            Sending::Waits(ticket) => self.undelivered.push(Undelivered { ticket, effect, client }),
            Sending::Sent => self.done(effect, client),
            Sending::Lost => answer(client, Answer::Refused(effect.lost(&self.spec.agent))),
        }
    }

    /// Answers the clients whose messages are sent, and refuses those whose messages never will be: the agent
    /// reads no more, or is gone.
    pub(super) fn settle_undelivered(&mut self) {
        for Undelivered { ticket, effect, client } in std::mem::take(&mut self.undelivered) {
            let sending = self.agent.as_ref().map_or(Sending::Lost, |agent| agent.sending_of(ticket));
            self.finish(sending, effect, client);
        }
    }

    /// Whether somebody's reply to this request is on its way to the agent.
    pub(super) fn is_being_answered(&self, id: &str) -> bool {
        let mut replied = self.undelivered.iter().map(|undelivered| &undelivered.effect);
        replied.any(|effect| matches!(effect, Effect::Replied(replied) if replied == id))
    }

    /// Answers a client once everything so far is committed.
    pub(super) fn done(&mut self, effect: Effect, client: oneshot::Sender<Answer>) {
        let posted = match effect {
            Effect::Done => None,
            Effect::Posted(posted) => Some(posted),
            Effect::Steered(posted, key) => {
                self.remember_receipt(key, &posted);
                Some(posted)
            }
            Effect::Replied(id) if self.timeline.fold().pending.contains_key(&id) => {
                return answer(
                    client,
                    Answer::Refused(not_taken(id, "the agent does not wait for it any more")),
                );
            }
            Effect::Replied(_) => None,
        };
        let key = self.step.receipt.as_ref().map(|receipt| receipt.key.clone());
        let commit = self.commit(Durability::Power);
        self.in_flight.push_back(InFlight { commit, waiting: Some(Waiting { reply: client, posted, key }) });
    }
}

impl Effect {
    fn lost(self, agent: &str) -> RuntimeError {
        match self {
            Self::Replied(id) => not_taken(id, "the agent reads nothing any more, and its process is ended"),
            Self::Done | Self::Posted(_) | Self::Steered(..) => RuntimeError::AgentFailed {
                agent: agent.to_owned(),
                message: "its process ended before it read the message".to_owned(),
                hint: None,
            },
        }
    }
}

pub(super) fn not_taken(id: String, why: &'static str) -> RuntimeError {
    RuntimeError::ReplyNotTaken { id, why }
}

//! Replies of clients on their way to the agent.
//!
//! ```text
//!            the agent has it, and the request is resolved by it
//!   Waits ────────────────────────────────────────────────────────▶ Taken: the client is answered
//!     │  the agent refuses it, or reads no more; or the request is resolved otherwise
//!     └─────────────────────────────────────────────────────────▶ Refused: the client gets a conflict
//! ```
//!
//! A reply whose request is resolved otherwise, by a cancel or the end of its turn, is called back if the agent
//! has nothing of it yet: an agent must not read an approval that the log says was rejected.

use omniglot_agents::{Command, CommandAnswer, Draft, RequestKey, StreamOutput};
use omniglot_schema::ResolvedBy;
use tokio::sync::oneshot;

use super::undelivered::Effect;
use super::{Answer, Session, answer};
use crate::agent::{Agent, Sending, Ticket, Translated};
use crate::error::RuntimeError;

#[derive(Debug)]
pub(super) struct ClientReply {
    id: String,
    key: RequestKey,
    /// Its messages to the agent are those behind the first ticket, up to the second.
    messages: (Ticket, Ticket),
    status: ReplyStatus,
    /// `None` within the command.
    client: Option<oneshot::Sender<Answer>>,
}

#[derive(Debug)]
enum ReplyStatus {
    Waits,
    Taken,
    Refused(String),
}

impl Session {
    /// Sends a reply; [`await_client_reply`](Self::await_client_reply) takes who gave it.
    pub(super) fn send_client_reply(&mut self, id: &str, key: &RequestKey, command: &Command) {
        let before = self.last_ticket();
        let (id, key, messages) = (id.to_owned(), key.clone(), (before, before));
        self.client_replies.push(ClientReply { id, key, messages, status: ReplyStatus::Waits, client: None });
        self.tell_agent(command);
        let last = self.last_ticket();
        for reply in self.client_replies.iter_mut().filter(|reply| reply.client.is_none()) {
            reply.messages = (before, last);
            if before == last && matches!(reply.status, ReplyStatus::Waits) {
                reply.status = ReplyStatus::Refused("the agent does not wait for it any more".to_owned());
            }
        }
    }

    fn last_ticket(&self) -> Ticket {
        self.agent.as_ref().map(Agent::ticket).unwrap_or_default()
    }

    pub(super) fn await_client_reply(&mut self, client: oneshot::Sender<Answer>) {
        if let Some(reply) = self.client_replies.iter_mut().find(|reply| reply.client.is_none()) {
            reply.client = Some(client);
        }
        self.settle_client_replies();
    }

    /// Whether somebody's reply to this request is on its way to the agent.
    pub(super) fn is_being_answered(&self, id: &str) -> bool {
        self.client_replies.iter().any(|reply| reply.id == id)
    }

    /// Notes which replies have resolved their requests, and which the agent has refused.
    pub(super) fn note_client_replies(&mut self, heard: &[Translated]) {
        let pending = &self.timeline.fold().pending;
        let waits = |reply: &&mut ClientReply| {
            matches!(reply.status, ReplyStatus::Waits) && pending.contains_key(&reply.id)
        };
        for reply in self.client_replies.iter_mut().filter(waits) {
            for Translated { stream, answers, .. } in heard {
                if stream.iter().any(|output| resolves(output, &reply.key)) {
                    reply.status = ReplyStatus::Taken;
                }
                for answer in answers {
                    if let CommandAnswer::ReplyRefused { key, message } = answer
                        && *key == reply.key
                    {
                        reply.status = ReplyStatus::Refused(message.clone());
                    }
                }
            }
        }
    }

    /// Calls back all replies of which the agent has nothing yet, and learns which of the others it has.
    pub(super) fn recall_client_replies(&mut self) {
        let Some(agent) = &mut self.agent else { return };
        self.client_replies.iter().for_each(|reply| agent.recall(reply.messages.0, reply.messages.1));
        let heard = agent.settle();
        self.absorb(heard);
    }

    /// Answers the clients whose replies are taken, or never will be.
    pub(super) fn settle_client_replies(&mut self) {
        for mut reply in std::mem::take(&mut self.client_replies) {
            let Some(client) = reply.client.take() else {
                self.client_replies.push(reply);
                continue;
            };
            match self.fate_of(&reply) {
                ReplyStatus::Waits => self.client_replies.push(ClientReply { client: Some(client), ..reply }),
                ReplyStatus::Taken => self.done(Effect::Replied, client),
                ReplyStatus::Refused(why) => answer(client, Answer::Refused(not_taken(reply.id, why))),
            }
        }
    }

    fn fate_of(&mut self, reply: &ClientReply) -> ReplyStatus {
        let (before, last) = reply.messages;
        match (&reply.status, &mut self.agent) {
            (ReplyStatus::Taken, _) => ReplyStatus::Taken,
            (ReplyStatus::Refused(why), _) => ReplyStatus::Refused(why.clone()),
            (ReplyStatus::Waits, Some(agent)) if agent.sending_of(last) != Sending::Lost => {
                if self.timeline.fold().pending.contains_key(&reply.id) {
                    return ReplyStatus::Waits;
                }
                agent.recall(before, last);
                ReplyStatus::Refused("the request was resolved before the agent had the reply".to_owned())
            }
            (ReplyStatus::Waits, _) => {
                ReplyStatus::Refused("the agent reads nothing any more, and its process is ended".to_owned())
            }
        }
    }
}

/// Whether an output resolves a request with our reply. The agent itself resolves requests that others answer.
fn resolves(output: &StreamOutput, request: &RequestKey) -> bool {
    matches!(output, StreamOutput::Draft(
            Draft::PermissionResolved { key, by, .. } | Draft::QuestionResolved { key, by, .. },
        ) if key == request && *by != ResolvedBy::Agent)
}

pub(super) fn not_taken(id: String, why: impl Into<String>) -> RuntimeError {
    RuntimeError::ReplyNotTaken { id, why: why.into() }
}

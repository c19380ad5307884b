//! One client: its capabilities, the sessions that it follows, and the pending requests in both directions.
//!
//! Holds no state of a session: every message about a session comes from its log (`stream`). The methods are
//! served elsewhere; this is the state that lasts from one message of the client to the next.

pub(crate) mod cursor;
mod following;
mod inquiring;
pub(crate) mod outbox;
mod readers;
pub(crate) mod registry;
pub(crate) mod stream;
mod waiting;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use agent_client_protocol_schema::v1::{ClientCapabilities, InitializeRequest, RequestId};
use jiff::Timestamp;
use omniglot_schema::{MessageId, SessionId};
use omniglot_store::SessionNo;
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

use crate::faces::acp::project::Audience;
use following::Following;
pub(crate) use following::From;
pub(crate) use inquiring::Inquired;
use outbox::{Outbound, Outbox, What};
use waiting::OutboundRequest;

/// The time by which the stream precedes a POST with the same answer.
const HEAD_START: Duration = Duration::from_millis(300);

pub(crate) struct Connection {
    pub(crate) id: String,
    /// The agent of its sessions that name none, once the client has chosen one.
    agent: OnceLock<String>,
    pub(crate) created: Timestamp,
    pub(crate) outbox: Outbox,
    /// The agent of the sessions by which the client was recognised, which it may have chosen before.
    recalled: OnceLock<String>,
    /// `None` until the handshake, which a client does not repeat after a restart of the daemon.
    client: Mutex<Option<InitializeRequest>>,
    following: Mutex<HashMap<SessionId, Following>>,
    /// Prompts that are not answered yet. Two clients under one name may use the same id.
    prompts: Mutex<HashMap<MessageId, Prompt>>,
    /// Messages of this client to sessions that it follows, which are not echoed to it.
    own: Mutex<HashMap<SessionId, HashSet<MessageId>>>,
    /// Held for reading while a message is posted: a stream that reads a new turn waits until the owner of
    /// its message is known.
    posting: RwLock<()>,
    /// Requests of ours that the client has not answered.
    asked: Mutex<HashMap<RequestId, OutboundRequest>>,
    /// Requests of agents that were sent to the client, by their names.
    inquiries: Mutex<HashMap<String, Inquired>>,
    /// Set once the end of the client's token is waited for.
    watched: OnceLock<()>,
    /// Ends the streams and the client hosts.
    pub(crate) gone: CancellationToken,
}

/// A pending prompt.
#[derive(Debug, Clone)]
pub(crate) struct Prompt {
    pub(crate) request: RequestId,
    pub(crate) session: SessionId,
    pub(crate) message: MessageId,
}

/// The channel on which the client wants the answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    /// As the response to its POST, and on the stream so that it follows the messages that it ends.
    Both,
    /// On the stream alone.
    Stream,
}

impl Connection {
    fn new(id: String) -> Self {
        let created = Timestamp::now();
        Self {
            id,
            agent: OnceLock::new(),
            created,
            outbox: Outbox::new(u64::try_from(created.as_microsecond()).unwrap_or_default()),
            recalled: OnceLock::new(),
            client: Mutex::default(),
            following: Mutex::default(),
            prompts: Mutex::default(),
            own: Mutex::default(),
            posting: RwLock::default(),
            asked: Mutex::default(),
            inquiries: Mutex::default(),
            watched: OnceLock::new(),
            gone: CancellationToken::new(),
        }
    }

    /// The agent that the client has chosen, or that was recalled from its sessions.
    pub(crate) fn agent(&self) -> Option<&str> {
        self.agent.get().or_else(|| self.recalled.get()).map(String::as_str)
    }

    /// The agent that the client has chosen on this daemon.
    pub(crate) fn chosen(&self) -> Option<&str> {
        self.agent.get().map(String::as_str)
    }

    /// Sets the agent; returns the earlier one if the client has chosen another before.
    pub(crate) fn choose(&self, agent: String) -> Result<(), &str> {
        let chosen = self.agent.get_or_init(|| agent.clone());
        if *chosen == agent { Ok(()) } else { Err(chosen) }
    }

    /// Sets the agent from a session of the client, if the client never chose one on this daemon.
    pub(crate) fn recall(&self, agent: &str) {
        if !self.is_introduced() {
            self.recalled.get_or_init(|| agent.to_owned());
        }
    }

    /// Whether nobody has waited for the end of the client's token before.
    pub(crate) fn is_first_watched(&self) -> bool {
        self.watched.set(()).is_ok()
    }

    pub(crate) fn is_introduced(&self) -> bool {
        lock(&self.client).is_some()
    }

    /// Stores what the client has said of itself in the handshake.
    pub(crate) fn introduce(&self, client: InitializeRequest) {
        *lock(&self.client) = Some(client);
    }

    pub(crate) fn client(&self) -> ClientCapabilities {
        lock(&self.client).as_ref().map(|client| client.client_capabilities.clone()).unwrap_or_default()
    }

    pub(crate) fn audience(&self) -> Audience {
        lock(&self.client).as_ref().map(Audience::from).unwrap_or_default()
    }

    /// Puts the answer to a request on the stream, after everything up to `after`.
    pub(crate) fn say(&self, answer: Outbound, after: Option<(SessionNo, u64)>, reply: Reply) -> u64 {
        let what = match reply {
            Reply::Stream => What::Message(answer),
            // Two clients under one name would confuse each other's answers.
            Reply::Both if self.outbox.readers.count() == 1 => What::Copy(answer),
            Reply::Both => What::Mark,
        };
        self.outbox.push(what, after)
    }

    /// A client that disconnected finds the answer on its stream, now or later, unless others read it.
    pub(crate) fn reply_without_post(&self, reply: Reply) -> Reply {
        let alone = self.outbox.readers.count() < 2;
        if alone && !self.outbox.owes_too_much() { Reply::Stream } else { reply }
    }

    /// Waits until the client can have read an answer on its stream: it accepts the first of two answers, and
    /// only the one on the stream follows all earlier messages.
    pub(crate) async fn heard(&self, number: u64) {
        self.told(number).await;
        if self.has_reader() {
            tokio::time::sleep(HEAD_START).await;
        }
    }

    /// Resolves when every open stream has sent everything up to `number`.
    pub(crate) async fn told(&self, number: u64) {
        self.outbox.readers.told(number).await;
    }

    pub(crate) fn has_reader(&self) -> bool {
        self.outbox.readers.count() > 0
    }
}

/// No panic under one of these locks leaves its content half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection as tasks hold it that outlive a message.
pub(crate) type Shared = Arc<Connection>;

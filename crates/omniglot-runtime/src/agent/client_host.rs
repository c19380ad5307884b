//! A client offers its machine to a session: it carries out what the agent wants of files and terminals, in
//! place of our own host. An editor knows of changes that nobody has saved, and shows commands to its user.
//!
//! Says who offers what and hands requests over; doing them is the client's, and what becomes of those that a
//! client leaves undone is the host's.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

pub use omniglot_agents::{Exit, HostError, HostErrorKind, ReadFile, TerminalStart};
use omniglot_schema::SessionId;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// The host duties that a client offers to agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientHostOffer {
    pub reads_files: bool,
    pub writes_files: bool,
    pub runs_commands: bool,
}

impl ClientHostOffer {
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// Something to do for the agent. Dropped without a word, it counts as left undone.
#[derive(Debug)]
pub enum ClientHostRequest {
    Read { file: ReadFile, done: oneshot::Sender<Result<String, HostError>> },
    Write { path: PathBuf, content: String, done: oneshot::Sender<Result<(), HostError>> },
    Run { start: TerminalStart, terminal: ClientTerminal },
}

/// A command that the client runs for the agent: what it says goes in here, the request to end it comes out.
#[derive(Debug)]
pub struct ClientTerminal {
    pub(crate) updates: mpsc::Sender<TerminalUpdate>,
    pub(crate) end: CancellationToken,
}

#[derive(Debug)]
pub(crate) enum TerminalUpdate {
    Started(Result<(), HostError>),
    Said(String),
    Ended(Exit),
}

impl ClientTerminal {
    /// Whether the command could be started; the first thing to tell.
    pub async fn started(&self, result: Result<(), HostError>) {
        self.tell(TerminalUpdate::Started(result)).await;
    }

    /// Adds the output since the last call.
    pub async fn said(&self, text: String) {
        self.tell(TerminalUpdate::Said(text)).await;
    }

    /// The last thing to tell.
    pub async fn ended(self, exit: Exit) {
        self.tell(TerminalUpdate::Ended(exit)).await;
    }

    /// Resolves when the command is to be ended. Cancel-safe.
    pub async fn end_wanted(&self) {
        self.end.cancelled().await;
    }

    /// Resolves when nobody listens any more. Cancel-safe.
    pub async fn abandoned(&self) {
        self.updates.closed().await;
    }

    /// A session that has gone wants to hear nothing.
    async fn tell(&self, update: TerminalUpdate) {
        drop(self.updates.send(update).await);
    }
}

/// The client's end: what it is to do. Dropped, the machine is its own again.
#[derive(Debug)]
pub struct ClientHost {
    requests: mpsc::Receiver<ClientHostRequest>,
}

impl ClientHost {
    /// The next request. Cancel-safe.
    pub async fn next(&mut self) -> Option<ClientHostRequest> {
        self.requests.recv().await
    }
}

/// Who offers to which session. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClientHosts {
    client_hosts: Arc<Mutex<HashMap<SessionId, Vec<Registration>>>>,
}

#[derive(Debug, Clone)]
struct Registration {
    offer: ClientHostOffer,
    requests: mpsc::Sender<ClientHostRequest>,
}

/// Requests that may wait for their client.
const WAITING: usize = 16;

impl ClientHosts {
    pub(crate) fn add_client_host(&self, session: SessionId, offer: ClientHostOffer) -> ClientHost {
        let (sender, requests) = mpsc::channel(WAITING);
        let mut client_hosts = self.client_hosts.lock().unwrap_or_else(PoisonError::into_inner);
        client_hosts.retain(|_, client_hosts| {
            client_hosts.retain(|client| !client.requests.is_closed());
            !client_hosts.is_empty()
        });
        client_hosts.entry(session).or_default().push(Registration { offer, requests: sender });
        ClientHost { requests }
    }

    /// Where requests of this kind go: of several client hosts, to the one that came last.
    pub(crate) fn client(
        &self,
        session: &SessionId,
        wanted: fn(&ClientHostOffer) -> bool,
    ) -> Option<mpsc::Sender<ClientHostRequest>> {
        let client_hosts = self.client_hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut of_session = client_hosts.get(session)?.iter().rev();
        let found = of_session.find(|client| wanted(&client.offer) && !client.requests.is_closed());
        found.map(|client| client.requests.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> SessionId {
        SessionId::parse("s").unwrap()
    }

    const FILES: ClientHostOffer =
        ClientHostOffer { reads_files: true, writes_files: true, runs_commands: false };

    #[test]
    fn the_last_client_that_can_do_it_is_asked_and_one_that_left_is_not() {
        let client_hosts = ClientHosts::default();
        let first = client_hosts.add_client_host(session(), FILES);
        let second = client_hosts.add_client_host(
            session(),
            ClientHostOffer { runs_commands: true, ..ClientHostOffer::default() },
        );
        let third = client_hosts.add_client_host(session(), FILES);
        let files = |client_hosts: &ClientHosts| client_hosts.client(&session(), |offer| offer.reads_files);
        let first_sender = {
            drop(third);
            files(&client_hosts).unwrap()
        };
        assert!(client_hosts.client(&session(), |offer| offer.runs_commands).is_some());
        drop(second);
        assert!(client_hosts.client(&session(), |offer| offer.runs_commands).is_none());
        drop(first);
        assert!(first_sender.is_closed());
        assert!(files(&client_hosts).is_none());
    }

    #[test]
    fn clients_that_left_are_forgotten() {
        let client_hosts = ClientHosts::default();
        for _ in 0..10 {
            drop(client_hosts.add_client_host(session(), FILES));
        }
        let _last = client_hosts.add_client_host(SessionId::parse("other").unwrap(), FILES);
        assert_eq!(client_hosts.client_hosts.lock().unwrap().len(), 1);
    }
}

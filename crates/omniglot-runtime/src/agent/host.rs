//! Host duties for an agent: files and commands, inside its session's directory, timers, and its helpers.
//!
//! Works beside the session's loop and within bounds: the loop hands a request over and hears what came
//! of it. A client that offers its own machine is asked first. Knows no protocol; answers are the adapter's.
//! Everything ends with it: dropped, it takes its commands and all their descendants along.

mod client_side;
mod files;
mod helpers;
mod terminal;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use omniglot_agents::{
    HostAsk, HostError, HostErrorKind, HostKey, HostOutcome, HostRequest, ReadFile, TerminalStart,
};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::agent::client_host::ClientHostOffer;
use crate::agent::prepared::PreparedFiles;
use crate::confined::{OpenError, Private, Root};
use crate::process::Supervisor;
pub(crate) use client_side::ClientHostLookup;
use client_side::{ClientCommand, ClientHostSender};
use helpers::Helpers;
use terminal::Terminal;

/// The context of a host.
#[derive(Debug, Clone)]
pub(crate) struct HostContext {
    /// The session's directory, which nothing leaves.
    pub(crate) root: PathBuf,
    pub(crate) private: Private,
    /// The environment of commands, beside that of the daemon.
    pub(crate) env: IndexMap<String, String>,
    pub(crate) supervisor: Supervisor,
    /// Hold output back until a line is whole, so that a secret is not torn before it is hidden.
    pub(crate) whole_lines: bool,
}

impl HostContext {
    /// Opens the session's directory for one duty.
    fn confined(&self) -> Result<Root, OpenError> {
        Root::open(&self.root, self.private.clone())
    }

    /// Returns the path that a client is asked for; `None` for one that nobody may be sent to.
    fn path_for_client(&self, path: &Path) -> Option<PathBuf> {
        self.confined().and_then(|root| root.absolute(path)).ok()
    }

    /// Returns the directory that a command runs in: the session's, or one below it.
    fn directory(&self, wanted: Option<PathBuf>) -> Result<PathBuf, HostError> {
        let Some(wanted) = wanted else { return Ok(self.root.clone()) };
        self.confined().and_then(|root| root.directory(&wanted)).map_err(|error| match error {
            OpenError::Outside { .. } | OpenError::Private(_) => {
                HostError::new(HostErrorKind::Refused, error.to_string())
            }
            _ => {
                let message = format!("{} is no directory", wanted.display());
                HostError::new(HostErrorKind::NotFound, message)
            }
        })
    }
}

pub(crate) type HostEvent = (HostKey, HostOutcome);

#[derive(Debug)]
pub(crate) struct Host {
    context: Arc<HostContext>,
    client_hosts: Option<ClientHostLookup>,
    events: mpsc::Sender<HostEvent>,
    inbox: mpsc::Receiver<HostEvent>,
    /// How many files are worked on at once.
    files: Arc<Semaphore>,
    terminals: HashMap<HostKey, CancellationToken>,
    /// The requests that were refused at once.
    refused: Vec<HostEvent>,
    /// Work with files, and timers.
    requests: JoinSet<()>,
    /// Commands that run.
    commands: JoinSet<()>,
    helpers: Option<Helpers>,
    /// The files of the agent's process, which last as long as it.
    _files: Option<PreparedFiles>,
}

/// HostEvent that may wait; over it commands wait.
const MAX_EVENTS: usize = 16;
const FILES_AT_ONCE: usize = 4;
/// Files that wait to be worked on.
const MAX_FILE_REQUESTS: usize = 256;
const MAX_TERMINALS: usize = 32;

impl Host {
    pub(crate) fn new(context: HostContext, mut files: Option<PreparedFiles>) -> Self {
        let (events, inbox) = mpsc::channel(MAX_EVENTS);
        let listener = files.as_mut().and_then(PreparedFiles::take_listener);
        Self {
            context: Arc::new(context),
            client_hosts: None,
            helpers: listener.map(|listener| Helpers::listen(listener, events.clone())),
            _files: files,
            events,
            inbox,
            files: Arc::new(Semaphore::new(FILES_AT_ONCE)),
            terminals: HashMap::new(),
            refused: Vec::new(),
            requests: JoinSet::new(),
            commands: JoinSet::new(),
        }
    }

    /// From here on clients are asked first.
    pub(crate) fn use_client_hosts(&mut self, client_hosts: ClientHostLookup) {
        self.client_hosts = Some(client_hosts);
    }

    /// Takes a request; what comes of it is told by [`next`](Self::next).
    pub(crate) fn carry_out(&mut self, ask: HostAsk) {
        while self.requests.try_join_next().is_some() {}
        while self.commands.try_join_next().is_some() {}
        let HostAsk { key, request } = ask;
        let takes_room = !matches!(request, HostRequest::EndTerminal | HostRequest::AnswerHelper(_));
        if takes_room && self.requests.len() >= MAX_FILE_REQUESTS {
            return self.refuse(key, &request, "too many requests at once; wait for some answers first");
        }
        match request {
            HostRequest::ReadFile(file) => self.read(key, file),
            HostRequest::WriteFile { path, content } => self.write(key, path, content),
            HostRequest::StartTerminal(start) => self.start_terminal(key, start),
            HostRequest::EndTerminal => {
                if let Some(end) = self.terminals.get(&key) {
                    end.cancel();
                }
            }
            HostRequest::AnswerHelper(line) => {
                if let Some(helpers) = &self.helpers {
                    helpers.answer(key, line);
                }
            }
            HostRequest::Timer(time) => self.start_timer(key, time),
        }
    }

    /// Says no without trying.
    pub(crate) fn refuse(&mut self, key: HostKey, request: &HostRequest, why: &str) {
        let error = HostError::new(HostErrorKind::Refused, why);
        let outcome = match request {
            HostRequest::ReadFile(_) => HostOutcome::Read(Err(error)),
            HostRequest::WriteFile { .. } => HostOutcome::Written(Err(error)),
            HostRequest::StartTerminal(_) => HostOutcome::Started(Err(error)),
            // A timer that was not set never elapses.
            HostRequest::EndTerminal | HostRequest::Timer(_) | HostRequest::AnswerHelper(_) => return,
        };
        self.refused.push((key, outcome));
    }

    /// The next that came of a request, or goes on in a terminal. Cancel-safe.
    pub(crate) async fn next(&mut self) -> HostEvent {
        let event = match self.refused.pop() {
            Some(event) => Some(event),
            None => self.inbox.recv().await,
        };
        // This end holds a sender itself: there is always more to wait for.
        let Some((key, outcome)) = event else { return std::future::pending().await };
        if matches!(outcome, HostOutcome::Ended(_) | HostOutcome::Started(Err(_))) {
            self.terminals.remove(&key);
        }
        (key, outcome)
    }

    /// Ends every command and waits until all are gone. Nobody waits for files any more, least of all for those
    /// that a client offers.
    pub(crate) async fn end(&mut self) {
        // Nobody listens any more: a task that has something to tell goes on to its end.
        self.inbox.close();
        for end in self.terminals.values() {
            end.cancel();
        }
        self.requests.abort_all();
        while self.commands.join_next().await.is_some() {}
    }

    fn client(&self, wanted: fn(&ClientHostOffer) -> bool) -> Option<ClientHostSender> {
        self.client_hosts.as_ref()?.find(wanted)
    }

    fn read(&mut self, key: HostKey, file: ReadFile) {
        let (context, files, events) = (self.context.clone(), self.files.clone(), self.events.clone());
        let client = self.client(|offer| offer.reads_files);
        self.requests.spawn(async move {
            let _turn = files.acquire().await;
            let client_side = match client.zip(context.path_for_client(&file.path)) {
                Some((client, path)) => client_side::read(&client, ReadFile { path, ..file.clone() }).await,
                None => None,
            };
            let read = match client_side {
                Some(read) => read,
                None => blocking(move || files::read(context.confined(), &file)).await,
            };
            tell(&events, key, HostOutcome::Read(read)).await;
        });
    }

    fn write(&mut self, key: HostKey, path: PathBuf, content: String) {
        let (context, files, events) = (self.context.clone(), self.files.clone(), self.events.clone());
        let client = self.client(|offer| offer.writes_files);
        self.requests.spawn(async move {
            let _turn = files.acquire().await;
            let client_side = match client.zip(context.path_for_client(&path)) {
                Some((client, asked)) => client_side::write(&client, asked, content.clone()).await,
                None => None,
            };
            let written = match client_side {
                Some(written) => written,
                None => blocking(move || files::write(context.confined(), &path, &content)).await,
            };
            tell(&events, key, HostOutcome::Written(written)).await;
        });
    }

    fn start_timer(&mut self, key: HostKey, time: Duration) {
        let events = self.events.clone();
        self.requests.spawn(async move {
            tokio::time::sleep(time).await;
            tell(&events, key, HostOutcome::Elapsed).await;
        });
    }

    fn start_terminal(&mut self, key: HostKey, start: TerminalStart) {
        if self.terminals.len() >= MAX_TERMINALS {
            let why = format!("{MAX_TERMINALS} terminals run already; release some first");
            return self.refuse(key, &HostRequest::StartTerminal(start), &why);
        }
        let end = CancellationToken::new();
        self.terminals.insert(key, end.clone());
        let (context, events) = (self.context.clone(), self.events.clone());
        match self.client(|offer| offer.runs_commands) {
            Some(client) => {
                self.commands.spawn(ClientCommand { key, context, events, end }.run(client, start))
            }
            None => self.commands.spawn(Terminal { key, context, events, end }.run(start)),
        };
    }
}

/// A listener that has left wants to hear nothing.
async fn tell(events: &mpsc::Sender<HostEvent>, key: HostKey, what: HostOutcome) {
    drop(events.send((key, what)).await);
}

/// Work with files, on a thread where waiting harms nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, HostError> + Send + 'static,
) -> Result<T, HostError> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(broken()))
}

fn broken() -> HostError {
    HostError::new(HostErrorKind::Failed, "an error of ours; the daemon's log has more")
}

//! What an agent may ask of this machine: files and commands, inside its session's directory.
//!
//! Works beside the session's loop and within bounds: the loop hands a request over and hears what came
//! of it. A client that lends its own machine is asked first. Knows no protocol; answers are the adapter's.
//! Everything ends with it: dropped, it takes its commands and all their descendants along.

mod beneath;
mod files;
mod lent;
mod terminal;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;
use omniglot_agents::{
    HostAsk, HostError, HostErrorKind, HostKey, HostNews, HostRequest, ReadFile, TerminalStart,
};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::lending::Offer;
use crate::process::Supervisor;
pub(crate) use lent::Lenders;
use lent::{Borrowed, Lender};
use terminal::Terminal;

/// What a host works with.
#[derive(Debug, Clone)]
pub(crate) struct Means {
    /// The session's directory, which nothing leaves.
    pub(crate) root: PathBuf,
    /// What commands find in their environment, beside that of the daemon.
    pub(crate) env: IndexMap<String, String>,
    pub(crate) supervisor: Supervisor,
    /// Hold output back until a line is whole, so that a secret is not torn before it is hidden.
    pub(crate) whole_lines: bool,
}

pub(crate) type News = (HostKey, HostNews);

#[derive(Debug)]
pub(crate) struct Host {
    means: Arc<Means>,
    lenders: Option<Lenders>,
    news: mpsc::Sender<News>,
    inbox: mpsc::Receiver<News>,
    /// How many files are worked on at once.
    files: Arc<Semaphore>,
    terminals: HashMap<HostKey, CancellationToken>,
    /// What was refused at once.
    refused: Vec<News>,
    /// Work with files.
    errands: JoinSet<()>,
    /// Commands that run.
    commands: JoinSet<()>,
}

/// News that may wait; over it commands wait.
const NEWS: usize = 16;
const FILES_AT_ONCE: usize = 4;
/// Files that wait to be worked on.
const MOST_ERRANDS: usize = 256;
const MOST_TERMINALS: usize = 32;

impl Host {
    pub(crate) fn new(means: Means) -> Self {
        let (news, inbox) = mpsc::channel(NEWS);
        Self {
            means: Arc::new(means),
            lenders: None,
            news,
            inbox,
            files: Arc::new(Semaphore::new(FILES_AT_ONCE)),
            terminals: HashMap::new(),
            refused: Vec::new(),
            errands: JoinSet::new(),
            commands: JoinSet::new(),
        }
    }

    /// From here on clients are asked first.
    pub(crate) fn borrow_from(&mut self, lenders: Lenders) {
        self.lenders = Some(lenders);
    }

    /// Takes a request; what comes of it is told by [`next`](Self::next).
    pub(crate) fn carry_out(&mut self, ask: HostAsk) {
        while self.errands.try_join_next().is_some() {}
        while self.commands.try_join_next().is_some() {}
        let HostAsk { key, request } = ask;
        if self.errands.len() >= MOST_ERRANDS && request != HostRequest::EndTerminal {
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
        }
    }

    /// Says no without trying.
    pub(crate) fn refuse(&mut self, key: HostKey, request: &HostRequest, why: &str) {
        let error = HostError::new(HostErrorKind::Refused, why);
        let news = match request {
            HostRequest::ReadFile(_) => HostNews::Read(Err(error)),
            HostRequest::WriteFile { .. } => HostNews::Written(Err(error)),
            HostRequest::StartTerminal(_) => HostNews::Started(Err(error)),
            HostRequest::EndTerminal => return,
        };
        self.refused.push((key, news));
    }

    /// The next that came of a request, or goes on in a terminal. Cancel-safe.
    pub(crate) async fn next(&mut self) -> News {
        let news = match self.refused.pop() {
            Some(news) => Some(news),
            None => self.inbox.recv().await,
        };
        // This end holds a sender itself: there is always more to wait for.
        let Some((key, news)) = news else { return std::future::pending().await };
        if matches!(news, HostNews::Ended(_) | HostNews::Started(Err(_))) {
            self.terminals.remove(&key);
        }
        (key, news)
    }

    /// Ends every command and waits until all are gone. Nobody waits for files any more, least of all for those
    /// that a client lends.
    pub(crate) async fn end(&mut self) {
        // Nobody listens any more: a task that has something to tell goes on to its end.
        self.inbox.close();
        for end in self.terminals.values() {
            end.cancel();
        }
        self.errands.abort_all();
        while self.commands.join_next().await.is_some() {}
    }

    fn lender(&self, wanted: fn(&Offer) -> bool) -> Option<Lender> {
        self.lenders.as_ref()?.find(wanted)
    }

    fn read(&mut self, key: HostKey, file: ReadFile) {
        let (means, files, news) = (self.means.clone(), self.files.clone(), self.news.clone());
        let lender = self.lender(|offer| offer.reads_files);
        self.errands.spawn(async move {
            let _turn = files.acquire().await;
            let lent = match lender.zip(lent::within(&means.root, &file.path)) {
                Some((lender, path)) => lent::read(&lender, ReadFile { path, ..file.clone() }).await,
                None => None,
            };
            let read = match lent {
                Some(read) => read,
                None => blocking(move || files::read(&means.root, &file)).await,
            };
            tell(&news, key, HostNews::Read(read)).await;
        });
    }

    fn write(&mut self, key: HostKey, path: PathBuf, content: String) {
        let (means, files, news) = (self.means.clone(), self.files.clone(), self.news.clone());
        let lender = self.lender(|offer| offer.writes_files);
        self.errands.spawn(async move {
            let _turn = files.acquire().await;
            let lent = match lender.zip(lent::within(&means.root, &path)) {
                Some((lender, asked)) => lent::write(&lender, asked, content.clone()).await,
                None => None,
            };
            let written = match lent {
                Some(written) => written,
                None => blocking(move || files::write(&means.root, &path, &content)).await,
            };
            tell(&news, key, HostNews::Written(written)).await;
        });
    }

    fn start_terminal(&mut self, key: HostKey, start: TerminalStart) {
        if self.terminals.len() >= MOST_TERMINALS {
            let why = format!("{MOST_TERMINALS} terminals run already; release some first");
            return self.refuse(key, &HostRequest::StartTerminal(start), &why);
        }
        let end = CancellationToken::new();
        self.terminals.insert(key, end.clone());
        let (means, news) = (self.means.clone(), self.news.clone());
        match self.lender(|offer| offer.runs_commands) {
            Some(lender) => self.commands.spawn(Borrowed { key, means, news, end }.run(lender, start)),
            None => self.commands.spawn(Terminal { key, means, news, end }.run(start)),
        };
    }
}

/// A listener that has left wants to hear nothing.
async fn tell(news: &mpsc::Sender<News>, key: HostKey, what: HostNews) {
    drop(news.send((key, what)).await);
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

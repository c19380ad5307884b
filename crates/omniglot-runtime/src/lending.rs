//! A client lends its machine to a session: it carries out what the agent wants of files and terminals, in
//! place of our own host. An editor knows of changes that nobody has saved, and shows commands to its user.
//!
//! Says who lends what and hands errands over; doing them is the lender's, and what becomes of those that a
//! lender leaves undone is the host's.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

pub use omniglot_agents::{Exit, HostError, HostErrorKind, ReadFile, TerminalStart};
use omniglot_schema::SessionId;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// What a client does for agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offer {
    pub reads_files: bool,
    pub writes_files: bool,
    pub runs_commands: bool,
}

impl Offer {
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// Something to do for the agent. Dropped without a word, it counts as left undone.
#[derive(Debug)]
pub enum Errand {
    Read { file: ReadFile, done: oneshot::Sender<Result<String, HostError>> },
    Write { path: PathBuf, content: String, done: oneshot::Sender<Result<(), HostError>> },
    Run { start: TerminalStart, terminal: LentTerminal },
}

/// A command that the lender runs for the agent: what it says goes in here, the wish to end it comes out.
#[derive(Debug)]
pub struct LentTerminal {
    pub(crate) news: mpsc::Sender<TerminalNews>,
    pub(crate) end: CancellationToken,
}

#[derive(Debug)]
pub(crate) enum TerminalNews {
    Started(Result<(), HostError>),
    Said(String),
    Ended(Exit),
}

impl LentTerminal {
    /// Whether the command could be started; the first thing to tell.
    pub async fn started(&self, result: Result<(), HostError>) {
        self.tell(TerminalNews::Started(result)).await;
    }

    /// What it wrote since the last time.
    pub async fn said(&self, text: String) {
        self.tell(TerminalNews::Said(text)).await;
    }

    /// The last thing to tell.
    pub async fn ended(self, exit: Exit) {
        self.tell(TerminalNews::Ended(exit)).await;
    }

    /// Resolves when the command is to be ended. Cancel-safe.
    pub async fn end_wanted(&self) {
        self.end.cancelled().await;
    }

    /// Resolves when nobody listens any more. Cancel-safe.
    pub async fn forsaken(&self) {
        self.news.closed().await;
    }

    /// A session that has gone wants to hear nothing.
    async fn tell(&self, news: TerminalNews) {
        drop(self.news.send(news).await);
    }
}

/// The lender's end: what it is to do. Dropped, the machine is its own again.
#[derive(Debug)]
pub struct Loan {
    errands: mpsc::Receiver<Errand>,
}

impl Loan {
    /// The next errand. Cancel-safe.
    pub async fn next(&mut self) -> Option<Errand> {
        self.errands.recv().await
    }
}

/// Who lends to which session. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Loans {
    lenders: Arc<Mutex<HashMap<SessionId, Vec<Lender>>>>,
}

#[derive(Debug, Clone)]
struct Lender {
    offer: Offer,
    errands: mpsc::Sender<Errand>,
}

/// Errands that may wait for their lender.
const WAITING: usize = 16;

impl Loans {
    pub(crate) fn lend(&self, session: SessionId, offer: Offer) -> Loan {
        let (sender, errands) = mpsc::channel(WAITING);
        let mut lenders = self.lenders.lock().unwrap_or_else(PoisonError::into_inner);
        lenders.retain(|_, lenders| {
            lenders.retain(|lender| !lender.errands.is_closed());
            !lenders.is_empty()
        });
        lenders.entry(session).or_default().push(Lender { offer, errands: sender });
        Loan { errands }
    }

    /// Where errands of this kind go: of several lenders, to the one that came last.
    pub(crate) fn lender(
        &self,
        session: &SessionId,
        wanted: fn(&Offer) -> bool,
    ) -> Option<mpsc::Sender<Errand>> {
        let lenders = self.lenders.lock().unwrap_or_else(PoisonError::into_inner);
        let mut of_session = lenders.get(session)?.iter().rev();
        let found = of_session.find(|lender| wanted(&lender.offer) && !lender.errands.is_closed());
        found.map(|lender| lender.errands.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> SessionId {
        SessionId::parse("s").unwrap()
    }

    const FILES: Offer = Offer { reads_files: true, writes_files: true, runs_commands: false };

    #[test]
    fn the_last_lender_that_can_do_it_is_asked_and_one_that_left_is_not() {
        let loans = Loans::default();
        let first = loans.lend(session(), FILES);
        let second = loans.lend(session(), Offer { runs_commands: true, ..Offer::default() });
        let third = loans.lend(session(), FILES);
        let files = |loans: &Loans| loans.lender(&session(), |offer| offer.reads_files);
        let first_sender = {
            drop(third);
            files(&loans).unwrap()
        };
        assert!(loans.lender(&session(), |offer| offer.runs_commands).is_some());
        drop(second);
        assert!(loans.lender(&session(), |offer| offer.runs_commands).is_none());
        drop(first);
        assert!(first_sender.is_closed());
        assert!(files(&loans).is_none());
    }

    #[test]
    fn lenders_that_left_are_forgotten() {
        let loans = Loans::default();
        for _ in 0..10 {
            drop(loans.lend(session(), FILES));
        }
        let _last = loans.lend(SessionId::parse("other").unwrap(), FILES);
        assert_eq!(loans.lenders.lock().unwrap().len(), 1);
    }
}

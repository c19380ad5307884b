//! Errands that a client does in our host's place, and how long we wait for it.
//!
//! A file that a lender leaves undone is read or written by ourselves: twice does no harm. A command is
//! never run a second time.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use omniglot_agents::{
    Exit, HostError, HostErrorKind, HostKey, HostNews, ReadFile, TerminalStart, TerminalText,
};
use omniglot_schema::SessionId;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::terminal::{Text, directory};
use super::{Means, News, tell};
use crate::lending::{Errand, LentTerminal, Loans, Offer, TerminalNews};

/// Whom a session's host may send.
#[derive(Debug, Clone)]
pub(crate) struct Lenders {
    pub(crate) loans: Loans,
    pub(crate) session: SessionId,
}

pub(super) type Lender = mpsc::Sender<Errand>;

/// How long a client may take for a file, or to start a command.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take to end one.
const ENDING: Duration = Duration::from_secs(2);
/// What a command may say before we listen.
const NEWS: usize = 16;

impl Lenders {
    pub(super) fn find(&self, wanted: fn(&Offer) -> bool) -> Option<Lender> {
        self.loans.lender(&self.session, wanted)
    }
}

/// The absolute path that a lender is asked for; nobody is sent out of the session's directory, by no link
/// either.
pub(super) fn within(root: &Path, path: &Path) -> Option<PathBuf> {
    let climbs = path.components().any(|part| part == Component::ParentDir);
    let path = root.join(path);
    if climbs || !path.starts_with(root) {
        return None;
    }
    let existing = path.ancestors().find_map(|part| part.canonicalize().ok())?;
    existing.starts_with(root.canonicalize().ok()?).then_some(path)
}

/// `None` when the lender left it undone.
pub(super) async fn read(lender: &Lender, file: ReadFile) -> Option<Result<String, HostError>> {
    let (done, answer) = oneshot::channel();
    answered(lender, Errand::Read { file, done }, answer).await
}

/// `None` when the lender left it undone.
pub(super) async fn write(lender: &Lender, path: PathBuf, content: String) -> Option<Result<(), HostError>> {
    let (done, answer) = oneshot::channel();
    answered(lender, Errand::Write { path, content, done }, answer).await
}

async fn answered<T>(lender: &Lender, errand: Errand, answer: oneshot::Receiver<T>) -> Option<T> {
    let done = async {
        lender.send(errand).await.ok()?;
        answer.await.ok()
    };
    timeout(PATIENCE, done).await.ok().flatten()
}

/// A command that a lender runs.
pub(super) struct Borrowed {
    pub(super) key: HostKey,
    pub(super) means: Arc<Means>,
    pub(super) news: mpsc::Sender<News>,
    /// Ends the command.
    pub(super) end: CancellationToken,
}

impl Borrowed {
    pub(super) async fn run(self, lender: Lender, start: TerminalStart) {
        match self.begin(&lender, start).await {
            Err(error) => self.tell(HostNews::Started(Err(error))).await,
            Ok(news) => {
                self.tell(HostNews::Started(Ok(()))).await;
                let exit = self.listen(news).await;
                self.tell(HostNews::Ended(exit)).await;
            }
        }
    }

    async fn begin(
        &self,
        lender: &Lender,
        mut start: TerminalStart,
    ) -> Result<mpsc::Receiver<TerminalNews>, HostError> {
        start.cwd = Some(directory(&self.means.root, start.cwd)?);
        let (sender, mut news) = mpsc::channel(NEWS);
        let terminal = LentTerminal { news: sender, end: self.end.clone() };
        let begun = async {
            lender.send(Errand::Run { start, terminal }).await.ok()?;
            news.recv().await
        };
        let begun = timeout(PATIENCE, begun);
        let Some(begun) = self.end.run_until_cancelled(begun).await else {
            return Err(failed("it was ended before the client had started it".to_owned()));
        };
        match begun {
            Ok(Some(TerminalNews::Started(started))) => started.map(|()| news),
            Ok(_) => Err(failed("the client left before it started the command".to_owned())),
            Err(_) => Err(failed(format!("the client did not start it within {} s", PATIENCE.as_secs()))),
        }
    }

    async fn listen(&self, mut news: mpsc::Receiver<TerminalNews>) -> Exit {
        let mut text = Text::new(self.means.whole_lines);
        let exit = loop {
            let told = tokio::select! {
                told = news.recv() => told,
                () = overdue(&self.end) => None,
            };
            match told {
                Some(TerminalNews::Said(more)) => self.say(text.push(more.as_bytes())).await,
                Some(TerminalNews::Ended(exit)) => break exit,
                Some(TerminalNews::Started(_)) => {}
                // Nobody can tell any more how it ended.
                None => break Exit { code: None, signal: None },
            }
        };
        self.say(text.finish()).await;
        exit
    }

    async fn say(&self, text: String) {
        if !text.is_empty() {
            self.tell(HostNews::Said(TerminalText { text, masked: None })).await;
        }
    }

    async fn tell(&self, news: HostNews) {
        tell(&self.news, self.key, news).await;
    }
}

async fn overdue(end: &CancellationToken) {
    end.cancelled().await;
    sleep(ENDING).await;
}

fn failed(message: String) -> HostError {
    HostError::new(HostErrorKind::Failed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_out_of_the_sessions_directory() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        std::fs::create_dir(&root).unwrap();
        std::os::unix::fs::symlink(place.path(), root.join("link")).unwrap();
        let asked = |path: &str| within(&root, Path::new(path));
        assert_eq!(asked(root.join("b.rs").to_str().unwrap()), Some(root.join("b.rs")));
        assert_eq!(asked("new/b.rs"), Some(root.join("new/b.rs")));
        for outside in ["/etc/passwd", "../b", "a/../../b", "link", "link/new.txt"] {
            assert_eq!(asked(outside), None, "{outside}");
        }
    }

    fn lender(offer: Offer) -> (Lender, crate::lending::Loan) {
        let loans = Loans::default();
        let session = SessionId::parse("s").unwrap();
        let loan = loans.lend(session.clone(), offer);
        (Lenders { loans, session }.find(|_| true).unwrap(), loan)
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_is_left_undone_by_a_lender_that_goes_or_never_answers() {
        let (gone, loan) = lender(Offer::default());
        drop(loan);
        assert_eq!(read(&gone, ReadFile::default()).await, None);
        let (silent, mut loan) = lender(Offer::default());
        let (read, errand) = tokio::join!(read(&silent, ReadFile::default()), loan.next());
        assert_eq!(read, None);
        assert!(matches!(errand, Some(Errand::Read { .. })));
    }

    #[tokio::test]
    async fn a_lender_answers_for_a_file() {
        let (sender, mut loan) = lender(Offer::default());
        let work = async {
            let Some(Errand::Read { file, done }) = loan.next().await else { panic!("an errand to read") };
            done.send(Ok(format!("text of {}", file.path.display()))).unwrap();
        };
        let file = ReadFile { path: "/w/a".into(), ..ReadFile::default() };
        let (read, ()) = tokio::join!(read(&sender, file), work);
        assert_eq!(read, Some(Ok("text of /w/a".to_owned())));
    }
}

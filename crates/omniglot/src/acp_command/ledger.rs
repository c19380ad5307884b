//! Who waits for an answer: the editor for ours, the daemon for the editor's.
//!
//! Nothing reaches the editor twice, and nothing that it waits for is forgotten when a daemon dies.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use super::envelope::{Envelope, RpcId};

/// A message of the editor on its way, under a name by which it can be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) key: String,
    pub(super) body: Bytes,
    pub(super) envelope: Envelope,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    books: Mutex<Books>,
    answered: Notify,
}

#[derive(Debug, Default)]
struct Books {
    /// The editor's handshake: a new daemon must hear it first.
    handshake: Option<Letter>,
    /// Requests of the editor without an answer, in order.
    open: Vec<Letter>,
    /// Requests of the daemon that the editor has got and not answered.
    asked: HashSet<RpcId>,
}

/// What a turn may take is nobody's to say.
const PROMPT: &str = "session/prompt";

impl Ledger {
    /// A message of the editor goes out.
    pub(super) fn posted(&self, letter: &Letter) {
        let Envelope::Request { method, .. } = &letter.envelope else { return };
        let mut books = self.books();
        if method == "initialize" {
            books.handshake = Some(letter.clone());
        }
        books.open.push(letter.clone());
    }

    /// A message of the editor has arrived. What it has answered may be asked again: not before the daemon has
    /// the answer, and then for a reason.
    pub(super) fn delivered(&self, letter: &Letter) {
        if let Envelope::Answer { id } = &letter.envelope {
            self.books().asked.remove(id);
        }
    }

    /// Whether the editor is to get this message of the daemon.
    pub(super) fn is_news(&self, message: &Envelope) -> bool {
        match message {
            Envelope::Request { id, .. } => self.books().asked.insert(id.clone()),
            Envelope::Answer { id } => self.settle(id),
            Envelope::Other => true,
        }
    }

    /// Whether the editor still waited for this answer; from here on it does not.
    pub(super) fn settle(&self, id: &RpcId) -> bool {
        let mut books = self.books();
        let before = books.open.len();
        books.open.retain(|letter| !is_request(letter, id));
        let settled = books.open.len() < before;
        drop(books);
        self.answered.notify_waiters();
        settled
    }

    /// Whether the editor waits for anything.
    pub(super) fn has_open(&self) -> bool {
        !self.books().open.is_empty()
    }

    /// What a new daemon must hear: the handshake, then all that has no answer.
    pub(super) fn to_repeat(&self) -> Vec<Letter> {
        let mut books = self.books();
        // Its requests are others, whatever their ids.
        books.asked.clear();
        let handshake = books.handshake.clone().filter(|letter| !books.open.contains(letter));
        handshake.into_iter().chain(books.open.iter().cloned()).collect()
    }

    /// Waits until nothing is open but turns.
    pub(super) async fn quiet(&self) {
        loop {
            let answered = self.answered.notified();
            tokio::pin!(answered);
            answered.as_mut().enable();
            if self.books().open.iter().all(is_prompt) {
                return;
            }
            answered.await;
        }
    }

    /// A lock of ours is never held across anything that can panic.
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_request(letter: &Letter, wanted: &RpcId) -> bool {
    matches!(&letter.envelope, Envelope::Request { id, .. } if id == wanted)
}

fn is_prompt(letter: &Letter) -> bool {
    matches!(&letter.envelope, Envelope::Request { method, .. } if method == PROMPT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(line: &'static str) -> Letter {
        let envelope = Envelope::parse(line.as_bytes()).unwrap();
        Letter { key: line.to_owned(), body: Bytes::from_static(line.as_bytes()), envelope }
    }

    fn news(ledger: &Ledger, line: &str) -> bool {
        ledger.is_news(&Envelope::parse(line.as_bytes()).unwrap())
    }

    const HANDSHAKE: &str = r#"{"id":0,"method":"initialize"}"#;
    const PROMPTED: &str = r#"{"id":1,"method":"session/prompt"}"#;

    #[test]
    fn an_answer_is_told_once_and_only_to_who_waits() {
        let ledger = Ledger::default();
        ledger.posted(&letter(HANDSHAKE));
        assert!(news(&ledger, r#"{"id":0,"result":{}}"#));
        assert!(!news(&ledger, r#"{"id":0,"result":{}}"#));
        assert!(!news(&ledger, r#"{"id":7,"result":{}}"#));
    }

    #[test]
    fn a_request_that_the_daemon_repeats_is_asked_once() {
        let ledger = Ledger::default();
        let ask = r#"{"id":"perm_1","method":"session/request_permission"}"#;
        assert!(news(&ledger, ask));
        assert!(!news(&ledger, ask));
        ledger.delivered(&letter(r#"{"id":"perm_1","result":{}}"#));
        assert!(ledger.books().asked.is_empty(), "what is answered is not remembered");
        assert!(news(&ledger, ask));
        assert!(!news(&ledger, ask));
        ledger.to_repeat();
        assert!(news(&ledger, ask));
    }

    #[test]
    fn a_new_daemon_hears_the_handshake_and_what_is_open_in_order() {
        let ledger = Ledger::default();
        ledger.posted(&letter(HANDSHAKE));
        assert_eq!(ledger.to_repeat(), [letter(HANDSHAKE)]);
        assert!(news(&ledger, r#"{"id":0,"result":{}}"#));
        ledger.posted(&letter(PROMPTED));
        ledger.posted(&letter(r#"{"method":"session/cancel"}"#));
        assert_eq!(ledger.to_repeat(), [letter(HANDSHAKE), letter(PROMPTED)]);
    }

    #[tokio::test]
    async fn turns_are_not_waited_for() {
        let ledger = Ledger::default();
        ledger.posted(&letter(HANDSHAKE));
        ledger.posted(&letter(PROMPTED));
        let answer = async { assert!(news(&ledger, r#"{"id":0,"result":{}}"#)) };
        tokio::join!(ledger.quiet(), answer);
    }
}

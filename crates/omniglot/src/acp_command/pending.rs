//! The pending requests: of the editor to us, and of the daemon to the editor.
//!
//! Nothing reaches the editor twice, and no pending request is lost when a daemon dies.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use super::envelope::{Envelope, RpcId};

/// A message of the editor to the daemon, under a key by which it can be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutgoingMessage {
    pub(super) key: String,
    pub(super) body: Bytes,
    pub(super) envelope: Envelope,
}

#[derive(Debug, Default)]
pub(super) struct PendingRequests {
    inner: Mutex<Inner>,
    answered: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// The editor's handshake: a new daemon must receive it first.
    handshake: Option<OutgoingMessage>,
    /// Requests of the editor without an answer, in order.
    open: Vec<OutgoingMessage>,
    /// Requests of the daemon that the editor has received and not answered.
    asked: HashSet<RpcId>,
}

/// The method whose answer may take any time.
const PROMPT: &str = "session/prompt";

impl PendingRequests {
    /// Records a message of the editor that is sent.
    pub(super) fn posted(&self, outgoing: &OutgoingMessage) {
        let Envelope::Request { method, .. } = &outgoing.envelope else { return };
        let mut inner = self.inner();
        if method == "initialize" {
            inner.handshake = Some(outgoing.clone());
        }
        inner.open.push(outgoing.clone());
    }

    /// Records a message of the editor that has arrived. An answered request may be asked again: not before
    /// the daemon has the answer, and then for a reason.
    pub(super) fn delivered(&self, outgoing: &OutgoingMessage) {
        if let Envelope::Answer { id } = &outgoing.envelope {
            self.inner().asked.remove(id);
        }
    }

    /// Whether the editor must receive this message of the daemon.
    pub(super) fn is_news(&self, message: &Envelope) -> bool {
        match message {
            Envelope::Request { id, .. } => self.inner().asked.insert(id.clone()),
            Envelope::Answer { id } => self.settle(id),
            Envelope::Other => true,
        }
    }

    /// Removes an answered request; returns whether the editor still waited for the answer.
    pub(super) fn settle(&self, id: &RpcId) -> bool {
        let mut inner = self.inner();
        let before = inner.open.len();
        inner.open.retain(|outgoing| !is_request(outgoing, id));
        let settled = inner.open.len() < before;
        drop(inner);
        self.answered.notify_waiters();
        settled
    }

    /// Whether the editor waits for anything.
    pub(super) fn has_open(&self) -> bool {
        !self.inner().open.is_empty()
    }

    /// Returns the messages for a new daemon: the handshake, then all unanswered requests.
    pub(super) fn to_repeat(&self) -> Vec<OutgoingMessage> {
        let mut inner = self.inner();
        // The requests of a new daemon are others, whatever their ids.
        inner.asked.clear();
        let handshake = inner.handshake.clone().filter(|outgoing| !inner.open.contains(outgoing));
        handshake.into_iter().chain(inner.open.iter().cloned()).collect()
    }

    /// Waits until no request is open but turns.
    pub(super) async fn quiet(&self) {
        loop {
            let answered = self.answered.notified();
            tokio::pin!(answered);
            answered.as_mut().enable();
            if self.inner().open.iter().all(is_prompt) {
                return;
            }
            answered.await;
        }
    }

    /// The lock is never held across code that can panic.
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_request(outgoing: &OutgoingMessage, wanted: &RpcId) -> bool {
    matches!(&outgoing.envelope, Envelope::Request { id, .. } if id == wanted)
}

fn is_prompt(outgoing: &OutgoingMessage) -> bool {
    matches!(&outgoing.envelope, Envelope::Request { method, .. } if method == PROMPT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outgoing(line: &'static str) -> OutgoingMessage {
        let envelope = Envelope::parse(line.as_bytes()).unwrap();
        OutgoingMessage { key: line.to_owned(), body: Bytes::from_static(line.as_bytes()), envelope }
    }

    fn news(pending: &PendingRequests, line: &str) -> bool {
        pending.is_news(&Envelope::parse(line.as_bytes()).unwrap())
    }

    const HANDSHAKE: &str = r#"{"id":0,"method":"initialize"}"#;
    const PROMPTED: &str = r#"{"id":1,"method":"session/prompt"}"#;

    #[test]
    fn an_answer_is_told_once_and_only_to_who_waits() {
        let pending = PendingRequests::default();
        pending.posted(&outgoing(HANDSHAKE));
        assert!(news(&pending, r#"{"id":0,"result":{}}"#));
        assert!(!news(&pending, r#"{"id":0,"result":{}}"#));
        assert!(!news(&pending, r#"{"id":7,"result":{}}"#));
    }

    #[test]
    fn a_request_that_the_daemon_repeats_is_asked_once() {
        let pending = PendingRequests::default();
        let ask = r#"{"id":"perm_1","method":"session/request_permission"}"#;
        assert!(news(&pending, ask));
        assert!(!news(&pending, ask));
        pending.delivered(&outgoing(r#"{"id":"perm_1","result":{}}"#));
        assert!(pending.inner().asked.is_empty(), "what is answered is not remembered");
        assert!(news(&pending, ask));
        assert!(!news(&pending, ask));
        pending.to_repeat();
        assert!(news(&pending, ask));
    }

    #[test]
    fn a_new_daemon_hears_the_handshake_and_what_is_open_in_order() {
        let pending = PendingRequests::default();
        pending.posted(&outgoing(HANDSHAKE));
        assert_eq!(pending.to_repeat(), [outgoing(HANDSHAKE)]);
        assert!(news(&pending, r#"{"id":0,"result":{}}"#));
        pending.posted(&outgoing(PROMPTED));
        pending.posted(&outgoing(r#"{"method":"session/cancel"}"#));
        assert_eq!(pending.to_repeat(), [outgoing(HANDSHAKE), outgoing(PROMPTED)]);
    }

    #[tokio::test]
    async fn turns_are_not_waited_for() {
        let pending = PendingRequests::default();
        pending.posted(&outgoing(HANDSHAKE));
        pending.posted(&outgoing(PROMPTED));
        let answer = async { assert!(news(&pending, r#"{"id":0,"result":{}}"#)) };
        tokio::join!(pending.quiet(), answer);
    }
}

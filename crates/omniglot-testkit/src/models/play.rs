//! A script as it is played: the replies that are left, the side replies, and the requests so far.
//!
//! The servers of all wires share it; it knows no wire.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::watch;

use super::reply::Reply;
use super::request::Request;

/// A side request with a reply of the test's own.
pub(crate) struct Side {
    pub(crate) when: Box<dyn Fn(&Request) -> bool + Send + Sync>,
    pub(crate) reply: Reply,
}

pub(crate) struct Play {
    sides: Vec<Side>,
    state: Mutex<State>,
    news: watch::Sender<usize>,
}

struct State {
    replies: VecDeque<Reply>,
    requests: Vec<Request>,
}

impl Play {
    pub(crate) fn new(replies: VecDeque<Reply>, sides: Vec<Side>) -> Self {
        let state = Mutex::new(State { replies, requests: vec![] });
        Self { sides, state, news: watch::Sender::new(0) }
    }

    pub(crate) fn push(&self, reply: Reply) {
        let mut state = self.state();
        state.replies.retain(|reply| !reply.forever);
        state.replies.push_back(reply);
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    pub(crate) fn news(&self) -> watch::Receiver<usize> {
        self.news.subscribe()
    }

    /// Returns the replies that no request has taken.
    pub(crate) fn left(&self) -> Vec<Reply> {
        self.state().replies.iter().filter(|reply| !reply.forever).cloned().collect()
    }

    /// Returns the test's own reply to a side request.
    pub(crate) fn side(&self, request: &Request) -> Option<Reply> {
        self.sides.iter().find(|side| (side.when)(request)).map(|side| side.reply.clone())
    }

    /// Takes the next reply that fits this request.
    pub(crate) fn take(&self, request: &Request) -> Option<Reply> {
        let mut state = self.state();
        let at = state.replies.iter().position(|reply| reply.fits(request))?;
        if state.replies.get(at)?.forever { state.replies.get(at).cloned() } else { state.replies.remove(at) }
    }

    /// Records the request and returns its number.
    pub(crate) fn record(&self, request: Request) -> usize {
        let mut state = self.state();
        state.requests.push(request);
        let number = state.requests.len();
        drop(state);
        self.news.send_replace(number);
        number
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with the script in hand")
    }
}

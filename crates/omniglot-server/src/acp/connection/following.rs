//! Which sessions a client follows: taken up with `session/new`, `load`, `resume`, `fork` or a prompt, and
//! left with `close`, `delete` or the end of the connection. A client that lends its machine lends it to each.

use omniglot_runtime::Hub;
use omniglot_schema::SessionId;
use omniglot_store::{SessionNo, SessionRecord};
use tokio::task::AbortHandle;

use super::cursor::Place;
use super::outbox::{Follow, What};
use super::waiting::Asker;
use super::{Connection, Shared, lock};
use crate::acp::errands;

pub(crate) struct Following {
    no: SessionNo,
    /// Ends the errands that the client does for the session's agent.
    errands: Option<AbortHandle>,
}

impl Drop for Following {
    fn drop(&mut self) {
        if let Some(errands) = &self.errands {
            errands.abort();
        }
    }
}

/// From where a session is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// Everything, the client's own words included, as `session/load` wants it.
    Story,
    /// Everything that is not the client's own.
    Birth,
    /// Only what comes.
    Now,
    /// Where the client left off.
    Place(Place),
}

impl Connection {
    pub(crate) fn follow(self: &Shared, hub: &Hub, record: &SessionRecord, from: From) {
        let end = record.last_seq;
        let (from, told_until) = match from {
            From::Story => (Place::default(), end),
            From::Birth => (Place::default(), 0),
            From::Now => (Place::after(end), 0),
            From::Place(place) => (place, 0),
        };
        let follow = Follow { no: record.no, from, told_until };
        let following = Following { no: record.no, errands: self.lend(hub, &record.id) };
        lock(&self.following).insert(record.id.clone(), following);
        self.outbox.push(What::Follow(follow), None);
    }

    fn lend(self: &Shared, hub: &Hub, id: &SessionId) -> Option<AbortHandle> {
        let offer = errands::offer(&self.client());
        if offer.is_empty() {
            return None;
        }
        let errands = errands::serve(hub.lend(id, offer), id.clone(), Asker(self.clone()));
        Some(tokio::spawn(errands).abort_handle())
    }

    pub(crate) fn follows(&self, id: &SessionId) -> bool {
        lock(&self.following).contains_key(id)
    }

    pub(crate) fn leave(&self, id: &SessionId) {
        if let Some(following) = lock(&self.following).remove(id) {
            self.outbox.push(What::Leave(following.no), None);
        }
    }

    /// The client is gone; its sessions go on.
    pub(crate) fn end(&self) {
        self.gone.cancel();
        lock(&self.following).clear();
    }
}

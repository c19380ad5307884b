//! The sessions that a client follows: added by `session/new`, `load`, `resume`, `fork` or a prompt, and
//! removed by `close`, `delete` or a disconnect. A client that offers its machine offers it to each.

use omniglot_runtime::Hub;
use omniglot_schema::{Scope, SessionId};
use omniglot_store::{SessionNo, SessionRecord};
use tokio::task::AbortHandle;

use super::cursor::LogPosition;
use super::outbox::{Follow, What};
use super::waiting::Asker;
use super::{Connection, Shared, lock};
use crate::faces::acp::state::client_host;

pub(crate) struct Following {
    no: SessionNo,
    /// Ends the client's host requests for the session's agent.
    requests: Option<AbortHandle>,
}

impl Drop for Following {
    fn drop(&mut self) {
        if let Some(requests) = &self.requests {
            requests.abort();
        }
    }
}

/// The position from which a session is streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// The whole conversation, the client's own messages included, as `session/load` requires.
    Story,
    /// Everything except the client's own messages.
    Birth,
    /// Only new events.
    Now,
    /// The position of the client's cursor.
    LogPosition(LogPosition),
}

impl Connection {
    pub(crate) fn follow(self: &Shared, hub: &Hub, record: &SessionRecord, from: From) {
        self.take_up(record, from, || self.add_client_host(hub, &record.id));
    }

    /// A session that is followed already continues at its position, unless another one is requested.
    fn take_up(
        &self,
        record: &SessionRecord,
        from: From,
        add_client_host: impl FnOnce() -> Option<AbortHandle>,
    ) {
        let mut following = lock(&self.following);
        // Under the lock, which the end of the connection takes after it has cancelled `gone`.
        if self.gone.is_cancelled() {
            return;
        }
        let known = following.get_mut(&record.id).filter(|known| known.no == record.no);
        match (known, from) {
            (Some(known), From::Now | From::Birth) => {
                // The client may have sent its capabilities only after it was recognised.
                if known.requests.as_ref().is_none_or(AbortHandle::is_finished) {
                    known.requests = add_client_host();
                }
            }
            (_, from) => {
                let requests = add_client_host();
                following.insert(record.id.clone(), Following { no: record.no, requests });
                self.outbox.push(What::Follow(from.of(record)), None);
            }
        }
    }

    /// An agent reads and writes the files of a client only if this client may drive it.
    fn add_client_host(self: &Shared, hub: &Hub, id: &SessionId) -> Option<AbortHandle> {
        let offer = client_host::offer(&self.client());
        if offer.is_empty() || !hub.caller().may(Scope::Drive) {
            return None;
        }
        let requests = client_host::serve(hub.add_client_host(id, offer), id.clone(), Asker::new(self, id));
        Some(tokio::spawn(requests).abort_handle())
    }

    pub(crate) fn follows(&self, id: &SessionId) -> bool {
        lock(&self.following).contains_key(id)
    }

    pub(crate) fn leave(&self, id: &SessionId) {
        let left = lock(&self.following).remove(id);
        if let Some(following) = left {
            self.disown(id);
            self.outbox.push(What::Leave(following.no), None);
        }
    }

    /// Ends the client; its sessions continue.
    pub(crate) fn end(&self) {
        self.gone.cancel();
        lock(&self.following).clear();
    }
}

impl From {
    fn of(self, record: &SessionRecord) -> Follow {
        let (from, told_until) = match self {
            Self::Story => (LogPosition::default(), record.last_seq),
            Self::Birth => (LogPosition::default(), 0),
            Self::Now => (LogPosition::after(record.last_seq), 0),
            Self::LogPosition(place) => (place, 0),
        };
        Follow { no: record.no, session: record.id.clone(), from, told_until }
    }
}

#[cfg(test)]
mod tests {
    use super::super::registry::Connections;
    use super::*;

    fn record(no: i64, last_seq: u64) -> SessionRecord {
        SessionRecord {
            no: SessionNo(no),
            id: SessionId::parse("s").unwrap(),
            epoch: "e1".into(),
            agent: "mock".into(),
            request: String::new(),
            labels: Default::default(),
            created_ms: 0,
            updated_ms: 0,
            fold: String::new(),
            ended: false,
            open_from: None,
            last_seq,
            last_frame: 0,
        }
    }

    #[track_caller]
    fn followed(connection: &Connection) -> Vec<(SessionNo, u64)> {
        let followed = connection.outbox.followed(u64::MAX);
        followed.iter().map(|follow| (follow.no, follow.from.sequence)).collect()
    }

    #[test]
    fn a_session_that_is_followed_goes_on_where_it_is() {
        let connection = Connections::new(9).find_or_create("c").unwrap();
        connection.take_up(&record(1, 5), From::Now, || None);
        connection.take_up(&record(1, 9), From::Now, || None);
        assert_eq!(followed(&connection), [(SessionNo(1), 5)]);
        connection.take_up(&record(1, 9), From::Story, || None);
        assert_eq!(followed(&connection), [(SessionNo(1), 0)]);
    }

    #[test]
    fn another_session_of_the_same_name_is_followed_anew() {
        let connection = Connections::new(9).find_or_create("c").unwrap();
        connection.take_up(&record(1, 5), From::Now, || None);
        connection.take_up(&record(2, 3), From::Now, || None);
        assert!(followed(&connection).contains(&(SessionNo(2), 3)));
    }

    #[test]
    fn a_client_that_is_gone_follows_and_lends_nothing() {
        let connection = Connections::new(9).find_or_create("c").unwrap();
        connection.end();
        connection.take_up(&record(1, 5), From::Now, || panic!("lent"));
        assert!(followed(&connection).is_empty() && !connection.follows(&record(1, 5).id));
    }
}

//! All clients of the daemon by the name that they chose, which is part of their URL.
//!
//! A client without a request for a day is removed. It loses only its pending answers: a cursor or the id of
//! a session is enough to continue.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Connection, Shared, lock};

const FORGOTTEN_AFTER: Duration = Duration::from_hours(24);

/// The name of a client. Each token has names of its own, so that nobody reads or answers for another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ClientName {
    /// The id of the client's token; `None` for the daemon's own.
    pub(crate) token: Option<String>,
    pub(crate) id: String,
}

#[cfg(test)]
impl From<&str> for ClientName {
    fn from(id: &str) -> Self {
        Self { token: None, id: id.to_owned() }
    }
}

pub(crate) struct Connections {
    /// How many are remembered.
    limit: usize,
    known: Mutex<HashMap<ClientName, Known>>,
    arrived: Notify,
}

struct Known {
    connection: Shared,
    heard: Instant,
}

impl Known {
    fn is_remembered(&self) -> bool {
        let remembered = self.connection.has_reader() || self.heard.elapsed() < FORGOTTEN_AFTER;
        if !remembered {
            self.connection.end();
        }
        remembered
    }
}

/// A client as it is listed.
pub(crate) struct Listed {
    pub(crate) id: String,
    pub(crate) agent: Option<String>,
    pub(crate) created: Timestamp,
}

/// All clients that the daemon remembers are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyClients(pub(crate) usize);

impl Connections {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, known: Mutex::default(), arrived: Notify::new() }
    }

    pub(crate) fn find(&self, name: &ClientName) -> Option<Shared> {
        let mut known = lock(&self.known);
        let found = known.get_mut(name)?;
        found.heard = Instant::now();
        Some(found.connection.clone())
    }

    /// Returns the client of that name, which may be new. When there are too many, the one of which nobody has heard
    /// for the longest time is forgotten, but none that reads.
    pub(crate) fn find_or_create(&self, name: impl Into<ClientName>) -> Result<Shared, TooManyClients> {
        let name = name.into();
        let mut known = lock(&self.known);
        known.retain(|_, known| known.is_remembered());
        if known.len() >= self.limit && !known.contains_key(&name) {
            let unread = known.iter().filter(|(_, known)| !known.connection.has_reader());
            let longest = unread.min_by_key(|(_, known)| known.heard).map(|(name, _)| name.clone());
            let forgotten = longest.and_then(|name| known.remove(&name)).ok_or(TooManyClients(self.limit))?;
            forgotten.connection.end();
        }
        let id = name.id.clone();
        let found = known
            .entry(name)
            .or_insert_with(|| Known { connection: Shared::new(Connection::new(id)), heard: Instant::now() });
        found.heard = Instant::now();
        self.arrived.notify_waiters();
        Ok(found.connection.clone())
    }

    /// Waits a little for a client whose first message is on its way at the same time.
    pub(crate) async fn expect(&self, name: &ClientName, timeout: Duration) -> Option<Shared> {
        let found = async {
            loop {
                let arrived = self.arrived.notified();
                tokio::pin!(arrived);
                // Before the lookup, so that no arrival is missed in between.
                arrived.as_mut().enable();
                if let Some(connection) = self.find(name) {
                    return connection;
                }
                arrived.await;
            }
        };
        tokio::time::timeout(timeout, found).await.ok()
    }

    pub(crate) fn remove(&self, name: &ClientName) {
        let removed = lock(&self.known).remove(name);
        if let Some(known) = removed {
            known.connection.end();
        }
    }

    /// Lists the clients that `shown` accepts, oldest first.
    pub(crate) fn list(&self, shown: impl Fn(&ClientName) -> bool) -> Vec<Listed> {
        let known = lock(&self.known);
        let mut listed: Vec<_> = known
            .iter()
            .filter(|(name, _)| shown(name))
            .map(|(_, Known { connection, .. })| Listed {
                id: connection.id.clone(),
                agent: connection.agent().map(str::to_owned),
                created: connection.created,
            })
            .collect();
        listed.sort_by_key(|listed| listed.created);
        listed
    }
}

#[cfg(test)]
mod tests {
    use agent_client_protocol_schema::ProtocolVersion;
    use agent_client_protocol_schema::v1::InitializeRequest;

    use super::*;

    #[track_caller]
    fn names(connections: &Connections) -> Vec<String> {
        connections.list(|_| true).into_iter().map(|listed| listed.id).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_of_which_nobody_hears_is_forgotten_and_one_that_reads_is_not() {
        let connections = Connections::new(9);
        let silent = connections.find_or_create("silent").unwrap();
        let _stream = connections.find_or_create("reading").unwrap().outbox.enter(0);
        tokio::time::advance(FORGOTTEN_AFTER).await;
        connections.find_or_create("new").unwrap();
        let mut left = names(&connections);
        left.sort();
        assert_eq!(left, ["new", "reading"]);
        assert!(silent.gone.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_is_waited_for_a_little() {
        let connections = Connections::new(9);
        let (timeout, name) = (Duration::from_secs(5), ClientName::from("c"));
        let (found, ()) = tokio::join!(connections.expect(&name, timeout), async {
            tokio::time::advance(timeout / 2).await;
            connections.find_or_create("c").unwrap();
        });
        assert!(found.is_some());
        assert!(connections.expect(&"nobody".into(), timeout).await.is_none());
    }

    /// D10: 20,000 clients that nobody used were kept for a day.
    #[tokio::test(start_paused = true)]
    async fn the_longest_unheard_client_makes_room_and_one_that_reads_does_not() {
        let connections = Connections::new(2);
        let reading = connections.find_or_create("reading").unwrap();
        let _stream = reading.outbox.enter(0);
        tokio::time::advance(Duration::from_secs(1)).await;
        let silent = connections.find_or_create("silent").unwrap();
        let new = connections.find_or_create("new").unwrap();
        assert!(silent.gone.is_cancelled() && !reading.gone.is_cancelled());
        assert_eq!(names(&connections).len(), 2);
        let _stream = new.outbox.enter(0);
        assert_eq!(connections.find_or_create("last").err(), Some(TooManyClients(2)));
        assert!(connections.find_or_create("new").is_ok());
    }

    #[test]
    fn a_client_names_one_agent() {
        let connection = Connections::new(9).find_or_create("c").unwrap();
        assert_eq!(connection.agent(), None);
        assert_eq!(connection.choose("mock".into()), Ok(()));
        assert_eq!(connection.choose("mock".into()), Ok(()));
        assert_eq!(connection.choose("other".into()), Err("mock"));
    }

    #[test]
    fn a_client_that_is_known_again_has_its_sessions_agent_until_it_names_one() {
        let connection = Connections::new(9).find_or_create("c").unwrap();
        connection.recall("mock");
        connection.recall("second");
        assert_eq!(connection.agent(), Some("mock"));
        assert_eq!(connection.choose("other".into()), Ok(()));
        assert_eq!(connection.agent(), Some("other"));
    }

    #[test]
    fn a_client_that_has_introduced_itself_is_not_taken_for_a_forgotten_one() {
        let connection = Connections::new(9).find_or_create("c").unwrap();
        connection.introduce(InitializeRequest::new(ProtocolVersion::V1));
        connection.recall("mock");
        assert_eq!(connection.agent(), None);
    }
}

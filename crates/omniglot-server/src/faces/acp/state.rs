//! The state of this face while the daemon runs: the connection of every client.

pub(crate) mod client_host;
pub(crate) mod connection;
pub(crate) mod fetch;

use std::sync::Arc;

use crate::app::App;
use connection::registry::Connections;

/// The state of this face's routes. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Face {
    pub(crate) app: App,
    pub(crate) connections: Arc<Connections>,
}

impl Face {
    pub(crate) fn new(app: App) -> Self {
        Self { app, connections: Arc::default() }
    }
}

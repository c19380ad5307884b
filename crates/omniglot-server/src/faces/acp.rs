//! The ACP face: clients of the Agent Client Protocol drive any agent.
//!
//! `project` maps the universal stream to ACP messages, `wanted`, `settings` and `inquiry` map what clients
//! send to our commands, `setup` and `failure` shape the answers; all of them are pure. `connection` is what
//! lasts of a client, `serve` what its messages do, `routes` how they come and go.

mod client_host;
pub(crate) mod connection;
pub mod failure;
mod fetch;
mod headers;
pub mod inquiry;
pub mod meta;
pub mod project;
mod routes;
mod rpc;
mod serve;
pub mod settings;
pub mod setup;
pub mod wanted;

use std::sync::Arc;

use crate::app::App;
use connection::registry::Connections;
pub(crate) use routes::table;

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

//! The state of this face while the daemon runs: the connection of every client.

pub(crate) mod client_host;
pub(crate) mod connection;
pub(crate) mod fetch;

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::request::Parts;
use omniglot_runtime::Caller;

use crate::app::{App, ForCaller, Unscoped};
use crate::http::problem::Problem;
use connection::Shared;
use connection::registry::{ClientName, Connections, TooManyClients};

/// The state of this face's routes. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Face {
    pub(crate) app: App,
    pub(crate) connections: Arc<Connections>,
}

impl Face {
    pub(crate) fn new(app: App) -> Self {
        let connections = Arc::new(Connections::new(app.limits.acp_clients));
        Self { app, connections }
    }

    /// The name of this caller's client.
    pub(crate) fn client_name(&self, id: &str) -> ClientName {
        ClientName { token: self.app.hub.caller().token_id().map(str::to_owned), id: id.to_owned() }
    }

    /// Returns the client of that name, which may be new. It ends with its token.
    pub(crate) fn connection(&self, id: &str) -> Result<Shared, Problem> {
        let name = self.client_name(id);
        let connection = self.connections.find_or_create(name.clone()).map_err(too_many)?;
        if name.token.is_some() && connection.is_first_watched() {
            let (connections, caller) = (self.connections.clone(), self.app.hub.caller().clone());
            let gone = connection.gone.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = caller.ended() => connections.remove(&name),
                    () = gone.cancelled() => {}
                }
            });
        }
        Ok(connection)
    }
}

fn too_many(TooManyClients(limit): TooManyClients) -> Problem {
    let detail = format!("{limit} ACP clients are connected, which is the limit");
    Problem::overloaded(detail).hint("end some of them, or raise `acp_clients` under [limits]")
}

impl ForCaller for Face {
    fn app(&self) -> &App {
        &self.app
    }

    fn for_caller(&self, caller: Caller) -> Self {
        Self { app: self.app.for_caller(caller), ..self.clone() }
    }
}

impl FromRequestParts<Unscoped<Self>> for Face {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Unscoped<Self>) -> Result<Self, Problem> {
        state.of_request(parts)
    }
}

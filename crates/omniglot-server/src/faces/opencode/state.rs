//! The state of this face while the daemon runs: the relay that follows sessions for all streams, and the catalog of
//! agents.

mod active_views;
pub(super) mod catalog;
#[cfg(test)]
pub(super) mod fixture;
mod pictures;
pub(super) mod project_info;
pub(super) mod reader;
pub(super) mod relay;
pub(super) mod ring;
pub(super) mod seen_sessions;
pub(super) mod session_view;
pub(super) mod stream;
mod view_cache;
pub(super) mod windows;

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::request::Parts;
use omniglot_runtime::{Caller, RuntimeError};
use omniglot_schema::SessionId;

use crate::app::{App, ForCaller, Unscoped};
use crate::http::problem::Problem;
use catalog::Catalog;
use relay::Relay;
use session_view::SessionView;

/// The state of all routes. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Face {
    pub(crate) app: App,
    pub(crate) relay: Arc<Relay>,
    pub(crate) catalog: Arc<Catalog>,
}

impl Face {
    pub(crate) fn new(app: App) -> Self {
        let relay = Relay::new(app.hub.clone());
        let catalog = Catalog::new(app.hub.clone(), relay.clone());
        Self { app, relay, catalog }
    }

    /// Reads the current view of a session that the caller sees.
    pub(crate) async fn view<T>(
        &self,
        id: &SessionId,
        look: impl FnOnce(&SessionView) -> T,
    ) -> Result<T, RuntimeError> {
        self.relay.view(&self.app.hub.record(id).await?, look).await
    }
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

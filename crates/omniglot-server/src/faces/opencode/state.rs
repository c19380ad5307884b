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
pub(super) mod session_view;
pub(super) mod stream;
mod view_cache;

use std::sync::Arc;

use crate::app::App;
use catalog::Catalog;
use relay::Relay;

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
}

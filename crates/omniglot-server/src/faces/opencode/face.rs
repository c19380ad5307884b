//! The state that every route of this face shares.

use std::sync::Arc;

use super::catalog::Catalog;
use super::relay::Relay;
use crate::app::App;

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

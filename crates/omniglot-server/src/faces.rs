//! The faces of the daemon: each maps the universal stream to the wire of one kind of client.
//!
//! All have one shape: `wire` has the types and names of the protocol, `project` maps events to them and is pure,
//! `state` is what the face keeps while it runs, `routes` take requests. Each uses only those before it. The REST
//! face has no `project`: its events are those of the log. A face imports no other face; what two of them need is
//! beneath them, in `http`. A new face is a folder and a line in `router`. `ui` is no face but the files of the page that
//! uses one, and `answer_page` one page for one request.

pub mod acp;
mod answer_page;
pub mod opencode;
mod rest;
mod scopes;
mod ui;

use std::sync::Arc;

use axum::Router;
use serde_json::Value;

use crate::app::{App, Unscoped};
use crate::http::access::{FaceAccess, RefusalScreen};

/// How faces read credentials and tell refusals that do so in their own way.
pub(crate) const ACCESS: &[FaceAccess] = &[opencode::ACCESS, rest::TERMINAL_ACCESS];

#[cfg(test)]
pub(crate) use scopes::all as all_routes;
pub(crate) use scopes::needs;

/// All routes, ready to be guarded and served, and where refusals of that guard are shown.
pub(crate) fn router(app: &App) -> (Router, Arc<dyn RefusalScreen>) {
    let opencode = opencode::Face::new(app.clone());
    let described = rest::table().with_state(Unscoped::new(app.clone()));
    let acp = acp::table().with_state(Unscoped::new(acp::Face::new(app.clone())));
    let (router, _) = described.merge(acp).split_for_parts();
    let router = router
        .merge(ui::router())
        .merge(answer_page::router(app.clone()))
        .fallback(rest::no_route)
        .method_not_allowed_fallback(rest::no_method)
        .merge(opencode::probe())
        .nest_service(opencode::PREFIX, opencode::router(opencode.clone()));
    (router, Arc::new(opencode))
}

/// The description of the routes below `/v1`, OpenAPI 3.1.
pub fn openapi() -> Value {
    let mut described = rest::table().into_openapi();
    described.merge(acp::table().into_openapi());
    crate::description::for_generators(serde_json::to_value(described).unwrap_or_default())
}

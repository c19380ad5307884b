//! The OpenCode face: any client of OpenCode drives any agent.
//!
//! `project` maps a session's events to OpenCode's, and is pure; `wire` has OpenCode's own records and `ids` its
//! ids. Routes and streams carry that over HTTP.

mod active_views;
mod bodies;
mod catalog;
mod credentials;
mod directory;
mod face;
mod find;
#[cfg(test)]
mod fixture;
pub mod ids;
mod initial_state;
mod pictures;
pub mod project;
mod project_info;
mod prompt;
mod provider_list;
mod reader;
mod refusal;
mod relay;
mod ring;
mod routes;
mod session_view;
mod settings;
mod stream;
mod view_cache;
pub mod wire;

use axum::response::IntoResponse as _;

use crate::http::access::FaceAccess;
pub(crate) use credentials::PREFIX;
pub(crate) use face::Face;
pub(crate) use routes::{probes, router};

/// How clients of OpenCode show the token, and are told that it is wrong.
pub(crate) const ACCESS: FaceAccess = FaceAccess {
    serves: credentials::is_ours,
    password: credentials::password,
    refuse: |problem| refusal::Refusal::of(problem).into_response(),
};

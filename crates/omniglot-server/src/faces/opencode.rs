//! The OpenCode face: any client of OpenCode drives any agent.
//!
//! `wire` has OpenCode's own records and ids, `project` maps a session's events to OpenCode's, and is pure. `state`
//! follows the sessions for all streams, `routes` carry that over HTTP.

pub mod project;
mod routes;
mod state;
pub mod wire;

use axum::response::IntoResponse as _;

use crate::http::access::FaceAccess;
#[cfg(test)]
pub(crate) use routes::credentials::PROBE;
pub(crate) use routes::credentials::{PREFIX, without_agent};
use routes::{credentials, refusal};
pub(crate) use routes::{probe, router};
pub(crate) use state::Face;
pub(crate) use wire::ids::session_of;

/// How clients of OpenCode show the token, and are told that it is wrong.
pub(crate) const ACCESS: FaceAccess = FaceAccess {
    serves: credentials::is_ours,
    password: credentials::password,
    refuse: |problem| refusal::Refusal::of(problem).into_response(),
};

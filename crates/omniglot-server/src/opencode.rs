//! The OpenCode face: any client of OpenCode drives any agent.
//!
//! `project` maps a session's events to OpenCode's, and is pure; `wire` has OpenCode's own records and `ids` its
//! ids. Routes and streams carry that over HTTP.

mod asked;
mod backlog;
mod catalog;
pub(crate) mod credentials;
mod directory;
mod face;
mod find;
mod greeting;
pub mod ids;
mod live;
mod lives;
mod offer;
mod pictures;
mod place;
pub mod project;
mod prompt;
mod reader;
pub(crate) mod refusal;
mod relay;
mod routes;
mod settings;
mod shelf;
mod stream;
mod turns;
pub mod wire;

pub(crate) use face::Face;
pub(crate) use routes::{probes, router};

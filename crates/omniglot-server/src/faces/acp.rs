//! The ACP face: clients of the Agent Client Protocol drive any agent.
//!
//! `wire` has the envelope, the extensions and the requests of clients, `project` maps the universal stream to ACP
//! messages; both are pure. `state` is what lasts of a client, `routes` how its messages come and go and what they
//! do.

pub mod project;
mod routes;
mod state;
pub mod wire;

pub(crate) use routes::table;
pub(crate) use state::Face;

//! The ACP face: clients of the Agent Client Protocol drive any agent.
//!
//! `project` maps the universal stream to ACP messages, `wanted`, `settings` and `asked` map what clients
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
pub(crate) mod routes;
mod rpc;
mod serve;
pub mod settings;
pub mod setup;
mod uri;
pub mod wanted;

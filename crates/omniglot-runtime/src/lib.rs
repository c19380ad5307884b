//! Owns sessions and child processes, drives adapters, orders events.
//!
//! Knows no HTTP, no face's wire types and no agent's wire types.

mod agent;
mod attachments;
pub mod catalog;
pub mod config;
mod credentials;
pub mod deadlines;
pub mod digest;
mod doors;
pub mod error;
pub mod files;
pub mod guard;
mod host;
mod http;
pub mod hub;
pub mod import;
mod leftovers;
pub mod lending;
pub mod lines;
mod mask;
mod mcp;
mod opening;
pub mod process;
mod proctree;
mod server;
mod session;
pub mod sweep;
mod vessel;

pub use deadlines::Deadlines;
pub use error::RuntimeError;
pub use hub::{Backlog, Exchanged, Heir, Hub, HubConfig, IdempotencyKey, Load, Posted};

//! Owns sessions and child processes, drives adapters, orders events.
//!
//! Knows no HTTP, no face's wire types and no agent's wire types.

mod agent;
mod attachments;
pub mod catalog;
pub mod client_host;
pub mod config;
mod credentials;
pub mod deadlines;
pub mod digest;
pub mod error;
pub mod files;
pub mod guard;
mod host;
mod http;
pub mod hub;
pub mod import;
pub mod lines;
mod mask;
mod mcp;
mod orphans;
pub mod process;
mod process_handle;
mod proctree;
mod server;
mod session;
mod session_locks;
mod session_start;
pub mod sweep;

pub use deadlines::Deadlines;
pub use error::RuntimeError;
pub use hub::{Backlog, Hub, HubConfig, IdempotencyKey, Load, NewAgent, Posted, Reassigned};

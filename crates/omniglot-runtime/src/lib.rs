//! Owns sessions and child processes, drives adapters, orders events.
//!
//! Knows no HTTP, no face's wire types and no agent's wire types.

mod agent;
mod attachments;
pub mod catalog;
pub mod config;
pub mod deadlines;
pub mod digest;
mod doors;
pub mod error;
pub mod guard;
pub mod hub;
pub mod lines;
mod mask;
mod opening;
pub mod process;
mod proctree;
mod session;
pub mod sweep;

pub use deadlines::Deadlines;
pub use error::RuntimeError;
pub use hub::{Hub, HubConfig, IdempotencyKey, Posted};

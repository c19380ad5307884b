//! Owns sessions and child processes, drives adapters, orders events.
//!
//! Knows no HTTP, no face's wire types and no agent's wire types.

pub mod error;
pub mod hub;

pub use error::RuntimeError;
pub use hub::{Hub, IdempotencyKey, Posted};

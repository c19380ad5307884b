//! Pure adapters: one agent's words to drafts, commands to its words.
//!
//! Knows no async, no file, no socket, no clock and no face.

pub mod contract;
pub mod launch;

pub use contract::*;
pub use launch::LaunchSpec;

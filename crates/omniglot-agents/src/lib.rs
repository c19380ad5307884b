//! Pure adapters: one agent's words to drafts, commands to its words.
//!
//! Knows no async, no file, no socket, no clock and no face.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod acp;
pub mod contract;
pub mod exit;
pub mod launch;
pub mod registry;
pub mod replay;
pub mod stderr;

pub use contract::*;
pub use exit::Exit;
pub use launch::LaunchSpec;

//! Pure adapters: one agent's words to drafts, commands to its words.
//!
//! Knows no async, no file, no socket, no clock and no face.

#![warn(clippy::wildcard_enum_match_arm)]

mod about;
pub mod acp;
pub mod adapter;
pub mod amp;
pub mod claude;
pub mod codex;
pub mod contract;
mod conversation;
mod diff;
pub mod exit;
mod fault;
mod form;
mod grant;
pub mod history;
pub mod host;
pub mod http;
pub mod launch;
mod models;
pub mod nearest;
pub mod opencode;
pub mod pi;
pub mod prepare;
pub mod registry;
pub mod replay;
mod rpc;
pub mod stderr;

pub use adapter::{Adapter, CreationOptions, Lifetime, SkillsDir};
pub use contract::*;
pub use exit::Exit;
pub use host::{
    HostAsk, HostError, HostErrorKind, HostKey, HostOutcome, HostRequest, ReadFile, TerminalStart,
    TerminalText,
};
pub use launch::LaunchSpec;
pub use registry::Registry;

//! One live agent and what it takes to have one: how it is started, the server that it may share, the files
//! and terminals that it asks for, its credentials, MCP servers and skills.
//!
//! Knows the sans-IO contract of the adapters and the processes below it; sessions are above it.

pub(crate) mod attachments;
pub mod catalog;
pub mod client_host;
pub(crate) mod credentials;
pub(crate) mod early;
mod empty_transcripts;
pub(crate) mod host;
mod http;
pub(crate) mod install;
pub(crate) mod installed;
mod live;
mod mask;
pub(crate) mod mcp;
pub(crate) mod prepared;
pub(crate) mod restart_policy;
pub(crate) mod run_command;
pub(crate) mod session_start;
pub(crate) mod shared_server;
pub(crate) mod skills;
mod translated;
mod version;
pub(crate) mod versions;

pub(crate) use live::{Agent, AgentEvent, Sending, Ticket};
pub(crate) use translated::{Translated, is_unparsed};

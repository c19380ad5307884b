//! The universal vocabulary: every type that the REST face and the log use, and its JSON Schema.
//!
//! Also two forms that adapters and faces share: the JSON-RPC envelope and `file://` URIs. Knows no agent, no
//! face, no IO. Names and types follow the published contract; our additions are optional
//! fields and one event type, `session.updated`.

pub mod agent;
mod blob_paths;
pub mod check;
pub mod daemon;
pub mod desktop;
pub mod event;
mod event_ids;
pub mod export;
pub mod files;
pub mod hook;
pub mod ids;
pub mod install;
pub mod item;
pub mod json_rpc;
pub mod label;
pub mod lifecycle;
pub mod listed;
pub mod mcp;
pub mod message;
pub mod problem;
pub mod process;
pub mod request;
pub mod rule;
pub mod search;
pub mod secrets;
pub mod session;
pub mod state;
pub mod token;
pub mod tool;
pub mod uri;
pub mod usage;

pub use agent::*;
pub use check::*;
pub use daemon::*;
pub use desktop::*;
pub use event::*;
pub use export::*;
pub use files::*;
pub use hook::*;
pub use ids::*;
pub use install::*;
pub use item::*;
pub use label::*;
pub use lifecycle::*;
pub use listed::*;
pub use mcp::*;
pub use message::*;
pub use problem::*;
pub use process::*;
pub use request::*;
pub use rule::*;
pub use search::*;
pub use session::*;
pub use state::*;
pub use token::*;
pub use tool::*;
pub use usage::*;

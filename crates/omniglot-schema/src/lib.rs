//! The universal vocabulary: every type that the REST face and the log speak, and its JSON Schema.
//!
//! Knows no agent, no face, no IO. Names and types follow the published contract; what we add is
//! optional fields and one event type, `session.updated`.

pub mod agent;
pub mod event;
pub mod ids;
pub mod item;
pub mod mcp;
pub mod message;
pub mod problem;
pub mod session;
pub mod state;
pub mod usage;

pub use agent::*;
pub use event::*;
pub use ids::*;
pub use item::*;
pub use mcp::*;
pub use message::*;
pub use problem::*;
pub use session::*;
pub use state::*;
pub use usage::*;

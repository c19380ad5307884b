//! Owns sessions and child processes, drives adapters, orders events.
//!
//! Knows no HTTP, no face's wire types and no agent's wire types.

pub mod agent;
mod caller;
pub mod config;
pub mod confined;
mod data_url;
pub mod deadlines;
pub mod digest;
pub mod error;
pub mod files;
pub mod hub;
mod log_context;
mod metrics;
pub mod process;
mod session;
pub mod snapshots;

pub use caller::Caller;
pub use data_url::DataUrl;
pub use deadlines::Deadlines;
pub use error::{ProcessError, RuntimeError};
pub use hub::{
    AllEvents, AllEventsFilter, AllEventsPiece, Backlog, CommitPosition, Followed, FollowedTurn, Hub,
    HubConfig, Load, NAMED_TOKEN_PREFIX, NamedToken, NewAgent, Observation, Reassigned, TurnOutcome, Upload,
    floor,
};
pub use log_context::LOG_CONTEXT;
pub use metrics::{AgentMetrics, Metrics};
pub use process::user::UserProcess;
pub use session::{IdempotencyKey, Posted, evaluate_rules};

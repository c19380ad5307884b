//! The durable event log: appends events and reads them back from a cursor.
//!
//! Knows no agent and no HTTP. One thread writes; an event is visible to a reader or subscriber only
//! after its commit. See [`Store`].

mod backup;
mod changes;
mod check;
mod commits;
mod data_dir;
mod engine;
mod feed;
mod large;
mod lock;
mod metrics;
mod pack;
mod reads;
mod retention;
#[cfg(feature = "simulation")]
pub mod simulation;
mod sqlite;
mod store;
mod subscription;
mod types;
mod words;
mod writer;

pub use backup::{Restored, backup, restore, vacuum};
pub use changes::{Changes, SessionChange};
pub use check::{CheckFault, CheckProgress, CheckSummary, check};
pub use commits::{Commit, CommitFeed, CommitHead, Committed, Removed};
pub use data_dir::{private, private_file, shared};
pub use lock::{LockHolder, lock_holder};
pub use metrics::{Census, Counter, Histogram, SessionCount, SessionStatus, StoreMetrics};
pub use retention::{Dropped, EndedLimits, EndedSession, RawLimits};
pub use sqlite::DATABASE;
pub use store::{Options, Store};
pub use subscription::{Next, Subscription};
pub use types::*;
pub use words::search_terms;

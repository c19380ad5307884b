//! The durable event log: appends events and reads them back from a cursor.
//!
//! Knows no agent and no HTTP. One thread writes; an event is visible to a reader or subscriber only
//! after its commit. See [`Store`].

mod check;
mod engine;
mod feed;
mod lock;
mod news;
mod pack;
mod reads;
mod retention;
mod sqlite;
mod store;
mod subscription;
mod types;
mod writer;

pub use check::{CheckFault, CheckNews, CheckSummary, check};
pub use lock::{LockHolder, lock_holder};
pub use news::{Fate, News};
pub use retention::{Dropped, EndedLimits, EndedSession, RawLimits};
pub use sqlite::DATABASE;
pub use store::{Options, Store};
pub use subscription::{Next, Subscription};
pub use types::*;

//! The durable event log: appends events and reads them back from a cursor.
//!
//! Knows no agent and no HTTP. One thread writes; an event is visible to a reader or subscriber only
//! after its commit. See [`Store`].

mod types;

pub use types::*;

//! The state of this face while the daemon runs: the open event streams. Each holds a cursor and no queue.

pub(super) mod all_events;
pub(super) mod feed;
pub(super) mod process_logs;
pub(super) mod sse;

//! Processes that clients run through the daemon: once, for long, in a terminal; their limits and their end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "processes/access.rs"]
mod access;
#[path = "processes/client.rs"]
mod client;
#[path = "processes/ending.rs"]
mod ending;
#[path = "processes/logs.rs"]
mod logs;
#[path = "processes/runs.rs"]
mod runs;
#[path = "processes/support.rs"]
mod support;
#[path = "processes/terminal.rs"]
mod terminal;

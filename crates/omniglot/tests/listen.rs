//! A daemon that listens elsewhere than on a port of loopback.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "listen/unix.rs"]
mod unix;

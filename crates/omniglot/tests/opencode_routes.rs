//! The routes and streams of the OpenCode face, over a real daemon and a real agent process.
//!
//! `opencode_face` tests them with unmodified clients.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "opencode_routes/access.rs"]
mod access;
#[path = "opencode_routes/files.rs"]
mod files;
#[path = "opencode_routes/handover.rs"]
mod handover;
#[path = "opencode_routes/listings.rs"]
mod listings;
#[path = "opencode_routes/prompts.rs"]
mod prompts;
#[path = "opencode_routes/requests.rs"]
mod requests;
#[path = "opencode_routes/rewind.rs"]
mod rewind;
#[path = "opencode_routes/sessions.rs"]
mod sessions;
#[path = "opencode_routes/shell.rs"]
mod shell;
#[path = "opencode_routes/streams.rs"]
mod streams;
#[path = "opencode_routes/support.rs"]
mod support;

//! The screen in a real browser. The scripts of `ui/` click and look, `ui/page.mjs` watches over every page, and these
//! files prepare daemons and sessions for them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "ui/browser.rs"]
mod browser;
#[path = "ui/files.rs"]
mod files;
#[path = "ui/live.rs"]
mod live;
#[path = "ui/pictures.rs"]
mod pictures;
#[path = "ui/stored.rs"]
mod stored;
#[path = "ui/transcripts.rs"]
mod transcripts;

const OMNIGLOT: &str = env!("CARGO_BIN_EXE_omniglot");

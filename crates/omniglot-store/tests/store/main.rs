//! The log on real files: every appended event is read back, whatever happens in between.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed assumption fails the test")]

mod backup;
mod blobs;
mod check;
mod commits;
mod damage;
mod directory_config;
mod follow;
mod hooks;
mod isolation;
mod kill;
mod older_schemas;
mod read;
mod reopen;
mod repack;
mod retention;
mod search;
mod support;
mod tokens;
mod trouble;

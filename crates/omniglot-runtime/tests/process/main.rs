//! Real processes under a real guard: what they say, how they are ended, and that nothing of them is left.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "tests")]

mod environment;
mod orders;
mod orphans;
mod output;
mod snapshots;
mod support;
mod toy_agent;

//! `cargo xtask soak`: the full counts of tests that `cargo xtask test` runs with small ones.

use crate::shell::Line;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often each of the four tests cuts the stream over all sessions.
    #[arg(long, default_value_t = 10_000)]
    cuts: u32,
    /// How often the power is cut under the log.
    #[arg(long, default_value_t = 20_000)]
    power_cuts: u32,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    // nextest ends tests that take minutes.
    Line::new("cargo test -p omniglot --test all_events of_10_000_cuts -- --nocapture")
        .env("OMNIGLOT_CUTS", &args.cuts.to_string())
        .run()?;
    Line::new("cargo test --workspace --test misbehaving_agents -- --test-threads 1 --nocapture")
        .env("OMNIGLOT_ALL_FAULTS", "1")
        .run()?;
    Line::new("cargo test -p omniglot-store --test power_loss -- --nocapture")
        .env("OMNIGLOT_CUTS", &args.power_cuts.to_string())
        .run()
}

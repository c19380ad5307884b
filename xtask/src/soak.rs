//! `cargo xtask soak`: a daemon under load and faults for minutes or hours, or the full counts of tests that
//! `cargo xtask test` runs with small ones.

use std::path::PathBuf;

use crate::shell::Line;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How long the daemon runs under load while it, its guards, agents and connections are killed.
    #[arg(long, default_value_t = 60, value_name = "N")]
    minutes: u32,
    /// The seed of the random numbers: the same seed gives the same faults.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u32,
    /// Run the full counts of tests instead.
    #[arg(long)]
    counts: bool,
    /// How often each of the four tests cuts the stream over all sessions.
    #[arg(long, default_value_t = 10_000, requires = "counts")]
    cuts: u32,
    /// How often the power is cut under the log.
    #[arg(long, default_value_t = 20_000, requires = "counts")]
    power_cuts: u32,
    /// How many orders of steps are simulated.
    #[arg(long, default_value_t = 5_000, requires = "counts")]
    simulations: u32,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if args.counts {
        return counts(args);
    }
    Line::new("cargo build --release -p omniglot").run()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    Line::new("cargo run --release -p omniglot-testkit --bin soak --")
        .arg(target.join("release/omniglot").to_string_lossy())
        .arg("--minutes")
        .arg(args.minutes.to_string())
        .arg("--seed")
        .arg(args.seed.to_string())
        .run()
}

fn counts(args: &Args) -> anyhow::Result<()> {
    // nextest ends tests that take minutes.
    Line::new("cargo test -p omniglot --test all_events of_10_000_cuts -- --nocapture")
        .env("OMNIGLOT_CUTS", &args.cuts.to_string())
        .run()?;
    Line::new("cargo test --workspace --test misbehaving_agents -- --test-threads 1 --nocapture")
        .env("OMNIGLOT_ALL_FAULTS", "1")
        .run()?;
    Line::new("cargo test -p omniglot-store --test power_loss -- --nocapture")
        .env("OMNIGLOT_CUTS", &args.power_cuts.to_string())
        .run()?;
    Line::new("cargo test --workspace --test simulation -- --nocapture")
        .env("OMNIGLOT_SEEDS", &args.simulations.to_string())
        .run()
}

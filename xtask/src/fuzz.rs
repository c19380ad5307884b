//! `cargo xtask fuzz`: the fuzz targets of the tests with many more cases.
//!
//! They are plain tests (`tests/fuzz.rs` of the agents, the server and the program) that run on stable with a fixed
//! seed. Decision: more cases and other seeds of these are all that this command tries. Targets for cargo-fuzz would be
//! a second set that needs a nightly compiler, which neither CI nor a developer is asked to have.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::shell::Line;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many times the cases of `cargo test` are tried.
    #[arg(long, default_value_t = 50)]
    factor: u32,
    /// The seed of a run that is to be repeated; another one each time by default.
    #[arg(long)]
    seed: Option<u64>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_secs());
    let seed = args.seed.unwrap_or(now);
    println!("seed {seed}; `cargo xtask fuzz --factor {} --seed {seed}` repeats this run", args.factor);
    Line::new("cargo test --workspace --test fuzz")
        .env("OMNIGLOT_FUZZ_FACTOR", &args.factor.to_string())
        .env("OMNIGLOT_FUZZ_SEED", &seed.to_string())
        .run()
}

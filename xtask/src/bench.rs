//! The benchmark: builds for release and starts the harness, which prints the table.

use std::path::PathBuf;

use crate::agents::{self, SANDBOX_AGENT};
use crate::shell::Line;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A tenth of the load or less: to see that it works, not to compare.
    #[arg(long)]
    quick: bool,
    /// Run the same loads against an earlier program of ours, and compare.
    #[arg(long, value_name = "PROGRAM")]
    before: Option<PathBuf>,
    /// Run the same loads against the public sandbox-agent server (needs npm), and compare.
    #[arg(long)]
    peer: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    // The harness starts the daemon as its users do, so the program must exist first.
    Line::new("cargo build --release -p omniglot").run()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let program = target.join("release/omniglot");
    let mut harness =
        Line::new("cargo run --release -p omniglot-testkit --bin bench --").arg(program.to_string_lossy());
    if args.quick {
        harness = harness.arg("--quick");
    }
    if let Some(before) = &args.before {
        harness = harness.arg("--before").arg(before.to_string_lossy());
    }
    if args.peer {
        harness = harness.arg("--peer").arg(agents::program(SANDBOX_AGENT)?.to_string_lossy());
    }
    harness.run()
}

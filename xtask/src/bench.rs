//! The benchmark: builds for release and hands over to the harness, which prints the table.

use std::path::PathBuf;

use crate::shell::Line;

pub(crate) fn run(args: &[String]) -> anyhow::Result<()> {
    // The harness starts the daemon as its users do, so the program must be there first.
    Line::new("cargo build --release -p omniglot").run()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let program = target.join("release/omniglot");
    let harness =
        Line::new("cargo run --release -p omniglot-testkit --bin bench --").arg(program.to_string_lossy());
    args.iter().fold(harness, |line, arg| line.arg(arg)).run()
}

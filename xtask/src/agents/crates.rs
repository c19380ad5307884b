//! Programs of Rust that are no members of the workspace, each with a lock file of its own.

use super::quietly;
use crate::shell::Line;

/// Builds the package in that folder below `target`.
pub(super) fn build(package: &str, target: &str) -> anyhow::Result<()> {
    let cargo = "cargo build --locked --quiet";
    quietly(&Line::new(&format!("{cargo} --manifest-path {package}/Cargo.toml --target-dir {target}")))
}

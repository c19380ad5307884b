//! The cargo tools that the tests need: found on the machine, else installed below target/tools.

use std::path::{Path, PathBuf};

use crate::shell::Line;

/// A cargo subcommand with a version that is known to work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    subcommand: &'static str,
    version: &'static str,
}

pub(crate) const NEXTEST: Tool = Tool { subcommand: "nextest", version: "0.9.143" };
pub(crate) const DENY: Tool = Tool { subcommand: "deny", version: "0.20.2" };

impl Tool {
    /// Returns the command line: `cargo nextest`, or the program that was installed here.
    pub(crate) fn line(self, args: &str) -> anyhow::Result<Line> {
        let Self { subcommand, .. } = self;
        if self.known_to_cargo() {
            return Ok(Line::new(&format!("cargo {subcommand} {args}")));
        }
        if !self.path().exists() {
            self.install()?;
        }
        Ok(Line::new(&format!("{} {subcommand} {args}", self.path().display())))
    }

    fn known_to_cargo(self) -> bool {
        let version = Line::new(&format!("cargo {} --version", self.subcommand)).capture();
        version.is_ok_and(|(success, _)| success)
    }

    fn path(self) -> PathBuf {
        Path::new("target/tools/bin").join(format!("cargo-{}", self.subcommand))
    }

    fn install(self) -> anyhow::Result<()> {
        let Self { subcommand, version } = self;
        println!("\n        cargo-{subcommand} is not installed: building {version} below target/tools.");
        println!("        This happens once and takes some minutes.");
        Line::new(&format!(
            "cargo install --quiet --debug --locked cargo-{subcommand} --version {version} --root target/tools"
        ))
        .run()
    }
}

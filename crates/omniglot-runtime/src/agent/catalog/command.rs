//! Which program of an agent is run: the configured one, one of the search path, or one that the daemon has installed.

use std::path::PathBuf;

use omniglot_agents::LaunchSpec;
use omniglot_agents::adapter::Program;
use omniglot_schema::AgentSource;
use semver::Version;

use super::Entry;
use crate::agent::installed;
use crate::process::Launch;

impl Entry {
    /// Returns the command of an installed version. Without a version, or if it is not installed, that is the
    /// configured command, else the program on the search path, else the newest installed version.
    pub(crate) fn command(&self, version: Option<&str>) -> LaunchSpec {
        let version = version.and_then(|version| installed::parse(version).ok());
        let versions = self.versions.as_ref();
        let program = versions.zip(version).and_then(|(versions, version)| versions.program(&version));
        match program.or_else(|| self.fallback().map(|(_, program)| program)) {
            Some(program) => LaunchSpec {
                program: program.to_string_lossy().into_owned(),
                args: self.switches().iter().map(|word| (*word).to_owned()).collect(),
                env: self.launch.env.clone(),
            },
            None => self.launch.clone(),
        }
    }

    /// Returns the newest installed version of an agent that is neither configured nor on the search path.
    fn fallback(&self) -> Option<(Version, PathBuf)> {
        if self.source == AgentSource::Configured || self.resolve(&self.launch).is_some() {
            return None;
        }
        self.versions.as_ref()?.newest()
    }

    /// The words that start the agent, behind its program.
    fn switches(&self) -> &'static [&'static str] {
        self.adapter.start().and_then(|start| start.command.get(1..)).unwrap_or_default()
    }

    fn resolve(&self, spec: &LaunchSpec) -> Option<PathBuf> {
        Launch::new(spec.clone(), PathBuf::from(".")).resolve().ok()
    }

    /// Where the program is that its sessions use, if it is installed.
    pub fn path(&self) -> Option<PathBuf> {
        self.resolve(&self.command(None))
    }

    /// Returns the version that need not be asked: that of our own program, or of one that the daemon has installed.
    pub(crate) fn known_version(&self) -> Option<String> {
        if self.adapter.program == Program::Own && self.source == AgentSource::BuiltIn {
            return Some(env!("CARGO_PKG_VERSION").to_owned());
        }
        self.fallback().map(|(version, _)| version.to_string())
    }

    /// Returns the command that prints the version, if the program is surely that of a known agent: a configured
    /// command with switches of its own may be anything.
    pub(crate) fn version_command(&self) -> Option<LaunchSpec> {
        self.adapter.start()?;
        let mut spec = self.command(None);
        let kept = spec.args.len().saturating_sub(self.switches().len());
        if spec.args.get(kept..).is_some_and(|end| end == self.switches()) {
            spec.args.truncate(kept);
        }
        if spec.args.iter().any(|word| word.starts_with('-')) {
            return None;
        }
        spec.args.push("--version".to_owned());
        Some(spec)
    }
}

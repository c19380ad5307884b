//! The newest published version of an agent, installed beside the pinned one.

use anyhow::{Context as _, bail};

use super::{AGENTS, Agent, RunsOn, told};
use crate::shell::Line;

/// The folder below that of the agents; the testkit knows it, too.
const NEWEST: &str = "drift";

/// An agent with its own tests, `real_<agent>`.
#[derive(Clone, Copy)]
pub(crate) struct Tested {
    agent: &'static Agent,
}

/// Returns the pinned agents of these names that have tests of their own; all of them without names.
pub(crate) fn tested(names: &[String]) -> anyhow::Result<Vec<Tested>> {
    let all: Vec<_> =
        AGENTS.iter().map(|agent| Tested { agent }).filter(|tested| tested.has_tests()).collect();
    let known: Vec<_> = all.iter().map(|tested| tested.name()).collect();
    if let Some(stranger) = names.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("no tested agent {stranger}; known: {}", known.join(", "));
    }
    let chosen = |tested: &Tested| names.is_empty() || names.iter().any(|name| name == tested.name());
    Ok(all.into_iter().filter(chosen).collect())
}

impl Tested {
    pub(crate) fn name(self) -> &'static str {
        self.agent.name
    }

    /// Returns the name of its test binary.
    pub(crate) fn binary(self) -> String {
        format!("real_{}", self.name().replace('-', "_"))
    }

    fn has_tests(self) -> bool {
        std::fs::exists(format!("crates/omniglot/tests/{}.rs", self.binary())).unwrap_or_default()
    }

    /// Returns the package that is the agent, and its pinned version.
    pub(crate) fn pinned(self) -> anyhow::Result<(&'static str, &'static str)> {
        let bundle = self.agent.bundle.map(|(package, _)| package);
        let package =
            bundle.or_else(|| self.agent.packages.first().copied()).context("an agent has a package")?;
        package.rsplit_once('@').with_context(|| format!("{package} has no version"))
    }

    /// Asks the registry for the newest version.
    pub(crate) fn newest(self) -> anyhow::Result<String> {
        let (package, _) = self.pinned()?;
        newest_of(package)
    }

    pub(crate) fn install_pinned(self) -> anyhow::Result<()> {
        self.agent.provide().map(drop)
    }

    /// Installs `version` and what it needs, and checks that it starts.
    pub(crate) fn install_newest(self, version: &str) -> anyhow::Result<()> {
        let (agent, (package, pinned)) = (self.agent, self.pinned()?);
        let place = format!("{NEWEST}/{}", agent.name);
        let expected = agent.version.replace(pinned, version);
        let check = || {
            let inner = agent.inner.map(|(program, _)| told(&place, program, RunsOn::Itself, ""));
            inner.transpose().and_then(|_| told(&place, agent.program, agent.runs_on, &expected))
        };
        if check().is_ok() {
            return Ok(());
        }
        let newest = format!("{package}@{version}");
        // The helpers of a bundle are part of how we install it.
        let packages = if agent.bundle.is_some() {
            agent.packages.iter().map(|pinned| Ok((*pinned).to_owned())).collect()
        } else {
            agent.packages.iter().map(|pinned| at_newest(pinned)).collect::<anyhow::Result<Vec<_>>>()
        }?;
        agent.install_at(&place, &packages, &newest)?;
        check().map(drop)
    }
}

fn at_newest(pinned: &str) -> anyhow::Result<String> {
    let (package, _) = pinned.rsplit_once('@').with_context(|| format!("{pinned} has no version"))?;
    Ok(format!("{package}@{}", newest_of(package)?))
}

fn newest_of(package: &str) -> anyhow::Result<String> {
    let line = Line::new(&format!("npm view --loglevel=error {package} version"));
    let version = line.stdout()?.trim().to_owned();
    if version.is_empty() {
        bail!("the registry knows no version of {package}");
    }
    Ok(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_the_package_that_its_pin_names() {
        let pinned = |name: &str| {
            let agent = AGENTS.iter().find(|agent| agent.name == name).unwrap();
            Tested { agent }.pinned().unwrap().0
        };
        assert_eq!(pinned("pi"), "@earendil-works/pi-coding-agent");
        assert_eq!(pinned("codex-acp"), "@agentclientprotocol/codex-acp");
    }

    /// The version of the program is told by the pin's own words around it.
    #[test]
    fn the_reported_version_holds_the_pinned_one() {
        for agent in AGENTS.iter().filter(|agent| agent.runs_on != RunsOn::OurPython) {
            let (_, version) = Tested { agent }.pinned().unwrap();
            assert!(agent.version.contains(version), "{}", agent.name);
        }
    }
}

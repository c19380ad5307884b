//! Installing agents, and finding out which versions are there.

use std::sync::Arc;

use futures_util::future::join_all;
use omniglot_schema::{AgentInstallArtifact, AgentInstallRequest, AgentInstallResponse, AgentSource};
use semver::Version;
use tokio::sync::OwnedMutexGuard;

use super::{Hub, lock};
use crate::agent::catalog::Entry;
use crate::agent::install::Installer;
use crate::agent::installed::{self, InstalledVersions};
use crate::error::RuntimeError;

impl Hub {
    /// Installs a version of the agent below the data directory, or finds that there is nothing to do. Who asks
    /// while another installs the same agent waits.
    pub async fn install_agent(
        &self,
        agent: &str,
        request: AgentInstallRequest,
    ) -> Result<AgentInstallResponse, RuntimeError> {
        self.check_open()?;
        let entry = self.inner.launcher.catalog.get(agent)?;
        let wanted = request.agent_version.as_deref().map(installed::parse).transpose()?;
        let (newest, again) = (request.newest.unwrap_or(false), request.reinstall.unwrap_or(false));
        if newest && wanted.is_some() {
            return Err(RuntimeError::InvalidRequest("give `agentVersion` or `newest`, not both".into()));
        }
        let asks_for_more = wanted.is_some() || newest || again;
        let versions = match &entry.versions {
            Some(versions) if asks_for_more || entry.path().is_none() => versions,
            None if wanted.is_some() || entry.path().is_none() => return Err(not_installable(entry)),
            _ => return Ok(already(self.artifact(entry).await)),
        };
        let installation = self.install(entry, versions, wanted, again);
        tokio::select! {
            installed = installation => installed,
            () = self.inner.leaving.cancelled() => Err(RuntimeError::Stopping),
        }
    }

    async fn install(
        &self,
        entry: &Entry,
        versions: &InstalledVersions,
        wanted: Option<Version>,
        again: bool,
    ) -> Result<AgentInstallResponse, RuntimeError> {
        let _one = self.alone_installing(entry.adapter.id).await;
        let installer = Installer { entry, versions, supervisor: &self.inner.launcher.supervisor };
        let version = match wanted {
            Some(version) => version,
            None => installer.newest().await?,
        };
        if let Some(there) = artifact_of(versions, &version).filter(|_| !again) {
            return Ok(already(there));
        }
        installer.install(&version).await?;
        // An agent that was not there a moment ago may be asked again.
        lock(&self.inner.probes).remove(&entry.name);
        let artifacts = artifact_of(versions, &version).into_iter().collect();
        Ok(AgentInstallResponse { already_installed: false, artifacts })
    }

    async fn alone_installing(&self, agent: &'static str) -> OwnedMutexGuard<()> {
        let one: Arc<_> = lock(&self.inner.installing).entry(agent).or_default().clone();
        one.lock_owned().await
    }

    /// Returns the program that sessions of the agent use now.
    async fn artifact(&self, entry: &Entry) -> AgentInstallArtifact {
        let path = entry.path().unwrap_or_default();
        let is_ours = entry.versions.as_ref().is_some_and(|versions| path.starts_with(versions.folder()));
        let source = match entry.source {
            AgentSource::Configured => "configured",
            AgentSource::BuiltIn if entry.versions.is_none() => "builtin",
            AgentSource::BuiltIn if is_ours => "npm",
            AgentSource::BuiltIn => "path",
        };
        let version = self.inner.launcher.versions.ask(entry).await;
        artifact(path.to_string_lossy().into_owned(), source, version)
    }

    /// Finds out the versions of all agents, where they are not known.
    pub async fn learn_versions(&self) {
        let versions = &self.inner.launcher.versions;
        join_all(self.inner.launcher.catalog.entries().map(|entry| versions.ask(entry))).await;
    }

    /// Finds out the version of one agent, where it is not known.
    pub async fn learn_version(&self, agent: &str) {
        if let Some(entry) = self.inner.launcher.catalog.entries().find(|entry| entry.name == agent) {
            self.inner.launcher.versions.ask(entry).await;
        }
    }

    /// As [`Self::learn_versions`], without waiting.
    pub fn begin_to_learn_versions(&self) {
        for entry in self.inner.launcher.catalog.entries() {
            if self.inner.launcher.versions.begin(entry) {
                let (hub, entry) = (self.clone(), entry.clone());
                self.inner.tasks.spawn(async move {
                    tokio::select! {
                        _ = hub.inner.launcher.versions.ask(&entry) => {}
                        () = hub.inner.leaving.cancelled() => {}
                    }
                });
            }
        }
    }
}

/// The agent is our own program, or one of which only the command is known.
fn not_installable(entry: &Entry) -> RuntimeError {
    let name = &entry.name;
    RuntimeError::InvalidRequest(match entry.source {
        AgentSource::BuiltIn => format!("agent {name} is a part of omniglot and has its version"),
        AgentSource::Configured => {
            format!(
                "the daemon cannot install agent {name}: install the `command` of [agents.{name}] yourself"
            )
        }
    })
}

fn already(artifact: AgentInstallArtifact) -> AgentInstallResponse {
    AgentInstallResponse { already_installed: true, artifacts: vec![artifact] }
}

fn artifact_of(versions: &InstalledVersions, version: &Version) -> Option<AgentInstallArtifact> {
    let path = versions.program(version)?;
    Some(artifact(path.to_string_lossy().into_owned(), "npm", Some(version.to_string())))
}

fn artifact(path: String, source: &str, version: Option<String>) -> AgentInstallArtifact {
    AgentInstallArtifact { kind: "agent".to_owned(), path, source: source.to_owned(), version }
}

//! The models and modes of an agent, learnt from its sessions, or by asking it once.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use omniglot_agents::{Open, RefusalKind};
use omniglot_schema::{
    AgentCapabilities, AgentModelInfo, AgentModelsResponse, AgentModesResponse, CreateSessionRequest,
    SessionId,
};
use omniglot_timeline::{Draft, Fold, Identity, SessionStarted, Timeline};
use tokio::sync::OwnedMutexGuard;

use super::check::Nonsense;
use super::{Hub, lock, login};
use crate::agent::Translated;
use crate::agent::credentials::Trial;
use crate::agent::session_start::{Opened, StartError, StartErrorKind};
use crate::error::RuntimeError;
use crate::session::Step;

/// The known lists of an agent.
#[derive(Debug, Default)]
pub(super) struct Probe {
    pub(super) version: Option<String>,
    /// The capabilities that its last handshake told.
    pub(super) capabilities: Option<AgentCapabilities>,
    /// `None` until it has listed them.
    offers: Option<Offers>,
    /// Why it could not be asked, and when.
    failed: Option<(Instant, RuntimeError)>,
}

/// An agent that could not be asked is left alone for so long.
const LATELY: Duration = Duration::from_secs(10);

/// An agent that was opened for nobody.
pub(super) struct Tried {
    /// The timeline of its description of itself.
    pub(super) timeline: Timeline,
    pub(super) nonsense: Nonsense,
    pub(super) failed: Option<StartError>,
}

#[derive(Debug, Clone)]
struct Offers {
    models: AgentModelsResponse,
    modes: AgentModesResponse,
}

impl Probe {
    pub(super) fn offered(&self) -> Option<(AgentModelsResponse, AgentModesResponse)> {
        self.offers.clone().map(|offers| (offers.models, offers.modes))
    }

    fn failed_lately(&self) -> Option<RuntimeError> {
        let (when, error) = self.failed.as_ref()?;
        error.of_agent().filter(|_| when.elapsed() < LATELY)
    }
}

impl Hub {
    /// Remembers what a session of this agent has told, and whether it has credentials.
    pub(super) fn learn(&self, request: &CreateSessionRequest, timeline: &Timeline, opened: bool) {
        let fold = timeline.fold();
        match opened && !login::is_required(&fold.state) {
            true => self.inner.credentials.accepted(&request.agent, Trial::Opening),
            false => self.inner.credentials.refused(&request.agent, Trial::Opening),
        }
        // Another version than the usual one says nothing about the agent.
        if request.agent_version.is_some() {
            return;
        }
        let mut probes = lock(&self.inner.probes);
        let probe = probes.entry(request.agent.clone()).or_default();
        probe.version = fold.agent_version.clone().or(probe.version.take());
        probe.capabilities = timeline.capabilities().or(probe.capabilities);
        // What a session was asked to use says nothing about the agent's own choice.
        if opened && request.model.is_none() {
            // Long lists are blobs, which the Timeline still has: nothing was written yet.
            let models = fold.state.models.as_ref().and_then(|list| timeline.entries(list));
            let modes = fold.state.modes.as_ref().and_then(|list| timeline.entries(list));
            let (models, modes) = (models.unwrap_or_default(), modes.unwrap_or_default());
            probe.offers = Some(Offers {
                models: AgentModelsResponse { default_model: default_model(fold, &models), models },
                modes: AgentModesResponse { modes },
            });
        }
    }

    pub(super) async fn offered_models(&self, agent: &str) -> Result<AgentModelsResponse, RuntimeError> {
        Ok(self.offers(agent).await?.models)
    }

    pub(super) async fn offered_modes(&self, agent: &str) -> Result<AgentModesResponse, RuntimeError> {
        Ok(self.offers(agent).await?.modes)
    }

    async fn offers(&self, agent: &str) -> Result<Offers, RuntimeError> {
        self.knows_agent(agent)?;
        let _one = self.alone_with(agent).await;
        let known = || lock(&self.inner.probes).get(agent).and_then(|probe| probe.offers.clone());
        if let Some(offers) = known() {
            return Ok(offers);
        }
        if let Some(error) = lock(&self.inner.probes).get(agent).and_then(Probe::failed_lately) {
            return Err(error);
        }
        if let Err(error) = self.ask_agent(agent).await {
            let failed = error.of_agent().map(|error| (Instant::now(), error));
            lock(&self.inner.probes).entry(agent.to_owned()).or_default().failed = failed;
            return Err(error);
        }
        known().ok_or(RuntimeError::Stopping)
    }

    /// Waits until nobody else tries this agent.
    pub(super) async fn alone_with(&self, agent: &str) -> OwnedMutexGuard<()> {
        let one = lock(&self.inner.probing).entry(agent.to_owned()).or_default().clone();
        one.lock_owned().await
    }

    /// Reads what the agent lists.
    async fn ask_agent(&self, agent: &str) -> Result<(), RuntimeError> {
        match self.try_agent(agent).await?.failed {
            Some(failed) => Err(failed.into_error()),
            None => Ok(()),
        }
    }

    /// Opens a session that nobody uses, in an empty directory, and ends it.
    pub(super) async fn try_agent(&self, name: &str) -> Result<Tried, RuntimeError> {
        self.check_open()?;
        let cwd = omniglot_store::shared(&self.inner.data_dir).join("probe");
        DirBuilder::new().recursive(true).mode(0o700).create(&cwd).map_err(omniglot_store::StoreError::Io)?;
        let lacks_credentials = self.lacks_credentials(self.inner.launcher.catalog.get(name)?);
        let open = Open { cwd: cwd.clone(), lacks_credentials, ..Open::default() };
        let opening = self.inner.launcher.clone().open(name.to_owned(), open);
        let mut timeline = Timeline::new(Identity { session_id: nobody(), agent: name.to_owned() }, "probe");
        let mut step = Step::new(0);
        let (nonsense, failed) = match opening.await {
            Ok(Opened { agent, early }) => {
                let nonsense = Nonsense::of(&early);
                // Said first, it would begin the session in place of the agent's own word.
                let heard = early.translated.into_iter().map(Translated::without_nonsense).collect();
                step.absorb(&mut timeline, heard);
                login::note_missing(&mut timeline, &mut step, lacks_credentials);
                let failed = match agent {
                    Some(agent) => {
                        agent.process.kill();
                        agent.process.gone().await;
                        None
                    }
                    // Nothing was started yet.
                    None if timeline.fold().agent_version.is_none() => {
                        self.ask_version(name, cwd).await.err()
                    }
                    None => None,
                };
                (nonsense, failed)
            }
            Err(mut failed) => {
                let mut early = std::mem::take(&mut failed.early);
                failed.early.stderr = early.stderr.take();
                let nonsense = Nonsense::of(&early);
                step.draft(&mut timeline, Draft::SessionStarted(SessionStarted::default()));
                step.absorb_early(&mut timeline, early.without_refusals());
                (nonsense, Some(failed))
            }
        };
        let logged_out = failed.as_ref().is_some_and(StartError::is_logged_out);
        if failed.is_none() || logged_out {
            self.learn(&CreateSessionRequest::new(name), &timeline, !logged_out);
        }
        Ok(Tried { timeline, nonsense, failed })
    }

    async fn ask_version(&self, agent: &str, cwd: PathBuf) -> Result<(), StartError> {
        let version = self.inner.launcher.version(agent, cwd).await?;
        lock(&self.inner.probes).entry(agent.to_owned()).or_default().version = version;
        Ok(())
    }
}

impl StartError {
    fn is_logged_out(&self) -> bool {
        matches!(&self.why, StartErrorKind::Refused(refusal) if refusal.kind == RefusalKind::Auth)
    }
}

/// The model that a new session runs. An agent that names it only when it begins to work lists it first.
pub(super) fn default_model(fold: &Fold, models: &[AgentModelInfo]) -> Option<String> {
    fold.state.model.clone().or_else(|| models.first().map(|model| model.id.clone()))
}

fn nobody() -> SessionId {
    #[expect(clippy::expect_used, reason = "a literal that keeps the rule of session ids")]
    SessionId::parse("probe").expect("a lawful session id")
}

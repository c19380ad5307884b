//! What an agent offers: models and modes, learnt from its sessions, or by asking it once.

use omniglot_agents::Open;
use omniglot_schema::{AgentModelsResponse, AgentModesResponse, CreateSessionRequest, SessionId};
use omniglot_timeline::{Identity, Timeline};

use super::{Hub, lock};
use crate::error::RuntimeError;
use crate::opening::NotOpened;
use crate::session::Step;

/// What is known of an agent.
#[derive(Debug, Clone, Default)]
pub(super) struct Probe {
    pub(super) version: Option<String>,
    /// False once it has refused to work without them.
    pub(super) credentials: bool,
    /// `None` until it has listed them.
    offers: Option<Offers>,
}

#[derive(Debug, Clone)]
struct Offers {
    models: AgentModelsResponse,
    modes: AgentModesResponse,
}

impl Probe {
    pub(super) fn has_plan_mode(&self) -> bool {
        self.offers.as_ref().is_some_and(|offers| offers.modes.modes.iter().any(|mode| mode.id == "plan"))
    }
}

impl Hub {
    /// Remembers what a session of this agent has told.
    pub(super) fn learn(&self, request: &CreateSessionRequest, timeline: &Timeline, credentials: bool) {
        let fold = timeline.fold();
        let mut probes = lock(&self.inner.probes);
        let probe = probes.entry(request.agent.clone()).or_default();
        probe.credentials = credentials;
        probe.version = fold.agent_version.clone().or(probe.version.take());
        // What a session was asked to use says nothing about the agent's own choice.
        if credentials && request.model.is_none() {
            // Long lists are blobs, which the Timeline still has: nothing was written yet.
            let models = fold.state.models.as_ref().and_then(|list| timeline.entries(list));
            let modes = fold.state.modes.as_ref().and_then(|list| timeline.entries(list));
            let (models, modes) = (models.unwrap_or_default(), modes.unwrap_or_default());
            probe.offers = Some(Offers {
                models: AgentModelsResponse { models, default_model: fold.state.model.clone() },
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
        let _one = self.inner.probing.lock().await;
        let known = || lock(&self.inner.probes).get(agent).and_then(|probe| probe.offers.clone());
        if let Some(offers) = known() {
            return Ok(offers);
        }
        self.ask_agent(agent).await?;
        known().ok_or(RuntimeError::Stopping)
    }

    /// Opens a session that nobody uses, in an empty directory, and reads what the agent lists.
    async fn ask_agent(&self, agent: &str) -> Result<(), RuntimeError> {
        self.check_open()?;
        let cwd = self.inner.data_dir.join("probe");
        std::fs::create_dir_all(&cwd).map_err(omniglot_store::StoreError::Io)?;
        let opening = self.inner.launcher.clone().open(agent.to_owned(), Open { cwd, ..Open::default() });
        let opened = opening.await.map_err(NotOpened::into_error)?;
        let mut timeline = Timeline::new(Identity { session_id: nobody(), agent: agent.to_owned() }, "probe");
        Step::new(0).absorb(&mut timeline, opened.heard);
        opened.agent.process.kill();
        opened.agent.process.gone().await;
        self.learn(&CreateSessionRequest::new(agent), &timeline, true);
        Ok(())
    }
}

fn nobody() -> SessionId {
    #[expect(clippy::expect_used, reason = "a literal that keeps the rule of session ids")]
    SessionId::parse("probe").expect("a lawful session id")
}

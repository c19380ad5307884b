//! The agents, models and modes of this daemon, and the default agent of clients that name none.
//!
//! Each agent is asked once for its lists, beside the requests: a starting client waits for them only a
//! moment, and an agent that has not answered by then has one model that leaves the choice to it. Clients
//! receive an event to read the lists again when the last agent has answered.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use omniglot_runtime::Hub;
use omniglot_schema::{AgentInfo, AgentModeInfo, AgentModelInfo};
use omniglot_store::ListFilter;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::relay::Relay;
use crate::faces::opencode::project::DEFAULT_MODEL;
use crate::faces::opencode::project::provider_list::{Agent, Provider};

/// The time that a starting client waits for lists. The web page does not read its lists again within 1.5 s after it
/// has asked for them.
const LIST_TIMEOUT: Duration = Duration::from_secs(3);

/// The number of the newest sessions that tell about their models.
const RECENT: usize = 64;

/// The built-in agent for tests; never chosen unless a client or the configuration names it.
const REHEARSAL: &str = "mock";

pub(crate) struct Catalog {
    hub: Hub,
    relay: Arc<Relay>,
    asking: Mutex<Option<Asking>>,
}

struct Asking {
    done: watch::Receiver<bool>,
    _task: AbortOnDropHandle<()>,
}

/// An agent that can be chosen.
pub(crate) struct AgentLists {
    pub(crate) agent: AgentInfo,
    models: Vec<AgentModelInfo>,
    model: Option<String>,
    modes: Vec<AgentModeInfo>,
    /// The sizes of the models' contexts, as far as they are known.
    windows: BTreeMap<String, u64>,
}

impl AgentLists {
    /// The model that is used unless another is chosen.
    pub(crate) fn model(&self) -> String {
        let listed = |model: &String| self.models.iter().any(|it| it.id == *model);
        let first = self.models.first().map(|model| model.id.clone());
        self.model.clone().filter(listed).or(first).unwrap_or_else(|| DEFAULT_MODEL.into())
    }

    pub(crate) fn provider(&self) -> Provider {
        Provider::new(&self.agent, &self.models, &self.windows)
    }
}

impl Catalog {
    pub(crate) fn new(hub: Hub, relay: Arc<Relay>) -> Arc<Self> {
        Arc::new(Self { hub, relay, asking: Mutex::default() })
    }

    /// Lists every installed agent, the default one first.
    pub(crate) async fn offers(&self, preferred: Option<&str>) -> Vec<AgentLists> {
        self.learn(preferred).await;
        self.learn_windows().await;
        self.installed(preferred).into_iter().map(|agent| self.offer(agent)).collect()
    }

    fn offer(&self, agent: AgentInfo) -> AgentLists {
        let (models, modes) = self.hub.known_offers(&agent.id).unwrap_or_default();
        let (model, windows) = (models.default_model, self.relay.windows().of(&agent.id));
        AgentLists { agent, models: models.models, model, modes: modes.modes, windows }
    }

    /// The newest sessions tell how large the contexts of their models are.
    async fn learn_windows(&self) {
        let newest = ListFilter { limit: Some(RECENT), ..ListFilter::default() };
        match self.hub.list_with_state(newest).await {
            Ok(sessions) => sessions.iter().for_each(|session| self.relay.windows().learn_from(session)),
            Err(error) => tracing::debug!(%error, "the contexts of models stay unknown"),
        }
    }

    /// The modes of the default agent: those of another would be refused with the prompt.
    pub(crate) async fn modes(&self, preferred: Option<&str>) -> Vec<Agent> {
        let offers = self.offers(preferred).await;
        Agent::all(offers.first().into_iter().flat_map(|offer| &offer.modes))
    }

    /// Whether a model leaves the choice to the agent: ours for that, and `default` where the agent lists no such model.
    pub(crate) fn leaves_choice(&self, agent: &str, model: &str) -> bool {
        let offers = self.hub.known_offers(agent);
        let is_listed = offers.is_some_and(|(models, _)| models.models.iter().any(|it| it.id == model));
        model == DEFAULT_MODEL || (model == "default" && !is_listed)
    }

    /// Whether a mode is known as one of other agents, and not of this one.
    pub(crate) fn is_of_others(&self, agent: &str, mode: &str) -> bool {
        let has = |agent: &AgentInfo| {
            let offers = self.hub.known_offers(&agent.id);
            offers.is_some_and(|(_, modes)| modes.modes.iter().any(|it| it.id == mode))
        };
        let (own, others): (Vec<_>, Vec<_>) = self.hub.agents().into_iter().partition(|it| it.id == agent);
        !own.iter().any(has) && others.iter().any(has)
    }

    /// Returns the agent of a client that names none.
    pub(crate) fn default_agent(&self, preferred: Option<&str>) -> Option<String> {
        self.installed(preferred).into_iter().next().map(|agent| agent.id)
    }

    fn installed(&self, preferred: Option<&str>) -> Vec<AgentInfo> {
        let mut agents: Vec<_> = self.hub.agents().into_iter().filter(|agent| agent.installed).collect();
        let preferred = preferred.or(self.hub.configured_agent());
        agents.sort_by_key(|agent| rank(agent, preferred));
        agents
    }

    async fn learn(&self, preferred: Option<&str>) {
        let mut done = {
            let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
            asking.get_or_insert_with(|| self.ask(preferred)).done.clone()
        };
        // The lists that are known by then are served.
        let _late = timeout(LIST_TIMEOUT, done.wait_for(|done| *done)).await.is_err();
    }

    /// Asks one agent after the other; agents without credentials would only refuse.
    fn ask(&self, preferred: Option<&str>) -> Asking {
        let (tell, done) = watch::channel(false);
        let mut agents = self.installed(preferred);
        let first = agents.first().map(|agent| agent.id.clone());
        agents.retain(|agent| agent.credentials_available || Some(&agent.id) == first.as_ref());
        let (hub, relay, began) = (self.hub.clone(), self.relay.clone(), Instant::now());
        let task = tokio::spawn(async move {
            for agent in agents {
                if let Err(error) = hub.models(&agent.id).await {
                    tracing::debug!(agent = agent.id, %error, "lists no models");
                }
            }
            tell.send_replace(true);
            if began.elapsed() > LIST_TIMEOUT {
                relay.announce_reload();
            }
        });
        Asking { done, _task: AbortOnDropHandle::new(task) }
    }
}

/// Ranks the preferred agent first, then real ones that can work at once, then the others.
fn rank(agent: &AgentInfo, preferred: Option<&str>) -> u8 {
    match agent {
        agent if Some(agent.id.as_str()) == preferred => 0,
        agent if agent.id == REHEARSAL => 3,
        agent if agent.credentials_available => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use omniglot_schema::AgentCapabilities;

    use super::*;

    fn agent(id: &str, credentials_available: bool) -> AgentInfo {
        AgentInfo {
            id: id.into(),
            installed: true,
            credentials_available,
            login: None,
            installed_versions: vec![],
            version: None,
            path: None,
            source: None,
            stability: None,
            capabilities: AgentCapabilities::default(),
            server_status: None,
        }
    }

    #[test]
    fn the_wanted_agent_comes_first_and_the_rehearsal_last() {
        let mut agents =
            [agent("mock", true), agent("pi", false), agent("claude", true), agent("amp", false)];
        let mut order = |preferred| {
            agents.sort_by_key(|agent| rank(agent, preferred));
            agents.iter().map(|agent| agent.id.clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(order(None), "claude pi amp mock");
        assert_eq!(order(Some("mock")), "mock claude pi amp");
    }

    #[test]
    fn the_model_is_the_agent_s_own_choice_if_it_is_listed() {
        let model =
            |id: &str| AgentModelInfo { id: id.into(), name: None, variants: None, default_variant: None };
        let offer = |models: Vec<AgentModelInfo>, own: Option<&str>| {
            let (model, windows) = (own.map(str::to_owned), BTreeMap::new());
            AgentLists { agent: agent("a", true), models, model, modes: vec![], windows }.model()
        };
        assert_eq!(offer(vec![], Some("x")), DEFAULT_MODEL);
        assert_eq!(offer(vec![model("x"), model("y")], Some("y")), "y");
        assert_eq!(offer(vec![model("x")], Some("z")), "x");
    }
}

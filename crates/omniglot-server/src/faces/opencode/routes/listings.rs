//! The choices of a client: providers, models, agents, commands.

use std::collections::{BTreeMap, HashSet};

use axum::Json;
use omniglot_store::ListFilter;
use serde::Serialize;

use super::Preferred;
use crate::faces::opencode::Face;
use crate::faces::opencode::project::provider_list::{Agent, Command, Provider};
use crate::faces::opencode::routes::directory::Directory;
use crate::faces::opencode::routes::refusal::Refusal;
use crate::faces::opencode::state::catalog::AgentLists;

/// The number of the newest sessions that are searched for commands.
const RECENT: usize = 16;

/// Clients have this command themselves, and call `summarize` for it.
const COMPACT: &str = "compact";

/// The preselected model, and that nothing is shared; other settings are the agents' own.
#[derive(Serialize)]
pub(crate) struct Config {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Clients offer no sharing then.
    share: &'static str,
}

pub(crate) async fn config(face: Face, preferred: Preferred) -> Json<Config> {
    let offers = face.catalog.offers(preferred.0.as_deref()).await;
    let model = offers.first().map(|offer| format!("{}/{}", offer.agent.id, offer.model()));
    Json(Config { model, share: "disabled" })
}

#[derive(Serialize)]
pub(crate) struct ConfigProviders {
    providers: Vec<Provider>,
    default: BTreeMap<String, String>,
}

pub(crate) async fn config_providers(face: Face, preferred: Preferred) -> Json<ConfigProviders> {
    let offers = face.catalog.offers(preferred.0.as_deref()).await;
    Json(ConfigProviders {
        providers: offers.iter().map(AgentLists::provider).collect(),
        default: defaults(&offers),
    })
}

#[derive(Serialize)]
pub(crate) struct Providers {
    all: Vec<Provider>,
    default: BTreeMap<String, String>,
    connected: Vec<String>,
}

pub(crate) async fn providers(face: Face, preferred: Preferred) -> Json<Providers> {
    let offers = face.catalog.offers(preferred.0.as_deref()).await;
    Json(Providers {
        all: offers.iter().map(AgentLists::provider).collect(),
        default: defaults(&offers),
        connected: offers.iter().map(|offer| offer.agent.id.clone()).collect(),
    })
}

fn defaults(offers: &[AgentLists]) -> BTreeMap<String, String> {
    offers.iter().map(|offer| (offer.agent.id.clone(), offer.model())).collect()
}

pub(crate) async fn agents(face: Face, preferred: Preferred) -> Json<Vec<Agent>> {
    Json(face.catalog.modes(preferred.0.as_deref()).await)
}

/// Agents list their commands in their sessions, so the commands of the directory's newest ones are listed; only those
/// of the preferred agent where there is one.
pub(crate) async fn commands(
    face: Face,
    Preferred(agent): Preferred,
    directory: Directory,
) -> Result<Json<Vec<Command>>, Refusal> {
    let filter = ListFilter { agent, limit: Some(RECENT), ..ListFilter::default() };
    let sessions = face.app.hub.list(filter).await?;
    let mut agents = HashSet::new();
    let mut commands: Vec<Command> = vec![];
    for session in sessions.iter().filter(|session| directory.shows(session.directory.as_deref())) {
        if agents.insert(&session.agent) {
            for command in face.app.hub.commands_of(&session.session_id).await? {
                if command.name != COMPACT && !commands.iter().any(|known| known.name == command.name) {
                    commands.push(command.into());
                }
            }
        }
    }
    Ok(Json(commands))
}

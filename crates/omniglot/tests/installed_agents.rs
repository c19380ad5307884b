//! Real agents, installed by the daemon with the real npm, and driven against a scripted model.
//!
//! npm's own cache has what `cargo xtask agents` has fetched.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]

use std::process::Command;

use omniglot_schema::{AgentInfo, AgentInstallRequest, CreateSessionRequest, PermissionReply, StopReason};
use omniglot_testkit::agents::{RealAgent, pinned_version};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::models::{Model, Reply};
use omniglot_testkit::session_driver::SessionDriver;

/// A daemon whose agents have the variables of `agent`, and which is configured with none.
fn daemon(agent: &RealAgent) -> Daemon {
    let cache = Command::new("npm").args(["config", "get", "cache"]).output().expect("npm");
    let cache = String::from_utf8(cache.stdout).unwrap();
    let setup = Setup::new(env!("CARGO_BIN_EXE_omniglot"))
        .env("npm_config_cache", cache.trim())
        .env("npm_config_prefer_offline", "true");
    // What the cache lacks comes from the registry, which may be behind a proxy with a certificate of its own.
    let network = ["NODE_EXTRA_CA_CERTS", "HTTPS_PROXY", "NO_PROXY"];
    let network = network.into_iter().filter_map(|name| Some((name, std::env::var(name).ok()?)));
    let setup = network.fold(setup, |setup, (name, value)| setup.env(name, &value));
    let variables = agent.variables().iter();
    variables.fold(setup, |setup, (name, value)| setup.env(name, value)).start()
}

async fn listed(daemon: &Daemon, agent: &str) -> AgentInfo {
    let agents = daemon.client.agents_with_versions().await.unwrap().agents;
    agents.into_iter().find(|info| info.id == agent).unwrap()
}

async fn is_installed_and_works(model: Model, agent: RealAgent, version: &str) {
    let daemon = daemon(&agent);
    let name = agent.name();
    assert!(!listed(&daemon, name).await.installed);
    let request =
        AgentInstallRequest { agent_version: Some(version.to_owned()), ..AgentInstallRequest::default() };
    let installed = daemon.client.install_agent(name, &request).await.unwrap();
    assert!(!installed.already_installed, "{installed:?}");
    let info = listed(&daemon, name).await;
    assert!(info.installed && info.credentials_available, "{info:?}");
    assert_eq!(info.version.as_deref(), Some(version));
    assert_eq!(info.path, installed.artifacts.first().map(|artifact| artifact.path.clone()));
    assert!(daemon.client.install_agent(name, &request).await.unwrap().already_installed);
    let request =
        CreateSessionRequest { agent_version: Some(version.to_owned()), ..CreateSessionRequest::new(name) };
    let session = SessionDriver::create_with(&daemon.client, "s", &request).await;
    model.push(Reply::text("I am here."));
    let turn = session.turn("Are you there?", PermissionReply::Once).await;
    assert_eq!((turn.stop_reason(), turn.text().as_str()), (StopReason::EndTurn, "I am here."));
}

#[tokio::test]
async fn claude_is_installed_and_works() {
    let model = Model::anthropic().start();
    let agent = RealAgent::claude(&model);
    let version = pinned_version("claude", "@anthropic-ai/claude-code-linux-x64");
    is_installed_and_works(model, agent, &version).await;
}

#[tokio::test]
async fn an_older_pi_is_installed_and_works() {
    let model = Model::anthropic().start();
    let agent = RealAgent::older_pi(&model);
    let version = pinned_version("pi-0.73", "@mariozechner/pi-coding-agent");
    is_installed_and_works(model, agent, &version).await;
}

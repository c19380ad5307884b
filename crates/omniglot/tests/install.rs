//! Installing agents over HTTP, with a stand-in for npm, and which version a session then uses.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "install/failures.rs"]
mod failures;
#[path = "install/interrupted.rs"]
mod interrupted;
#[path = "install/versions.rs"]
mod versions;

use omniglot_client::ClientError;
use omniglot_schema::{
    AgentInfo, AgentInstallRequest, AgentInstallResponse, CreateSessionRequest, PermissionReply,
};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::fake_npm::FakeNpm;
use omniglot_testkit::session_driver::SessionDriver;

fn setup() -> Setup {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).env("ANTHROPIC_API_KEY", "dummy")
}

/// A daemon that finds the stand-in, and nothing else of the machine.
fn daemon(npm: &FakeNpm) -> Daemon {
    npm.variables().into_iter().fold(setup(), |setup, (name, value)| setup.env(name, value)).start()
}

fn version(version: &str) -> AgentInstallRequest {
    AgentInstallRequest { agent_version: Some(version.to_owned()), ..AgentInstallRequest::default() }
}

async fn install(
    daemon: &Daemon,
    request: &AgentInstallRequest,
) -> Result<AgentInstallResponse, ClientError> {
    daemon.client.install_agent("claude", request).await
}

async fn claude(daemon: &Daemon) -> AgentInfo {
    let agents = daemon.client.agents_with_versions().await.unwrap().agents;
    agents.into_iter().find(|agent| agent.id == "claude").unwrap()
}

fn asks_for(version: Option<&str>) -> CreateSessionRequest {
    CreateSessionRequest { agent_version: version.map(str::to_owned), ..CreateSessionRequest::new("claude") }
}

/// Returns what the agent of a new session says.
async fn says(daemon: &Daemon, session: &str, version: Option<&str>) -> String {
    let session = SessionDriver::create_with(&daemon.client, session, &asks_for(version)).await;
    session.turn("Who are you?", PermissionReply::Once).await.text()
}

/// Returns the names in the folder of the agent's versions.
fn folders(daemon: &Daemon) -> Vec<String> {
    let entries = std::fs::read_dir(daemon.data().join("shared/agents/claude"));
    let name = |entry: std::fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<String> = entries.into_iter().flatten().map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

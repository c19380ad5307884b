//! Real agents that nobody is logged in to: a session says so when it is created, and so do the list of agents and
//! the check. Every HOME is a temporary one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use omniglot_schema::{AuthStatus, CreateSessionRequest, FindingKind};
use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::models::Model;
use omniglot_testkit::session_driver::session_id;
use serde_json::json;

fn daemon(agent: &RealAgent) -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(agent.toml()).start()
}

async fn login(daemon: &Daemon, agent: &RealAgent) -> (AuthStatus, bool) {
    let agents = daemon.client.agents().await.unwrap().agents;
    let info = agents.into_iter().find(|info| info.id == agent.name()).unwrap();
    assert!(info.installed);
    (info.login.unwrap(), info.credentials_available)
}

/// `way` is a part of what somebody is told to do.
async fn says_that_nobody_is_logged_in(agent: RealAgent, way: &str) {
    let daemon = daemon(&agent);
    let created = daemon.client.create(&session_id("s"), &CreateSessionRequest::new(agent.name())).await;
    let created = created.unwrap();
    assert!(!created.healthy, "{created:?}");
    let error = serde_json::to_string(&created.error.unwrap()).unwrap();
    assert!(error.contains(way), "{error}");
    let state = daemon.client.detail(&session_id("s")).await.unwrap().state;
    assert_eq!(state.auth.unwrap().state, AuthStatus::Required);
    assert_eq!(login(&daemon, &agent).await, (AuthStatus::Required, false));
    let check = daemon.client.check_agent(agent.name()).await.unwrap();
    assert!(!check.healthy, "{check:?}");
    let finding = check.findings.iter().find(|finding| finding.kind == FindingKind::LoggedOut).unwrap();
    assert!(finding.problem && finding.hint.as_ref().unwrap().contains(way), "{finding:?}");
}

async fn refuses_a_wrong_mode(agent: &RealAgent, why: &str) {
    let wrong = CreateSessionRequest {
        permission_mode: Some("nonsense".to_owned()),
        ..CreateSessionRequest::new(agent.name())
    };
    let refused = daemon(agent).client.create(&session_id("s"), &wrong).await.unwrap_err();
    assert!(refused.problem().unwrap().detail.as_ref().unwrap().contains(why), "{refused}");
}

#[tokio::test]
async fn claude() {
    let model = Model::anthropic().start();
    let agent = RealAgent::claude(&model).env("ANTHROPIC_API_KEY", "");
    says_that_nobody_is_logged_in(agent, "ANTHROPIC_API_KEY").await;
}

#[tokio::test]
async fn codex() {
    let model = Model::responses().start();
    let agent = RealAgent::codex(&model).env("OPENAI_API_KEY", "");
    let path = agent.home().join(".codex/config.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    let wants = config.replace("env_key = \"OPENAI_API_KEY\"", "requires_openai_auth = true");
    std::fs::write(path, wants).unwrap();
    says_that_nobody_is_logged_in(agent, "codex login").await;
}

#[tokio::test]
async fn pi() {
    let model = Model::anthropic().start();
    let agent = RealAgent::pi(&model);
    std::fs::remove_file(agent.home().join(".pi/agent/models.json")).unwrap();
    agent.settings(".pi/agent/settings.json", &json!({"enableInstallTelemetry": false}));
    says_that_nobody_is_logged_in(agent, "/login").await;
}

#[tokio::test]
async fn amp() {
    let model = Model::amp().start();
    let agent = RealAgent::amp(&model).env("AMP_API_KEY", "");
    // A17: a mode that does not exist is refused all the same.
    refuses_a_wrong_mode(&agent, "no permission mode nonsense").await;
    says_that_nobody_is_logged_in(agent, "amp login").await;
}

#[tokio::test]
async fn gemini() {
    let model = Model::gemini().start();
    let agent = RealAgent::gemini(&model).env("GEMINI_API_KEY", "");
    // A17: it has listed none of its modes, but they are known.
    refuses_a_wrong_mode(&agent, "no mode nonsense").await;
    says_that_nobody_is_logged_in(agent, "GEMINI_API_KEY").await;
}

//! Missing or wrong input is reported with a helpful message.

use omniglot_client::{Client, ClientError};
use omniglot_schema::{
    AuthStatus, CreateSessionRequest, CreateSessionResponse, ErrorCode, PermissionReply, ProblemDetails,
    SessionPatch, StopReason,
};
use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::models::{Failure, Model, Reply};
use omniglot_testkit::session_driver::{SessionDriver, labels, session_id};

use super::CLAUDE;
use super::follow::patched;

async fn create(
    client: &Client,
    request: &CreateSessionRequest,
) -> Result<CreateSessionResponse, ClientError> {
    client.create(&session_id("real"), request).await
}

fn problem(result: Result<CreateSessionResponse, ClientError>) -> ProblemDetails {
    result.expect_err("a refusal").problem().cloned().expect("a problem")
}

#[tokio::test]
async fn an_agent_that_is_not_installed_says_how_to_install_it() {
    let config = "[agents.claude]\nprotocol = \"claude\"\ncommand = [\"/nowhere/claude\"]\n";
    let daemon = Setup::new(CLAUDE.program).config(config).start();
    let problem = problem(create(&daemon.client, &CreateSessionRequest::new("claude")).await);
    assert_eq!(
        (problem.status, problem.r#type.as_str()),
        (404, "urn:sandbox-agent:error:agent_not_installed")
    );
    let hint = problem.hint.unwrap();
    assert!(hint.contains("npm install -g @anthropic-ai/claude-code"), "{hint}");
}

#[tokio::test]
async fn no_credentials_is_a_matter_of_auth_that_names_what_was_looked_for() {
    let without_key = |model: &Model| RealAgent::claude(model).env("ANTHROPIC_API_KEY", "");
    let model = Model::anthropic().start();
    let agent = without_key(&model);
    let daemon = Setup::new(CLAUDE.program).config(agent.toml()).start();
    let created = create(&daemon.client, &CreateSessionRequest::new("claude")).await.unwrap();
    assert!(!created.healthy);
    let names_all = |words: &str| words.contains("ANTHROPIC_API_KEY") && words.contains("claude /login");
    assert!(names_all(&created.error.unwrap().message));
    let session = SessionDriver::of(&daemon.client, "real");
    let state = async || daemon.client.detail(&session.id).await.unwrap().state;
    let auth = async || state().await.auth.unwrap().state;
    assert_eq!(auth().await, AuthStatus::Required);
    assert!(state().await.models.is_some(), "its process runs, and says what it has");
    let turn = session.turn("Hello.", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::Error, "{turn}");
    let error = turn.error().unwrap();
    assert_eq!(error.code, Some(ErrorCode::ProviderAuth), "{turn}");
    assert!(names_all(&error.message), "{}", error.message);
    assert_eq!(auth().await, AuthStatus::Required);
    session.history().await;
    drop(daemon);
}

#[tokio::test]
async fn a_key_that_is_refused_is_required_until_a_turn_succeeds() {
    let refused = Reply::fails(Failure::Forbidden);
    let fixture = CLAUDE.fixture([refused, Reply::text("Welcome.")]).await;
    let auth = async || {
        let state = fixture.session.client.detail(&fixture.session.id).await.unwrap().state;
        state.auth.unwrap().state
    };
    assert_eq!(auth().await, AuthStatus::Ready);
    let turn = fixture.turn("Hello.").await;
    assert_eq!(turn.error().and_then(|error| error.code), Some(ErrorCode::ProviderAuth), "{turn}");
    assert_eq!(auth().await, AuthStatus::Required);
    let turn = fixture.turn("And now?").await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn, "{turn}");
    assert_eq!(auth().await, AuthStatus::Ready);
}

#[tokio::test]
async fn a_model_that_does_not_exist_is_told_at_the_turn() {
    let fixture = CLAUDE.fixture([Reply::fails(Failure::UnknownModel).forever()]).await;
    let model = SessionPatch { model: Some("claude-walrus-1".to_owned()), ..SessionPatch::default() };
    assert_eq!(patched(&fixture, model).await.model.as_deref(), Some("claude-walrus-1"));
    let turn = fixture.turn("Hello.").await;
    assert_eq!(turn.stop_reason(), StopReason::Error, "{turn}");
    let error = turn.error().unwrap();
    assert_eq!(error.code, Some(ErrorCode::ApiError), "{turn}");
    assert!(error.message.contains("claude-walrus-1"), "{}", error.message);
    let history = fixture.session.history().await;
    assert!(labels(&history).contains(&"claude.warning"), "the list of models was not told");
}

/// Other users than root may.
#[tokio::test]
async fn permissions_that_root_may_not_skip_are_explained() {
    let model = Model::anthropic().start();
    let agent = RealAgent::claude(&model);
    let daemon = Setup::new(CLAUDE.program).config(agent.toml()).start();
    let mut request = CreateSessionRequest::new("claude");
    request.permission_mode = Some("bypass".to_owned());
    let created = create(&daemon.client, &request).await;
    if !rustix::process::getuid().is_root() {
        assert!(created.unwrap().healthy);
        return;
    }
    let problem = problem(created);
    let detail = problem.detail.unwrap();
    assert!(detail.contains("root") && detail.contains("sandbox"), "{detail}");
    assert!(problem.hint.unwrap().contains("sandbox = true"));
    drop(daemon);
}

#[tokio::test]
async fn a_mode_that_does_not_exist_is_refused_with_those_that_do() {
    let model = Model::anthropic().start();
    let agent = RealAgent::claude(&model);
    let daemon = Setup::new(CLAUDE.program).config(agent.toml()).start();
    let mut request = CreateSessionRequest::new("claude");
    request.permission_mode = Some("walrus".to_owned());
    let problem = problem(create(&daemon.client, &request).await);
    let detail = problem.detail.unwrap();
    assert!(detail.contains("walrus") && detail.contains("acceptEdits"), "{detail}");
    drop(daemon);
}

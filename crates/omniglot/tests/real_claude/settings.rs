//! Model, effort and mode, as the model server receives them.

use omniglot_schema::{
    CreateSessionRequest, PermissionReply, SessionPatch, SessionState, UniversalEventType,
};
use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::models::{Model, Reply, Request};
use omniglot_testkit::session_driver::{SessionDriver, status_of};

use super::CLAUDE;
use super::follow::{is, patched};

fn effort(request: &Request) -> Option<&str> {
    request.body.pointer("/output_config/effort").and_then(serde_json::Value::as_str)
}

fn variant(name: &str) -> SessionPatch {
    SessionPatch { variant: Some(name.to_owned()), ..SessionPatch::default() }
}

/// Another effort is asked from then on.
#[tokio::test]
async fn variants_effort() {
    let fixture = CLAUDE.fixture([Reply::text("One."), Reply::text("Two.")]).await;
    fixture.turn("The first.").await;
    assert_ne!(effort(&fixture.model.last()), Some("low"));
    assert_eq!(patched(&fixture, variant("low")).await.variant.as_deref(), Some("low"));
    fixture.turn("The second.").await;
    assert_eq!(effort(&fixture.model.last()), Some("low"));
    let refused = fixture.session.client.patch(&fixture.session.id, &variant("enormous")).await;
    assert_eq!(status_of(refused), 400);
}

#[tokio::test]
async fn model_effort_and_mode_of_a_new_session_hold_and_outlive_the_daemon() {
    let requested = |request: &mut CreateSessionRequest| {
        request.model = Some("sonnet".to_owned());
        request.variant = Some("low".to_owned());
        request.permission_mode = Some("acceptEdits".to_owned());
    };
    let fixture = CLAUDE.fixture_with([Reply::text("One.")], requested).await;
    fixture.turn("The first.").await;
    let first = fixture.model.last();
    assert!(first.model.contains("sonnet"), "{}", first.model);
    assert_eq!(effort(&first), Some("low"));
    let fixture = fixture.restart();
    let file = fixture.file("made.txt");
    fixture.model.push((CLAUDE.write)(&file, "made\n"));
    let turn = fixture.answered("The second.", Reply::text("Two.")).await;
    assert_eq!((turn.asked().len(), file.exists()), (0, true), "{turn}");
    let second = fixture.model.last();
    assert_eq!((&second.model, effort(&second)), (&first.model, Some("low")));
}

#[tokio::test]
async fn plan_mode_changes_nothing_and_the_model_is_told_so() {
    let fixture = CLAUDE.fixture([Reply::text("I plan.")]).await;
    let plan = SessionPatch { agent_mode: Some("plan".to_owned()), ..SessionPatch::default() };
    assert_eq!(patched(&fixture, plan).await.agent_mode.as_deref(), Some("plan"));
    fixture.turn("Do it.").await;
    assert!(fixture.model.last().body.to_string().contains("Plan mode"));
    let build = SessionPatch { agent_mode: Some("build".to_owned()), ..SessionPatch::default() };
    let state = patched(&fixture, build).await;
    assert_eq!(
        (state.agent_mode.as_deref(), state.permission_mode.as_deref()),
        (Some("build"), Some("default"))
    );
}

#[tokio::test]
async fn a_session_in_a_sandbox_asks_for_nothing() {
    let model = Model::anthropic().start();
    let agent = RealAgent::claude(&model);
    let config = format!("sandbox = true\n{}", agent.toml());
    let daemon = Setup::new(CLAUDE.program).config(config).start();
    let mut request = CreateSessionRequest::new("claude");
    request.permission_mode = Some("bypass".to_owned());
    let session = SessionDriver::create_with(&daemon.client, "real", &request).await;
    let file = daemon.work().join("made");
    model.push((CLAUDE.make)(&file));
    model.push(Reply::text("Made."));
    let turn = session.turn("Make it.", omniglot_schema::PermissionReply::Reject).await;
    assert_eq!((turn.asked().len(), file.exists()), (0, true), "{turn}");
    assert!(!turn.events.iter().any(is(UniversalEventType::AgentUnparsed)), "{turn}");
    drop(daemon);
}

fn bypass() -> SessionPatch {
    SessionPatch { permission_mode: Some("bypass".to_owned()), ..SessionPatch::default() }
}

#[tokio::test]
async fn permissions_can_be_skipped_from_the_middle_of_a_session_on_in_a_sandbox() {
    let model = Model::anthropic().reply(Reply::text("One.")).start();
    let agent = RealAgent::claude(&model);
    let daemon = Setup::new(CLAUDE.program).config(format!("sandbox = true\n{}", agent.toml())).start();
    let session =
        SessionDriver::create_with(&daemon.client, "real", &CreateSessionRequest::new("claude")).await;
    session.turn("The first.", PermissionReply::Reject).await;
    daemon.client.patch(&session.id, &bypass()).await.unwrap();
    let file = daemon.work().join("made");
    model.push((CLAUDE.make)(&file));
    model.push(Reply::text("Made."));
    let turn = session.turn("Make it.", PermissionReply::Reject).await;
    assert_eq!((turn.asked().len(), file.exists()), (0, true), "{turn}");
    session.history().await;
    drop(daemon);
}

#[tokio::test]
async fn root_cannot_skip_permissions_from_the_middle_of_a_session_on_and_is_told_why() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let fixture = CLAUDE.fixture([Reply::text("One.")]).await;
    fixture.turn("The first.").await;
    let refused = fixture.session.client.patch(&fixture.session.id, &bypass()).await.unwrap_err();
    let problem = refused.problem().unwrap();
    assert_eq!(problem.status, 400);
    let hint = problem.hint.as_deref().unwrap_or_default();
    assert!(hint.contains("sandbox = true"), "{problem:?}");
    assert_eq!(state(&fixture).await.permission_mode.as_deref(), Some("default"));
    let next = fixture.answered("Go on.", Reply::text("On.")).await;
    assert_eq!(next.text(), "On.", "{next}");
}

#[tokio::test]
async fn anybody_but_root_can_skip_permissions_from_the_middle_of_a_session_on() {
    let model = Model::anthropic().reply(Reply::text("One.")).start();
    let agent = RealAgent::claude(&model);
    let daemon = Setup::new(CLAUDE.program).config(agent.toml()).unprivileged(&[agent.home()]).start();
    let session =
        SessionDriver::create_with(&daemon.client, "real", &CreateSessionRequest::new("claude")).await;
    session.turn("The first.", PermissionReply::Reject).await;
    let changed = daemon.client.patch(&session.id, &bypass()).await.unwrap();
    assert_eq!(changed.state.permission_mode.as_deref(), Some("bypass"));
    let file = daemon.work().join("made");
    model.push((CLAUDE.make)(&file));
    model.push(Reply::text("Made."));
    let turn = session.turn("Make it.", PermissionReply::Reject).await;
    assert_eq!((turn.asked().len(), file.exists()), (0, true), "{turn}");
    session.history().await;
    drop(daemon);
}

#[tokio::test]
async fn models_efforts_modes_and_commands_are_told_by_the_agent() {
    let fixture = CLAUDE.fixture([]).await;
    let state = fixture.session.client.detail(&fixture.session.id).await.unwrap().state;
    let models = state.models.unwrap();
    let sonnet = models.inline().unwrap().iter().find(|model| model.id == "sonnet").unwrap();
    assert!(sonnet.variants.as_ref().unwrap().contains(&"high".to_owned()), "{sonnet:?}");
    let modes: Vec<_> = state.modes.as_ref().unwrap().inline().unwrap().iter().map(|mode| &mode.id).collect();
    assert_eq!(modes, ["build", "plan"]);
    assert!(!state.commands.unwrap().inline().unwrap().is_empty());
    assert_eq!(state.auth.map(|auth| auth.state), Some(omniglot_schema::AuthStatus::Ready));
}

fn model(name: &str) -> SessionPatch {
    SessionPatch { model: Some(name.to_owned()), ..SessionPatch::default() }
}

async fn state(fixture: &Fixture) -> SessionState {
    fixture.session.client.detail(&fixture.session.id).await.unwrap().state
}

#[tokio::test]
async fn the_default_model_that_is_chosen_without_a_process_is_asked_by_the_next_one() {
    let haiku = |request: &mut CreateSessionRequest| request.model = Some("haiku".to_owned());
    let fixture = CLAUDE.fixture_with([Reply::text("One."), Reply::text("Two.")], haiku).await;
    fixture.turn("The first.").await;
    assert_eq!(fixture.model.last().model, "claude-haiku-5-5");
    assert_eq!(state(&fixture).await.model.as_deref(), Some("haiku"));
    fixture.session.client.terminate(&fixture.session.id).await.unwrap();
    assert_eq!(patched(&fixture, model("default")).await.model.as_deref(), Some("default"));
    fixture.turn("The second.").await;
    assert_eq!(fixture.model.last().model, "claude-opus-5-5");
    assert_eq!(state(&fixture).await.model.as_deref(), Some("default"));
}

/// A session of a user whose own settings name a model.
async fn fixture_of_user(replies: impl IntoIterator<Item = Reply>) -> Fixture {
    let agent = |model: &Model| {
        let agent = RealAgent::claude(model);
        std::fs::create_dir(agent.home().join(".claude")).unwrap();
        std::fs::write(agent.home().join(".claude/settings.json"), r#"{"model": "haiku"}"#).unwrap();
        agent
    };
    let script = replies.into_iter().fold(Model::anthropic(), omniglot_testkit::models::Script::reply);
    Fixture::open(CLAUDE.program, script, agent).await
}

#[tokio::test]
async fn the_model_of_the_users_own_settings_is_told_and_outlives_the_process() {
    let fixture = fixture_of_user([Reply::text("One."), Reply::text("Two."), Reply::text("Three.")]).await;
    // Before the first prompt nobody knows it, and the next process must not be told another.
    assert_eq!(state(&fixture).await.model, None);
    let fixture = fixture.restart();
    fixture.turn("The first.").await;
    assert_eq!(fixture.model.last().model, "claude-haiku-5-5");
    assert_eq!(state(&fixture).await.model.as_deref(), Some("haiku"));
    let fixture = fixture.restart();
    fixture.turn("The second.").await;
    assert_eq!(fixture.model.last().model, "claude-haiku-5-5");
    assert_eq!(patched(&fixture, model("default")).await.model.as_deref(), Some("default"));
    fixture.turn("The third.").await;
    assert_eq!(fixture.model.last().model, "claude-opus-5-5");
}

#[tokio::test]
async fn the_default_model_is_asked_although_the_users_own_settings_name_another() {
    let fixture = fixture_of_user([Reply::text("One.")]).await;
    assert_eq!(patched(&fixture, model("default")).await.model.as_deref(), Some("default"));
    fixture.turn("The first.").await;
    assert_eq!(fixture.model.last().model, "claude-opus-5-5");
    assert_eq!(state(&fixture).await.model.as_deref(), Some("default"));
}

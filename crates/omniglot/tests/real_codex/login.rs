//! A Codex that nobody is logged in to.

use std::time::{Duration, Instant};

use omniglot_schema::{AuthStatus, CreateSessionRequest, ErrorCode, ErrorType, PermissionReply, StopReason};
use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::models::{Model, Reply};
use omniglot_testkit::session_driver::{SessionDriver, session_id};

/// A Codex whose provider wants an account, and that has none.
fn logged_out(model: &Model) -> RealAgent {
    let agent = RealAgent::codex(model);
    let path = agent.home().join(".codex/config.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    let wants = config.replace("env_key = \"OPENAI_API_KEY\"", "requires_openai_auth = true");
    assert_ne!(config, wants);
    std::fs::write(path, wants).unwrap();
    agent
}

#[tokio::test]
async fn a_session_without_a_login_exists_says_what_is_missing_and_works_after_the_login() {
    let model = Model::responses().start();
    let agent = logged_out(&model);
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(agent.toml()).start();
    let id = session_id("s");
    let created = daemon.client.create(&id, &CreateSessionRequest::new("codex")).await.unwrap();
    assert!(!created.healthy);
    let error = created.error.unwrap();
    assert_eq!(error.r#type, ErrorType::PermissionDenied);
    assert!(serde_json::to_string(&error).unwrap().contains("codex login"), "{error:?}");
    let state = daemon.client.detail(&id).await.unwrap().state;
    assert_eq!(state.auth.unwrap().state, AuthStatus::Required);

    let session = SessionDriver::of(&daemon.client, "s");
    let turn = session.turn("Hello?", PermissionReply::Once).await;
    assert_eq!(turn.error().unwrap().code, Some(ErrorCode::ProviderAuth), "{turn}");
    let login = r#"{"auth_mode":"apikey","OPENAI_API_KEY":"dummy"}"#;
    std::fs::write(agent.home().join(".codex/auth.json"), login).unwrap();
    model.push(Reply::text("Hello."));
    // Codex looks at its file of credentials about once a second.
    let began = Instant::now();
    let turn = loop {
        let turn = session.turn("And now?", PermissionReply::Once).await;
        if turn.stop_reason() != StopReason::Error || began.elapsed() > Duration::from_secs(20) {
            break turn;
        }
    };
    assert_eq!((turn.stop_reason(), turn.text().as_str()), (StopReason::EndTurn, "Hello."), "{turn}");
    let state = daemon.client.detail(&id).await.unwrap().state;
    assert_eq!(state.auth.unwrap().state, AuthStatus::Ready);
    session.history().await;
}

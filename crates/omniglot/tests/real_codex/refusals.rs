//! An unsupported Codex is refused with its version and the required one.

use omniglot_schema::{CreateSessionRequest, ErrorCode, ProblemDetails, StopReason};
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::models::Reply;
use omniglot_testkit::session_driver::session_id;

use crate::CODEX;

const TOO_OLD: &str = r#"{"id":"hello","result":{"userAgent":"omniglot/0.98.1 (Debian)"}}"#;
const UNFRIENDLY: &str = r#"{"error":{"code":-32600,"message":"clients are not welcome"},"id":"hello"}"#;

/// A Codex that answers the handshake with `answer`.
fn codex_that_says(answer: &str) -> String {
    codex_that_does(&format!("read l; echo '{answer}'; cat >/dev/null"))
}

fn codex_that_does(script: &str) -> String {
    let command = serde_json::to_string(&["sh", "-c", script]).unwrap();
    format!("[agents.codex]\nprotocol = \"codex\"\ncommand = {command}\n")
}

/// Returns the problem of creating a session with it, which always names the requirement, too.
async fn refused(codex: String) -> ProblemDetails {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(codex).start();
    let refused = daemon.client.create(&session_id("s"), &CreateSessionRequest::new("codex")).await;
    let problem = refused.expect_err("a refusal").problem().unwrap().clone();
    assert!(problem.r#type.ends_with(":agent_unavailable"), "{problem:?}");
    assert_eq!(problem.status, 502, "{problem:?}");
    let told = [problem.detail.as_deref(), problem.hint.as_deref()];
    assert!(told.iter().all(|told| told.is_some_and(|told| told.contains("0.160"))), "{problem:?}");
    problem
}

#[tokio::test]
async fn a_codex_that_is_too_old_is_named_with_what_is_needed() {
    let problem = refused(codex_that_says(TOO_OLD)).await;
    assert!(problem.detail.as_deref().unwrap().contains("0.98.1 is too old"), "{problem:?}");
}

#[tokio::test]
async fn a_codex_without_an_app_server_is_too_old() {
    let script = "echo \"error: unrecognized subcommand 'app-server'\" >&2; exit 2";
    let problem = refused(codex_that_does(script)).await;
    assert!(problem.detail.as_deref().unwrap().contains("no `app-server`"), "{problem:?}");
}

#[tokio::test]
async fn a_codex_that_refuses_the_handshake_is_quoted() {
    let problem = refused(codex_that_says(UNFRIENDLY)).await;
    assert!(problem.detail.as_deref().unwrap().contains("clients are not welcome"), "{problem:?}");
}

#[tokio::test]
async fn a_session_whose_codex_became_too_old_ends_its_turn_with_that() {
    let fixture = CODEX.fixture([Reply::text("Hello.")]).await;
    fixture.turn("Say hello.").await;
    std::fs::write(fixture.daemon.data().join("omniglot.toml"), codex_that_says(TOO_OLD)).unwrap();
    let fixture = fixture.restart();
    let turn = fixture.turn("Are you still there?").await;
    assert_eq!(turn.stop_reason(), StopReason::Error, "{turn}");
    let error = turn.error().unwrap();
    assert_eq!(error.code, Some(ErrorCode::AgentUnavailable), "{turn}");
    assert!(error.message.contains("0.98.1") && error.message.contains("0.160"), "{turn}");
}

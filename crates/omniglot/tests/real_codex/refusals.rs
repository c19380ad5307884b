//! A Codex that we cannot work with says so, with its version and what is needed.

use omniglot_schema::{CreateSessionRequest, ErrorCode, ProblemDetails, StopReason};
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::drive::session_id;
use omniglot_testkit::models::Reply;

use crate::CODEX;

const TOO_OLD: &str = r#"{"id":"hello","result":{"userAgent":"omniglot/0.98.1 (Debian)"}}"#;
const UNFRIENDLY: &str = r#"{"error":{"code":-32600,"message":"clients are not welcome"},"id":"hello"}"#;

/// A Codex that answers the handshake so.
fn codex_that_says(answer: &str) -> String {
    let script = format!("read l; echo '{answer}'; cat >/dev/null");
    let command = serde_json::to_string(&["sh", "-c", &script]).unwrap();
    format!("[agents.codex]\nprotocol = \"codex\"\ncommand = {command}\n")
}

async fn refused(answer: &str) -> ProblemDetails {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(codex_that_says(answer)).start();
    let refused = daemon.client.create(&session_id("s"), &CreateSessionRequest::new("codex")).await;
    refused.expect_err("a refusal").problem().unwrap().clone()
}

#[tokio::test]
async fn a_codex_that_is_too_old_is_named_with_what_is_needed() {
    let problem = refused(TOO_OLD).await;
    let detail = problem.detail.as_deref().unwrap();
    assert!(problem.r#type.ends_with(":agent_process_exited"), "{problem:?}");
    assert!(detail.contains("0.98.1 is too old") && detail.contains("0.160"), "{problem:?}");
    assert!(problem.hint.as_deref().is_some_and(|hint| hint.contains("0.160")), "{problem:?}");
}

#[tokio::test]
async fn a_codex_that_refuses_the_handshake_is_quoted() {
    let problem = refused(UNFRIENDLY).await;
    let detail = problem.detail.as_deref().unwrap();
    assert!(detail.contains("clients are not welcome"), "{problem:?}");
    assert!(problem.hint.as_deref().is_some_and(|hint| hint.contains("0.160")), "{problem:?}");
}

#[tokio::test]
async fn a_session_whose_codex_became_too_old_ends_its_turn_with_that() {
    let stage = CODEX.stage([Reply::text("Hello.")]).await;
    stage.turn("Say hello.").await;
    std::fs::write(stage.daemon.data().join("omniglot.toml"), codex_that_says(TOO_OLD)).unwrap();
    let stage = stage.restart();
    let turn = stage.turn("Are you still there?").await;
    assert_eq!(turn.stop_reason(), StopReason::Error, "{turn}");
    let error = turn.error().unwrap();
    assert_eq!(error.code, Some(ErrorCode::AgentUnavailable), "{turn}");
    assert!(error.message.contains("0.98.1") && error.message.contains("0.160"), "{turn}");
}

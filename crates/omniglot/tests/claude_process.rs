//! Claude Code's protocol over a real process and real HTTP, in a few lines of shell: the daemon's work
//! around the adapter. The program itself is tested with the real agents.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use omniglot_schema::{
    AuthStatus, ContentPart, CreateSessionRequest, EventData, PermissionReply, StopReason, UniversalEvent,
};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, session_id};

/// Answers the handshake, then every prompt with one word. It has only new sessions.
const SCRIPT: &str = r#"
case "$*" in *--resume*)
  echo '{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found"]}'
  exit 1;;
esac
id=$(echo "$*" | sed 's/.*--session-id \([^ ]*\).*/\1/')
read l; echo '{"type":"control_response","response":{"subtype":"success","request_id":"omniglot-1","response":{"models":[{"value":"default"}]}}}'
while read l; do
  echo '{"type":"system","subtype":"init","session_id":"'"$id"'","model":"m","permissionMode":"default"}'
  echo '{"type":"assistant","message":{"id":"m1","model":"m","content":[{"type":"text","text":"Hello."}]},"parent_tool_use_id":null}'
  echo '{"type":"result","subtype":"success","is_error":false,"total_cost_usd":0.5}'
done
"#;

fn daemon(script: &str) -> Daemon {
    daemon_with(script, "ANTHROPIC_API_KEY = \"dummy\"")
}

fn daemon_with(script: &str, env: &str) -> Daemon {
    let script = serde_json::to_string(script).unwrap();
    let config = format!(
        "[agents.odd]\nprotocol = \"claude\"\ncommand = [\"sh\", \"-c\", {script}, \"claude\"]\nenv = {{ {env} }}\n"
    );
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start()
}

async fn odd(daemon: &Daemon) -> SessionDriver {
    SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("odd")).await
}

#[tokio::test]
async fn one_process_takes_prompt_after_prompt() {
    let daemon = daemon(SCRIPT);
    let session = odd(&daemon).await;
    for _ in 0..2 {
        let turn = session.turn("hello", PermissionReply::Once).await;
        assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    }
    session.history().await;
}

#[tokio::test]
async fn an_agent_that_does_not_tell_its_account_lacks_credentials_until_they_are_found_or_a_turn_succeeds() {
    let home = tempfile::tempdir().unwrap();
    let daemon = daemon_with(SCRIPT, &format!("HOME = {:?}", home.path()));
    let client = &daemon.client;
    let has_credentials = async || {
        let agents = client.agents().await.unwrap().agents;
        agents.iter().find(|agent| agent.id == "odd").unwrap().credentials_available
    };
    let create = async |id: &str| {
        client.create(&session_id(id), &CreateSessionRequest::new("odd")).await.unwrap().healthy
    };
    std::fs::create_dir(home.path().join(".claude")).unwrap();
    let login = home.path().join(".claude/.credentials.json");
    std::fs::write(&login, r#"{"key":"k"}"#).unwrap();
    assert!(has_credentials().await);
    std::fs::remove_file(&login).unwrap();
    assert!(!has_credentials().await);
    assert!(!create("s").await);
    let auth = client.detail(&session_id("s")).await.unwrap().state.auth.unwrap();
    assert_eq!(auth.state, AuthStatus::Required);
    assert!(!has_credentials().await);
    let turn = SessionDriver::of(client, "s").turn("hello", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    assert!(has_credentials().await && create("t").await, "what a turn has shown counts more");
}

#[tokio::test]
async fn a_session_that_its_agent_has_lost_goes_on_and_says_so() {
    let mut daemon = daemon(SCRIPT);
    odd(&daemon).await.turn("hello", PermissionReply::Once).await;
    daemon.stop();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    let turn = session.turn("again", PermissionReply::Once).await;
    assert_eq!(turn.stop_reason(), StopReason::EndTurn);
    let history = session.history().await;
    let forgotten = |event: &&UniversalEvent| match &event.data {
        EventData::ItemCompleted(done) => matches!(
            done.item.content.first(),
            Some(ContentPart::Status { label, .. }) if label == "odd.memory_lost"
        ),
        _ => false,
    };
    assert_eq!(history.iter().filter(forgotten).count(), 1);
}

#[tokio::test]
async fn a_cli_that_runs_as_root_although_the_daemon_does_not_is_started_without_the_switch_that_it_refuses()
{
    let refuses = r#"
case "$*" in *--allow-dangerously-skip-permissions*)
  echo '--dangerously-skip-permissions cannot be used with root/sudo privileges' >&2
  exit 1;;
esac
"#;
    let daemon = daemon(&format!("{refuses}{SCRIPT}"));
    let session = odd(&daemon).await;
    assert_eq!(session.turn("hello", PermissionReply::Once).await.stop_reason(), StopReason::EndTurn);
    session.history().await;
}

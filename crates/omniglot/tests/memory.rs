//! Memory across the end of a process: sessions of agents that remember, replay or forget, and of those that
//! were never allowed to start.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use omniglot_schema::{
    AuthStatus, ContentPart, CreateSessionRequest, ErrorCode, ErrorType, EventData, PermissionReply, Resume,
    StopReason, UniversalEvent, UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, session_id, text_of};

const NEW: &str = r#"echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"x"}}'"#;
const END: &str = r#"echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'"#;

/// Answers `initialize`.
fn initialized(capabilities: &str) -> String {
    format!(
        r#"read l; echo '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":1,"agentCapabilities":{capabilities}}}}}'; read l"#
    )
}

/// Sends a chunk of the agent's or, in a replay, of the user's message.
fn chunk(kind: &str, text: &str) -> String {
    format!(
        r#"echo '{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"x","update":{{"sessionUpdate":"{kind}","content":{{"type":"text","text":"{text}"}}}}}}}}'"#
    )
}

/// A daemon whose agent `odd` runs the lines of `script`.
fn daemon(script: &[&str]) -> Daemon {
    let command = serde_json::to_string(&script.join("\n")).unwrap();
    let config = format!("[agents.odd]\nprotocol = \"acp\"\ncommand = [\"sh\", \"-c\", {command}]\n");
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start()
}

async fn odd(daemon: &Daemon) -> SessionDriver {
    SessionDriver::create_with(&daemon.client, "s", &CreateSessionRequest::new("odd")).await
}

fn is(kind: UniversalEventType) -> impl Fn(&UniversalEvent) -> bool {
    move |event| event.kind() == kind
}

fn resumes(events: &[UniversalEvent]) -> Vec<Option<Resume>> {
    let resume = |event: &UniversalEvent| match &event.data {
        EventData::SessionStarted(data) => Some(data.metadata.as_ref().and_then(|data| data.resume)),
        _ => None,
    };
    events.iter().filter_map(resume).collect()
}

/// Returns the sequences at which the stream reports that the agent has forgotten.
fn forgotten(events: &[UniversalEvent]) -> Vec<u64> {
    let says = |event: &UniversalEvent| match &event.data {
        EventData::ItemCompleted(data) => data
            .item
            .content
            .iter()
            .any(|part| matches!(part, ContentPart::Status { label, .. } if label == "odd.memory_lost")),
        _ => false,
    };
    events.iter().filter(|event| says(event)).map(|event| event.sequence).collect()
}

#[tokio::test]
async fn a_session_is_loaded_by_an_agent_that_can_do_no_better() {
    let replay = [chunk("user_message_chunk", "hello"), chunk("agent_message_chunk", "old words")].join("\n");
    let load = format!(
        r#"case "$l" in *session/load*) {replay}
echo '{{"jsonrpc":"2.0","id":2,"result":null}}';; *) {NEW};; esac; read l"#
    );
    let old = format!(
        "if [ ! -e lived ]; then : > lived; {}; {END}; exit 0; fi",
        chunk("agent_message_chunk", "old words")
    );
    let new = chunk("agent_message_chunk", "new words");
    let daemon = daemon(&[&initialized(r#"{"loadSession":true}"#), &load, &old, &new, END, "read l"]);
    let session = odd(&daemon).await;
    assert_eq!(session.turn("hello", PermissionReply::Once).await.text(), "old words");
    session.wait_for(0, is(UniversalEventType::SessionEnded)).await;
    assert_eq!(session.turn("again", PermissionReply::Once).await.text(), "new words");
    let events = session.history().await;
    assert_eq!(resumes(&events), [None, Some(Resume::Load)]);
    assert_eq!(forgotten(&events), [] as [u64; 0]);
    assert_eq!(text_of(&events), "old wordsnew words", "the replay is not told twice");
}

#[tokio::test]
async fn an_agent_that_can_neither_load_nor_resume_has_forgotten_and_everybody_is_told() {
    let die = format!("if [ ! -e lived ]; then : > lived; {END}; exit 0; fi");
    let mut daemon = daemon(&[&initialized("{}"), NEW, "read l", &die, END, "read l"]);
    let session = odd(&daemon).await;
    session.turn("die", PermissionReply::Once).await;
    let ended = session.wait_for(0, is(UniversalEventType::SessionEnded)).await;
    session.turn("again", PermissionReply::Once).await;
    let events = session.history().await;
    assert_eq!(resumes(&events), [None, Some(Resume::None)]);
    assert!(matches!(*forgotten(&events), [at] if at > ended.sequence), "{:?}", forgotten(&events));

    // A restart of the daemon ends no session, but the agent's memory all the same.
    daemon.stop();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    session.turn("once more", PermissionReply::Once).await;
    let later = session.history().await;
    assert_eq!(resumes(&later), resumes(&events), "no new start");
    assert!(matches!(*forgotten(&later), [_, at] if at > events.len() as u64), "{:?}", forgotten(&later));
}

#[tokio::test]
async fn a_stop_in_mid_turn_keeps_the_message_that_waits() {
    let mut daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("a first word [[text:2]] [[silence]]").await;
    session.wait_for(0, is(UniversalEventType::ItemDelta)).await;
    let waiting = session.post("[[recall]]").await;
    daemon.stop();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    let first = session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    let second = session.wait_for(first.sequence, is(UniversalEventType::TurnEnded)).await;
    let EventData::TurnEnded(end) = &second.data else { unreachable!() };
    assert_eq!(end.metadata.stop_reason, StopReason::EndTurn);
    let events = session.history().await;
    let started: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::TurnStarted(turn) => turn.metadata.message_id.clone(),
            _ => None,
        })
        .collect();
    assert_eq!(started.len(), 2, "each message has one turn");
    assert_eq!(started[1], waiting.message_id);
    assert!(!events.iter().any(is(UniversalEventType::SessionEnded)), "a stop of the daemon ends no session");
    let errors: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::Error(error) => error.code,
            _ => None,
        })
        .collect();
    assert_eq!(errors, [ErrorCode::DaemonRestarted]);
    let after: Vec<_> = events.iter().filter(|event| event.sequence > first.sequence).cloned().collect();
    assert!(text_of(&after).contains("a first word"), "the agent remembers: {}", text_of(&after));
    assert_eq!(daemon.client.detail(&session.id).await.unwrap().state.queue, None);
}

#[tokio::test]
async fn without_credentials_a_session_exists_says_what_is_missing_and_works_once_they_are_there() {
    let deny = r#"if [ ! -e key ]; then echo '{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Authentication required"}}'; read l; exit 1; fi"#;
    let hello = chunk("agent_message_chunk", "hello");
    let daemon = daemon(&[&initialized("{}"), deny, NEW, "read l", &hello, END, "read l"]);
    let id = session_id("s");
    let created = daemon.client.create(&id, &CreateSessionRequest::new("odd")).await.unwrap();
    assert!(!created.healthy);
    let error = created.error.unwrap();
    assert_eq!(error.r#type, ErrorType::PermissionDenied);
    assert!(error.message.contains("Authentication required"), "{}", error.message);
    let session = SessionDriver::of(&daemon.client, "s");
    let detail = daemon.client.detail(&id).await.unwrap();
    assert_eq!(detail.state.auth.unwrap().state, AuthStatus::Required);
    assert!(!has_credentials(&daemon).await);
    session.history().await;

    let turn = session.turn("hello?", PermissionReply::Once).await;
    assert_eq!(turn.error().unwrap().code, Some(ErrorCode::ProviderAuth));
    std::fs::write(daemon.work().join("key"), "").unwrap();
    let turn = session.turn("and now?", PermissionReply::Once).await;
    assert_eq!((turn.stop_reason(), &*turn.text()), (StopReason::EndTurn, "hello"));
    assert!(has_credentials(&daemon).await);
    session.history().await;
}

async fn has_credentials(daemon: &Daemon) -> bool {
    let agents = daemon.client.agents().await.unwrap().agents;
    agents.iter().find(|agent| agent.id == "odd").unwrap().credentials_available
}

#[tokio::test]
async fn a_key_that_fails_in_a_turn_is_no_credential_until_a_turn_works() {
    let deny =
        r#"read l; echo '{"jsonrpc":"2.0","id":3,"error":{"code":401,"message":"API key not valid"}}'"#;
    let end = r#"read l; echo '{"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_turn"}}'; read l"#;
    let daemon = daemon(&[&initialized("{}"), NEW, deny, end]);
    let session = odd(&daemon).await;
    assert!(has_credentials(&daemon).await);
    let turn = session.turn("hello", PermissionReply::Once).await;
    assert_eq!(turn.error().unwrap().code, Some(ErrorCode::ProviderAuth));
    assert!(!has_credentials(&daemon).await);
    // The success of another session proves nothing: the key is not checked before a prompt.
    SessionDriver::create_with(&daemon.client, "t", &CreateSessionRequest::new("odd")).await;
    assert!(!has_credentials(&daemon).await);
    assert_eq!(session.turn("again", PermissionReply::Once).await.stop_reason(), StopReason::EndTurn);
    assert!(has_credentials(&daemon).await);
}

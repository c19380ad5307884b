//! ACP agents beside their turns: they receive the end of a session, name their sessions, and send sounds and
//! files. Each is a few lines of shell.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use omniglot_schema::{
    ContentPart, CreateSessionRequest, EventData, FileAction, PermissionReply, SessionPatch, StopReason,
    UniversalEvent,
};
use omniglot_testkit::daemon::{Daemon, Setup, wait_gone};
use omniglot_testkit::session_driver::{SessionDriver, status_of};

/// A daemon whose agent `odd` opens a session and then runs `script`.
fn daemon(capabilities: &str, script: &str) -> Daemon {
    let open = format!(
        r#"read l; echo '{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":1,"agentCapabilities":{capabilities}}}}}'
read l; echo '{{"jsonrpc":"2.0","id":2,"result":{{"sessionId":"x"}}}}'
"#
    );
    let command = serde_json::to_string(&(open + script)).unwrap();
    let config = format!("[agents.odd]\ncommand = [\"sh\", \"-c\", {command}]\n");
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start()
}

async fn odd(daemon: &Daemon, name: &str) -> SessionDriver {
    SessionDriver::create_with(&daemon.client, name, &CreateSessionRequest::new("odd")).await
}

/// Answers a prompt, after one update.
fn turn(id: u32, update: &str) -> String {
    format!(
        r#"read l; echo '{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"x","update":{update}}}}}'
echo '{{"jsonrpc":"2.0","id":{id},"result":{{"stopReason":"end_turn"}}}}'
"#
    )
}

const CLOSE: &str = r#"{"sessionCapabilities":{"close":{}}}"#;

/// Writes the next message to a file, then runs `then`, and records that the agent was left to end by itself.
fn kept(then: &str) -> String {
    format!("read l; echo \"$l\" >> told; {then}; read l || echo left >> told")
}

fn told(daemon: &Daemon) -> String {
    std::fs::read_to_string(daemon.work().join("told")).unwrap_or_default()
}

#[tokio::test]
async fn an_agent_that_takes_it_is_told_that_its_session_is_closed() {
    for answer in [r#""result":{}"#, r#""error":{"code":-32603,"message":"not now"}"#] {
        let daemon = daemon(CLOSE, &kept(&format!(r#"echo '{{"jsonrpc":"2.0","id":3,{answer}}}'"#)));
        let session = odd(&daemon, "s").await;
        let processes = daemon.descendants();
        daemon.client.terminate(&session.id).await.unwrap();
        processes.into_iter().for_each(wait_gone);
        let told = told(&daemon);
        assert!(told.contains(r#""method":"session/close""#) && told.ends_with("left\n"), "{told}");
        session.history().await;

        let second = odd(&daemon, "t").await;
        std::fs::remove_file(daemon.work().join("told")).unwrap();
        let processes = daemon.descendants();
        daemon.client.delete(&second.id).await.unwrap();
        processes.into_iter().for_each(wait_gone);
        assert!(self::told(&daemon).contains("session/close"));
        assert_eq!(status_of(daemon.client.detail(&second.id).await), 404);
    }
}

#[tokio::test]
async fn an_agent_that_does_not_answer_a_close_is_ended_all_the_same() {
    let daemon = daemon(CLOSE, &kept("exec sleep 600"));
    let session = odd(&daemon, "s").await;
    let processes = daemon.descendants();
    daemon.client.terminate(&session.id).await.unwrap();
    processes.into_iter().for_each(wait_gone);
    assert!(told(&daemon).contains("session/close"));
    session.history().await;
}

#[tokio::test]
async fn an_agent_without_a_word_for_it_is_left_by_closing_its_stdin() {
    let daemon = daemon("{}", &kept(":"));
    let session = odd(&daemon, "s").await;
    let processes = daemon.descendants();
    daemon.client.terminate(&session.id).await.unwrap();
    processes.into_iter().for_each(wait_gone);
    assert_eq!(told(&daemon), "\nleft\n");
    session.history().await;
}

/// Works on a prompt and asks for a permission, keeps the answer and the next message, and then does `then`.
fn working(then: &str) -> String {
    let ask = r#"{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"x","toolCall":{"toolCallId":"t"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}"#;
    let keep = "read l; echo \"$l\" >> told";
    format!("read l; echo '{ask}'; {keep}; {keep}; {then}")
}

/// The kinds of messages that the agent was given since it asked.
fn kinds(daemon: &Daemon) -> Vec<&'static str> {
    let kind = |line: &str| {
        let known = ["\"outcome\":\"cancelled\"", "session/cancel", "session/close", "left"];
        known.into_iter().find(|word| line.contains(word)).unwrap_or_else(|| panic!("{line}"))
    };
    told(daemon).lines().filter(|line| !line.is_empty()).map(kind).collect()
}

async fn asked(daemon: &Daemon, name: &str) -> SessionDriver {
    let session = odd(daemon, name).await;
    session.post("work").await;
    session.wait_for(0, |event| matches!(event.data, EventData::PermissionRequested(_))).await;
    session
}

#[tokio::test]
async fn a_turn_is_interrupted_before_its_session_is_closed() {
    let ends = r#"echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}'"#;
    let closes = kept(r#"echo '{"jsonrpc":"2.0","id":4,"result":{}}'"#);
    let mut daemon = daemon(CLOSE, &working(&format!("{ends}; {closes}")));
    let order = ["\"outcome\":\"cancelled\"", "session/cancel", "session/close"];

    let first = asked(&daemon, "terminated").await;
    daemon.client.terminate(&first.id).await.unwrap();
    assert_eq!(kinds(&daemon), [&order[..], &["left"]].concat());
    let history = first.history().await;
    let place =
        |wanted: fn(&EventData) -> bool| history.iter().position(|event| wanted(&event.data)).unwrap();
    let resolved = place(|data| matches!(data, EventData::PermissionResolved(_)));
    let ended = place(
        |data| matches!(data, EventData::TurnEnded(end) if end.metadata.stop_reason == StopReason::Cancelled),
    );
    assert!(resolved < ended, "{history:?}");

    std::fs::remove_file(daemon.work().join("told")).unwrap();
    let second = asked(&daemon, "deleted").await;
    daemon.client.delete(&second.id).await.unwrap();
    assert_eq!(kinds(&daemon), order);

    std::fs::remove_file(daemon.work().join("told")).unwrap();
    asked(&daemon, "stopped").await;
    daemon.stop();
    assert_eq!(kinds(&daemon)[..2], order[..2]);
}

#[tokio::test]
async fn an_agent_that_does_not_stop_when_it_is_interrupted_is_killed() {
    let mut daemon = daemon("{}", &working("read l || echo left >> told"));
    let order = ["\"outcome\":\"cancelled\"", "session/cancel"];
    let session = asked(&daemon, "terminated").await;
    daemon.client.terminate(&session.id).await.unwrap();
    assert_eq!(kinds(&daemon), order);
    std::fs::remove_file(daemon.work().join("told")).unwrap();
    asked(&daemon, "stopped").await;
    daemon.stop();
    assert_eq!(kinds(&daemon), order);
}

fn title(text: &str) -> SessionPatch {
    SessionPatch { title: Some(text.into()), ..SessionPatch::default() }
}

#[tokio::test]
async fn a_persons_title_stays_whatever_the_agent_calls_its_session() {
    let named =
        |id, name| turn(id, &format!(r#"{{"sessionUpdate":"session_info_update","title":"{name}"}}"#));
    let daemon = daemon("{}", &[named(3, "first"), named(4, "second"), named(5, "third")].concat());
    let session = odd(&daemon, "s").await;
    let title_after = async |text: &str| {
        session.turn(text, PermissionReply::Once).await;
        daemon.client.detail(&session.id).await.unwrap().info.title
    };
    assert_eq!(title_after("one").await.as_deref(), Some("first"));
    daemon.client.patch(&session.id, &title("Ours")).await.unwrap();
    assert_eq!(title_after("two").await.as_deref(), Some("Ours"));
    // After a person removes a title the agent may name the session again.
    daemon.client.patch(&session.id, &title("")).await.unwrap();
    assert_eq!(title_after("three").await.as_deref(), Some("third"));
    session.history().await;
}

/// Returns the files that items name.
fn files(events: &[UniversalEvent]) -> Vec<String> {
    let parts = events.iter().flat_map(|event| match &event.data {
        EventData::ItemCompleted(data) => data.item.content.clone(),
        _ => vec![],
    });
    let path = |part| match part {
        ContentPart::FileRef { path, action: FileAction::Read, .. } => Some(path),
        _ => None,
    };
    parts.filter_map(path).collect()
}

#[tokio::test]
async fn sounds_and_other_bytes_are_served_as_blobs() {
    let chunk =
        |id, content| turn(id, &format!(r#"{{"sessionUpdate":"agent_message_chunk","content":{content}}}"#));
    let sound = chunk(3, r#"{"type":"audio","mimeType":"audio/wav","data":"UklGRg=="}"#);
    let archive = chunk(
        4,
        r#"{"type":"resource","resource":{"uri":"file:///a.zip","mimeType":"application/zip","blob":"UEsDBA=="}}"#,
    );
    let made = turn(
        5,
        r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"speak","status":"completed","content":[{"type":"content","content":{"type":"audio","mimeType":"audio/wav","data":"UklGRg=="}}]}"#,
    );
    let mut daemon = daemon("{}", &[sound, archive, made].concat());
    let session = odd(&daemon, "s").await;
    for prompt in ["sing", "pack", "speak"] {
        session.turn(prompt, PermissionReply::Once).await;
    }
    let paths = files(&session.history().await);
    assert_eq!(paths.len(), 3, "{paths:?}");
    assert_eq!(paths[0], paths[2], "the same sound has one name");
    assert!(paths[0].starts_with("/v1/sessions/s/blobs/") && paths[0].ends_with(".wav"), "{paths:?}");
    daemon.stop();
    let daemon = daemon.restart();
    // Data that is neither image nor sound is served as plain bytes: a browser must not treat it as a page.
    let served = [("audio/wav", &b"RIFF"[..]), ("application/octet-stream", &b"PK\x03\x04"[..])];
    for (path, (mime, bytes)) in paths.iter().zip(served) {
        let request = reqwest::Client::new().get(format!("{}{path}", daemon.url)).bearer_auth(&daemon.token);
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], mime);
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
        assert_eq!(response.bytes().await.unwrap(), bytes);
    }
}

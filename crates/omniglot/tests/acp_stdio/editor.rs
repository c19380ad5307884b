//! Short helpers for an editor: a client, its session, its updates.

use omniglot_testkit::acp_client::{AcpClient, Library};
use omniglot_testkit::daemon::{Daemon, Setup};
use serde_json::{Value, json};

pub(crate) fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

/// A client after its handshake.
pub(crate) async fn editor(library: Library, daemon: &Daemon, agent: &str, can: Value) -> AcpClient {
    let mut client = AcpClient::start(library, daemon, agent);
    let hello = client.get("initialize", handshake(can)).await;
    assert_eq!(hello["protocolVersion"], 1);
    client
}

pub(crate) fn handshake(can: Value) -> Value {
    json!({
        "protocolVersion": 1,
        "clientCapabilities": can,
        "clientInfo": { "name": "test", "version": "1" },
    })
}

pub(crate) async fn new_session(client: &mut AcpClient, daemon: &Daemon) -> String {
    id_of(&new_session_answer(client, daemon).await)
}

pub(crate) async fn new_session_answer(client: &mut AcpClient, daemon: &Daemon) -> Value {
    client.get("session/new", json!({ "cwd": daemon.work(), "mcpServers": [] })).await
}

pub(crate) fn id_of(session: &Value) -> String {
    session["sessionId"].as_str().expect("a session id").to_owned()
}

pub(crate) fn prompt(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

/// Prompts and returns the stop reason; the updates before are cleared.
pub(crate) async fn ask(client: &mut AcpClient, session: &str, text: &str) -> String {
    client.updates.clear();
    let answer = client.get("session/prompt", prompt(session, text)).await;
    answer["stopReason"].as_str().expect("a stop reason").to_owned()
}

/// Returns the updates of one kind.
pub(crate) fn of_kind<'a>(client: &'a AcpClient, kind: &str) -> Vec<&'a Value> {
    let update = |params: &'a Value| Some(&params["update"]).filter(|update| update["sessionUpdate"] == kind);
    client.updates.iter().filter_map(update).collect()
}

/// Returns the text of all chunks of one kind.
pub(crate) fn text_of(client: &AcpClient, kind: &str) -> String {
    of_kind(client, kind).into_iter().filter_map(|update| update["content"]["text"].as_str()).collect()
}

/// Returns the agent's text.
pub(crate) fn said(client: &AcpClient) -> String {
    text_of(client, "agent_message_chunk")
}

/// Returns the final states of tools, from their last updates.
pub(crate) fn tool_ends(client: &AcpClient) -> Vec<String> {
    let calls = of_kind(client, "tool_call_update").into_iter().chain(of_kind(client, "tool_call"));
    let ends = calls.filter_map(|update| update["status"].as_str());
    ends.filter(|status| ["completed", "failed"].contains(status)).map(str::to_owned).collect()
}

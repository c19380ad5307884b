//! Keys beside the protocol's own words: a client sees the sessions of its agent, and how a session ended.

use std::os::unix::fs::PermissionsExt as _;

use omniglot_schema::{CreateSessionRequest, EventData, SessionId};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::SessionDriver;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::daemon;
use crate::wire::{Wire, is_update, words};

/// B15: a client that has chosen an agent is not shown the sessions of others, which it could not go on with.
#[tokio::test]
async fn b15_a_client_lists_the_sessions_of_its_agent() {
    let program = env!("CARGO_BIN_EXE_omniglot");
    let config = format!("[agents.other]\ncommand = [{program:?}, \"mock-agent\"]\n");
    let daemon = Setup::new(program).config(config).start();
    SessionDriver::create_with(&daemon.client, "theirs", &CreateSessionRequest::new("other")).await;
    let wire = Wire::new(&daemon, "c");
    let ours = wire.session(&daemon).await;
    let listed = wire.call("session/list", json!({})).await;
    let ids: Vec<_> =
        listed["result"]["sessions"].as_array().unwrap().iter().map(|one| &one["sessionId"]).collect();
    assert_eq!(ids, [&json!(ours)]);
    let mut wire = Wire::new(&daemon, "d");
    wire.agent = "other";
    let listed = wire.call("session/list", json!({})).await;
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], "theirs", "{listed}");
}

/// B15: acpx gives such options to every agent.
#[tokio::test]
async fn b15_an_option_that_nothing_reads_is_refused() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    wire.hello().await;
    let meta = json!({ "claudeCode": { "options": { "allowedTools": ["Read"] } } });
    let refused =
        wire.call("session/new", json!({ "cwd": daemon.work(), "mcpServers": [], "_meta": meta })).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(
        refused["error"]["message"].as_str().unwrap().contains("does not take `allowedTools`"),
        "{refused}"
    );
}

/// B16: the answer to the prompt tells that its session was terminated, and by whom; a cancel does not.
#[tokio::test]
async fn b16_a_prompt_that_terminate_ends_tells_the_end_of_its_session() {
    let daemon = daemon();
    for (number, work) in ["[[text]] [[silence]]", "[[text]] [[deaf]]"].into_iter().enumerate() {
        let (session, prompt) = at_work(&Wire::new(&daemon, &format!("c{number}")), &daemon, work).await;
        daemon.client.terminate(&SessionId::parse(&session).unwrap()).await.unwrap();
        let answer = prompt.await.unwrap();
        assert_eq!(answer["result"]["stopReason"], "cancelled", "{answer}");
        let end = &answer["result"]["_meta"]["sandbox-agent/sessionEnd"];
        let told = (&end["reason"], &end["terminatedBy"]);
        assert_eq!(told, (&json!("terminated"), &json!("daemon")), "{answer}");
    }
    let wire = Wire::new(&daemon, "d");
    let (session, prompt) = at_work(&wire, &daemon, "[[text]] [[silence]]").await;
    let cancel = json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } });
    wire.post(&cancel).await;
    let answer = prompt.await.unwrap();
    assert!(answer["result"]["_meta"].get("sandbox-agent/sessionEnd").is_none(), "{answer}");
}

/// Returns a session whose first turn has begun to speak, and the answer to its prompt.
async fn at_work(wire: &Wire, daemon: &Daemon, work: &str) -> (String, JoinHandle<Value>) {
    let session = wire.session(daemon).await;
    let mut stream = wire.stream(None).await;
    let prompt = wire.begin_prompt(&session, work);
    stream.find(|message| is_update(message, "agent_message_chunk")).await;
    (session, prompt)
}

/// B16: a failed prompt names its agent; the client's id of the turn is told by `turn.started`.
#[tokio::test]
async fn b16_errors_name_their_agent_and_turns_have_the_ids_of_their_client() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    let mut prompt = words(&session, "[[crash]]");
    prompt["_meta"] = json!({ "sandbox-agent/turnId": "my-turn" });
    let answer = wire.call("session/prompt", prompt).await;
    assert_eq!(answer["error"]["data"]["_meta"]["sandbox-agent/agent"], "mock", "{answer}");
    let events = SessionDriver::of(&daemon.client, &session).history().await;
    let ids = events.iter().find_map(|event| match &event.data {
        EventData::TurnStarted(data) => Some(data.metadata.client_ids.clone()),
        _ => None,
    });
    assert_eq!(ids, Some(vec!["my-turn".to_owned()]));
    let unknown = wire.call("session/prompt", words("nobody", "x")).await;
    assert_eq!(unknown["error"]["data"]["_meta"]["sandbox-agent/agent"], "mock", "{unknown}");
}

/// B16: what a client keeps with a prompt is told by `turn.started`, and too much of it is refused.
#[tokio::test]
async fn b16_the_metadata_of_a_prompt_is_that_of_its_turn() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    let kept = json!({ "ticket": 7, "who": { "team": "herons" } });
    let mut prompt = words(&session, "[[text]]");
    prompt["_meta"] = json!({ "sandbox-agent/metadata": kept });
    assert_eq!(wire.call("session/prompt", prompt.clone()).await["result"]["stopReason"], "end_turn");
    let events = SessionDriver::of(&daemon.client, &session).history().await;
    let told = events.iter().find_map(|event| match &event.data {
        EventData::TurnStarted(data) => data.metadata.client_metadata.clone(),
        _ => None,
    });
    assert_eq!(told.map(Value::Object), Some(kept));
    prompt["_meta"] = json!({ "sandbox-agent/metadata": { "x": "x".repeat(17 << 10) } });
    let refused = wire.call("session/prompt", prompt.clone()).await;
    assert!(refused["error"].to_string().contains("metadata_bytes"), "{refused}");
    prompt["_meta"] = json!({ "sandbox-agent/metadata": "x" });
    let refused = wire.call("session/prompt", prompt).await;
    assert!(refused["error"].to_string().contains("sandbox-agent/metadata"), "{refused}");
}

/// B16: a session tells the version of its agent and what it was forked from.
#[tokio::test]
async fn b16_a_fork_names_its_origin_and_the_version_of_its_agent() {
    let daemon = daemon();
    let wire = Wire::new(&daemon, "c");
    let session = wire.session(&daemon).await;
    wire.prompt(&session, "[[text]]").await;
    let fork = wire
        .call("session/fork", json!({ "sessionId": session, "cwd": daemon.work(), "mcpServers": [] }))
        .await;
    let meta = &fork["result"]["_meta"];
    assert_eq!(meta["omniglot/forkedFrom"], session.as_str(), "{fork}");
    assert_eq!(meta["sandbox-agent/agentVersion"], env!("CARGO_PKG_VERSION"), "{fork}");
}

/// B16: the version beside the agent's name is the agent's own.
#[tokio::test]
async fn b16_the_handshake_tells_the_version_of_the_agent() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("odd");
    std::fs::write(&program, "#!/bin/sh\n[ \"$1\" = --version ] && echo 'odd 7.8.9'\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!(
        "[agents.odd]\nprotocol = \"claude\"\ncommand = [{program:?}]\n[agents.mute]\ncommand = [\"sh\", \"-c\", \"\"]\n"
    );
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start();
    for (agent, version) in [("odd", "7.8.9"), ("mute", "unknown")] {
        let mut wire = Wire::new(&daemon, agent);
        wire.agent = agent;
        let hello = wire.call("initialize", json!({ "protocolVersion": 1 })).await;
        assert_eq!(hello["result"]["agentInfo"], json!({ "name": agent, "version": version }), "{hello}");
    }
}

//! The unmodified npm SDK of sandbox-agent drives the built-in agent, Claude Code and Codex over `/v1/acp`, and processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "sandbox_sdk/everything.rs"]
mod everything;
#[path = "sandbox_sdk/files.rs"]
mod files;
#[path = "sandbox_sdk/play.rs"]
mod play;
#[path = "sandbox_sdk/processes.rs"]
mod processes;

use omniglot_schema::{EventData, StopReason, UniversalEventType};
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::fake_npm::FakeNpm;
use omniglot_testkit::sandbox_sdk::SandboxSdk;
use omniglot_testkit::skills::SkillFolder;
use play::Play;
use serde_json::{Value, json};

/// Makes each scenario a test of each agent.
macro_rules! with_each_agent {
    ($($scenario:ident),* $(,)?) => {
        mod mock {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario(super::Play::mock()).await;
            })*
        }
        mod claude {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario(super::Play::claude()).await;
            })*
        }
        mod codex {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario(super::Play::codex()).await;
            })*
        }
    };
}

with_each_agent! {
    a_prompt_is_answered_after_its_updates,
    a_permission_is_given_and_refused,
    a_permission_that_nobody_listens_for_is_cancelled_at_once,
    destroying_a_session_cancels_its_turn,
    a_resumed_session_is_told_what_was_said,
    an_agent_that_dies_is_an_error_and_the_next_prompt_works,
    the_agent_and_its_options_are_listed,
}

async fn a_prompt_is_answered_after_its_updates(play: Play) {
    let mut sdk = SandboxSdk::start(&play.daemon);
    let session = play.session(&mut sdk).await;
    for _ in 0..3 {
        let answer = sdk.prompt(&session, &play.says("Well met.")).await.unwrap();
        assert_eq!(answer["stopReason"], "end_turn");
    }
    let is_answer = |event: &Value| event["payload"]["result"]["stopReason"] == "end_turn";
    sdk.events(3, is_answer).await;
    let last = sdk.events.iter().rposition(is_answer).unwrap();
    let after = sdk.events[last..].iter().filter(|event| event["payload"]["method"] == "session/update");
    let said =
        |event: &&Value| event["payload"]["params"]["update"]["sessionUpdate"] == "agent_message_chunk";
    assert_eq!(after.filter(said).count(), 0);
    assert!(!sdk.said(&session).is_empty());
    sdk.leave().await;
}

async fn a_permission_is_given_and_refused(play: Play) {
    let mut sdk = SandboxSdk::start(&play.daemon);
    let session = play.session(&mut sdk).await;
    let answer = sdk.prompt(&session, &play.asks("first")).await.unwrap();
    assert_eq!((answer["stopReason"].as_str(), sdk.permissions.len()), (Some("end_turn"), 1));
    assert!(play.has_done("first"));
    sdk.reply = Some("reject");
    sdk.prompt(&session, &play.asks("second")).await.unwrap();
    assert_eq!(sdk.permissions.len(), 2);
    assert!(!play.has_done("second"));
    sdk.leave().await;
}

async fn a_permission_that_nobody_listens_for_is_cancelled_at_once(play: Play) {
    let mut sdk = SandboxSdk::start(&play.daemon);
    sdk.listen = false;
    let session = play.session(&mut sdk).await;
    sdk.prompt(&session, &play.asks("made")).await.unwrap();
    assert!(sdk.permissions.is_empty());
    assert!(!play.has_done("made"));
    sdk.leave().await;
}

async fn destroying_a_session_cancels_its_turn(play: Play) {
    let mut sdk = SandboxSdk::start(&play.daemon);
    let session = play.session(&mut sdk).await;
    let prompt = sdk.begin_prompt(&session, &play.hangs()).await;
    play.turn_runs(&session).await;
    sdk.call("destroySession", json!([session])).await.unwrap();
    let answer = sdk.finish(prompt).await;
    // The SDK may have dropped the session before its answer arrives.
    if let Ok(answer) = answer {
        assert_eq!(answer["stopReason"], "cancelled");
    }
    let ended =
        play.watched(&session).wait_for(0, |event| event.kind() == UniversalEventType::TurnEnded).await;
    let EventData::TurnEnded(data) = &ended.data else { panic!("{ended:?}") };
    assert_eq!(data.metadata.stop_reason, StopReason::Cancelled);
    sdk.leave().await;
}

async fn a_resumed_session_is_told_what_was_said(play: Play) {
    let mut sdk = SandboxSdk::start(&play.daemon);
    let session = play.session(&mut sdk).await;
    sdk.prompt(&session, &play.says("Well met.")).await.unwrap();
    sdk.call("reconnect", json!([])).await.unwrap();
    sdk.call("resumeSession", json!([session])).await.unwrap();
    let answer = sdk.prompt(&session, &play.says("Again.")).await.unwrap();
    assert_eq!(answer["stopReason"], "end_turn");
    let sent = sdk.events.iter().rfind(|event| event["payload"]["method"] == "session/prompt").unwrap();
    let blocks = sent["payload"]["params"]["prompt"].as_array().unwrap();
    assert!(blocks.len() > 1, "the SDK pastes what was said: {blocks:?}");
    sdk.leave().await;
}

async fn an_agent_that_dies_is_an_error_and_the_next_prompt_works(play: Play) {
    let mut sdk = SandboxSdk::start(&play.daemon);
    let session = play.session(&mut sdk).await;
    let prompt = sdk.begin_prompt(&session, &play.hangs()).await;
    play.turn_runs(&session).await;
    play.kill_agent();
    sdk.event(|event| event["payload"]["method"] == "_adapter/agent_exited").await;
    let thrown = sdk.finish(prompt).await.unwrap_err();
    assert_eq!(thrown.code, Some(-32603), "{thrown:?}");
    play.release();
    let answer = sdk.prompt(&session, &play.says("Back again.")).await.unwrap();
    assert_eq!(answer["stopReason"], "end_turn");
    sdk.leave().await;
}

async fn the_agent_and_its_options_are_listed(play: Play) {
    let mut sdk = SandboxSdk::start(&play.daemon);
    let listed = sdk.call("listAgents", json!([])).await.unwrap();
    assert!(listed["agents"].as_array().unwrap().iter().any(|agent| agent["id"] == play.name));
    let agent = sdk.call("getAgent", json!([play.name, { "config": true }])).await.unwrap();
    let options = agent["configOptions"].as_array().unwrap_or_else(|| panic!("{agent}"));
    assert!(options.iter().any(|option| option["category"] == "mode"), "{options:?}");
    let session = play.session(&mut sdk).await;
    let modes = sdk.on(&session, "getModes", json!([])).await.unwrap();
    let other = modes["availableModes"].as_array().unwrap().iter();
    let other = other.map(|mode| &mode["id"]).find(|id| **id != modes["currentModeId"]).unwrap().clone();
    sdk.on(&session, "setMode", json!([other])).await.unwrap();
    assert_eq!(sdk.on(&session, "getModes", json!([])).await.unwrap()["currentModeId"], other);
    let servers = sdk.call("listAcpServers", json!([])).await.unwrap();
    assert_eq!(servers["servers"][0]["agent"], play.name);
    sdk.leave().await;
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_an_error_of_the_call() {
    let play = Play::mock();
    let mut sdk = SandboxSdk::start(&play.daemon);
    let thrown = sdk.call("createSession", json!([{ "agent": "nobody", "cwd": "/" }])).await.unwrap_err();
    assert!(thrown.message.contains("nobody"), "{thrown:?}");
    play.session(&mut sdk).await;
    let thrown = sdk.call("getAgent", json!(["nobody"])).await.unwrap_err();
    assert_eq!(thrown.status, Some(400), "{thrown:?}");
    sdk.leave().await;
}

#[tokio::test]
async fn an_agent_is_installed_in_a_version() {
    let npm = FakeNpm::default();
    let setup = Setup::new(env!("CARGO_BIN_EXE_omniglot"));
    let daemon =
        npm.variables().into_iter().fold(setup, |setup, (name, value)| setup.env(name, value)).start();
    let mut sdk = SandboxSdk::start(&daemon);
    let version = json!({ "agentVersion": "1.0.0" });
    for already in [false, true] {
        let installed = sdk.call("installAgent", json!(["claude", version])).await.unwrap();
        assert_eq!(installed["already_installed"], already);
        let artifact = &installed["artifacts"][0];
        assert_eq!((&artifact["version"], &artifact["source"]), (&json!("1.0.0"), &json!("npm")));
    }
    let agent = sdk.call("getAgent", json!(["claude"])).await.unwrap();
    assert_eq!((&agent["installed"], &agent["version"]), (&json!(true), &json!("1.0.0")));
    assert_eq!(sdk.call("installAgent", json!(["mock"])).await.unwrap()["already_installed"], true);
    for (agent, version, status) in
        [("claude", "latest", 400), ("nobody", "1.0.0", 400), ("claude", "9.9.9", 500)]
    {
        let call = json!([agent, { "agentVersion": version }]);
        let thrown = sdk.call("installAgent", call).await.unwrap_err();
        assert_eq!(thrown.status, Some(status), "{thrown:?}");
    }
    sdk.leave().await;
}

#[tokio::test]
async fn a_thousand_updates_come_before_the_answer() {
    let play = Play::mock();
    let mut sdk = SandboxSdk::start(&play.daemon);
    let session = play.session(&mut sdk).await;
    let call = sdk.begin_prompt(&session, "[[text:1000]]").await;
    sdk.finish(call).await.unwrap();
    sdk.event(|event| event["payload"]["result"]["stopReason"] == "end_turn").await;
    let answer =
        sdk.events.iter().position(|event| !event["payload"]["result"]["stopReason"].is_null()).unwrap();
    sdk.events.truncate(answer);
    assert_eq!(sdk.said(&session).split_whitespace().count(), 1000);
    sdk.leave().await;
}

#[tokio::test]
async fn what_is_configured_for_a_directory_is_given_to_sessions_there() {
    let play = Play::mock();
    let mut sdk = SandboxSdk::start(&play.daemon);
    let work = play.daemon.work();
    let server = json!({
        "type": "local", "command": "file-server", "args": ["--here"], "env": { "FILES_TOKEN": "hush" },
    });
    let mcp = json!({ "directory": work, "mcpName": "files" });
    sdk.call("setMcpConfig", json!([mcp, server])).await.unwrap();
    assert_eq!(sdk.call("getMcpConfig", json!([mcp])).await.unwrap(), server);
    let folder = SkillFolder::default();
    folder.add("weather", "Foretells it.");
    let sources = json!({ "sources": [{ "type": "local", "source": folder.path() }] });
    let skills = json!({ "directory": work, "skillName": "lore" });
    sdk.call("setSkillsConfig", json!([skills, sources])).await.unwrap();
    assert_eq!(sdk.call("getSkillsConfig", json!([skills])).await.unwrap(), sources);
    let session = play.session(&mut sdk).await;
    sdk.prompt(&session, "[[mcp]]").await.unwrap();
    sdk.prompt(&session, "[[skills]]").await.unwrap();
    let said = sdk.said(&session);
    assert!(said.contains("files = file-server --here"), "{said}");
    assert!(said.contains("weather = Foretells it."), "{said}");
    for (delete, get, query) in
        [("deleteMcpConfig", "getMcpConfig", mcp), ("deleteSkillsConfig", "getSkillsConfig", skills)]
    {
        for _ in 0..2 {
            sdk.call(delete, json!([query])).await.unwrap();
        }
        let thrown = sdk.call(get, json!([query])).await.unwrap_err();
        assert_eq!(thrown.status, Some(404), "{thrown:?}");
    }
    sdk.leave().await;
}

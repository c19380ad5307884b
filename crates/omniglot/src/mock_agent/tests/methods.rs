//! The protocol: every method, bad input, cancel, the end of stdin.

use serde_json::{Value, json};
use tempfile::tempdir;

use super::client::{Client, prompt_params};

#[test]
fn initialize_says_who_it_is_and_what_it_can() {
    let mut client = Client::start(None);
    let reply = client.call("initialize", json!({ "protocolVersion": 99 }));
    let result = &reply.answer["result"];
    assert_eq!(result["protocolVersion"], 1);
    assert_eq!(result["agentInfo"]["name"], "omniglot-mock");
    let capabilities = &result["agentCapabilities"];
    assert_eq!(capabilities["loadSession"], true);
    assert_eq!(
        capabilities["sessionCapabilities"],
        json!({ "list": {}, "fork": {}, "resume": {}, "close": {} })
    );
    assert_eq!(capabilities["promptCapabilities"]["image"], true);
    assert_eq!(client.finish(), (0, String::new()));
}

#[test]
fn a_prompt_streams_text_and_ends_with_usage() {
    let dir = tempdir().unwrap();
    let (mut client, session) = Client::open(None, dir.path());
    assert_eq!(session, "mock-1");
    let reply = client.prompt(&session, "please [[text]]");
    assert!(reply.text().starts_with("Hello from the mock agent."));
    assert!(reply.kind("agent_message_chunk").count() > 3);
    assert_eq!(reply.stop_reason(), "end_turn");
    let usage = &reply.answer["result"]["usage"];
    let sum = ["inputTokens", "outputTokens", "cachedReadTokens"].map(|key| usage[key].as_u64().unwrap());
    assert_eq!(usage["totalTokens"], sum.iter().sum::<u64>());
}

#[test]
fn bad_input_gets_the_right_error_and_the_agent_lives_on() {
    let mut client = Client::start(None);
    let cases = [
        ("not json", -32700, Value::Null),
        (r#"{"jsonrpc":"2.0","id":1,"method":"initialize""#, -32700, Value::Null),
        ("[1,2]", -32600, Value::Null),
        (r#"{"jsonrpc":"1.0","id":4,"method":"initialize"}"#, -32600, json!(4)),
        (r#"{"jsonrpc":"2.0","id":"a","method":"session/dance"}"#, -32601, json!("a")),
        (r#"{"jsonrpc":"2.0","id":5,"method":"session/new","params":{"cwd":7}}"#, -32602, json!(5)),
        (r#"{"jsonrpc":"2.0","id":6,"method":"session/prompt"}"#, -32602, json!(6)),
    ];
    for (line, code, id) in cases {
        client.write(line);
        let answer = client.read();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "for {line}");
    }
    client.write("");
    client.notify("mock/unheard_of", json!({}));
    assert_eq!(client.call("session/list", json!({})).answer["result"]["sessions"], json!([]));
}

#[test]
fn an_unknown_session_is_not_found() {
    let mut client = Client::start(None);
    for id in ["mock-9", "../mock-1", "mock-01", ""] {
        let params = json!({ "sessionId": id, "cwd": "/", "mcpServers": [] });
        assert_eq!(client.call("session/load", params.clone()).error_code(), -32002);
        assert_eq!(client.call("session/resume", params).error_code(), -32002);
        assert_eq!(client.prompt(id, "[[text]]").error_code(), -32002);
    }
}

#[test]
fn modes_and_models_can_be_set_and_unknown_ones_are_refused() {
    let dir = tempdir().unwrap();
    let (mut client, id) = Client::open(None, dir.path());
    let mode = |mode: &str| json!({ "sessionId": id, "modeId": mode });
    assert_eq!(client.call("session/set_mode", mode("plan")).answer["result"], json!({}));
    assert_eq!(client.call("session/set_mode", mode("party")).error_code(), -32602);
    let model = |value: &str| json!({ "sessionId": id, "configId": "model", "value": value });
    let reply = client.call("session/set_config_option", model("mock-large"));
    assert_eq!(reply.answer["result"]["configOptions"][0]["currentValue"], "mock-large");
    assert_eq!(client.call("session/set_config_option", model("mock-giant")).error_code(), -32602);
}

#[test]
fn only_the_large_model_has_efforts() {
    let dir = tempdir().unwrap();
    let (mut client, id) = Client::open(None, dir.path());
    let mut set = |option: &str, value: &str| {
        let params = json!({ "sessionId": id, "configId": option, "value": value });
        client.call("session/set_config_option", params)
    };
    assert_eq!(set("effort", "high").error_code(), -32602);
    let large = set("model", "mock-large");
    assert_eq!(large.answer["result"]["configOptions"][1]["category"], "thought_level");
    let high = set("effort", "high");
    assert_eq!(high.answer["result"]["configOptions"][1]["currentValue"], "high");
    assert_eq!(set("effort", "enormous").error_code(), -32602);
    let small = set("model", "mock-small");
    assert_eq!(small.answer["result"]["configOptions"].as_array().unwrap().len(), 1);
}

#[test]
fn a_fork_remembers_and_goes_its_own_way() {
    let (state, dir) = (tempdir().unwrap(), tempdir().unwrap());
    let (mut client, session) = Client::open(Some(state.path()), dir.path());
    client.prompt(&session, "First words [[text:1]]");
    client.finish();
    let mut client = Client::start(Some(state.path()));
    let params = json!({ "sessionId": session, "cwd": dir.path(), "mcpServers": [] });
    let forked = client.call("session/fork", params);
    assert_eq!(forked.answer["result"]["sessionId"], "mock-2");
    assert!(client.prompt("mock-2", "[[recall]]").text().contains("Earlier prompts: 1."));
    let unknown = json!({ "sessionId": "mock-9", "cwd": dir.path(), "mcpServers": [] });
    assert_eq!(client.call("session/fork", unknown).error_code(), -32002);
    let params = json!({ "sessionId": session, "cwd": dir.path(), "mcpServers": [] });
    client.call("session/resume", params);
    assert!(client.prompt(&session, "[[recall]]").text().contains("Earlier prompts: 1."));
}

#[test]
fn compaction_is_told_with_its_summary() {
    let dir = tempdir().unwrap();
    let (mut client, session) = Client::open(None, dir.path());
    client.prompt(&session, "[[text:1]]");
    let reply = client.prompt(&session, "/compact");
    let states: Vec<_> = reply.kind("compaction_update").map(|update| &update["status"]).collect();
    assert_eq!(states, ["in_progress", "completed"]);
}

#[test]
fn cancel_ends_silence_and_other_methods_are_answered_meanwhile() {
    let dir = tempdir().unwrap();
    let (mut client, session) = Client::open(None, dir.path());
    let prompt = client.send("session/prompt", prompt_params(&session, "[[silence]] [[text]]"));
    let queued = client.send("session/prompt", prompt_params(&session, "[[text]]"));
    assert!(client.call("session/list", json!({})).answer["result"].is_object());
    client.notify("session/cancel", json!({ "sessionId": session }));
    assert_eq!(client.read_answer(queued, "").stop_reason(), "cancelled");
    let reply = client.read_answer(prompt, "");
    assert_eq!((reply.stop_reason(), reply.text().as_str()), ("cancelled", ""));
    assert_eq!(client.prompt(&session, "[[text:1]]").stop_reason(), "end_turn");
}

#[test]
fn cancel_during_a_permission_request_closes_the_call() {
    let dir = tempdir().unwrap();
    let (mut client, session) = Client::open(None, dir.path());
    let prompt = client.send("session/prompt", prompt_params(&session, "[[permission]]"));
    let request = loop {
        let message = client.read();
        if message["method"] == "session/request_permission" {
            break message["id"].clone();
        }
    };
    client.notify("session/cancel", json!({ "sessionId": session }));
    let reply = client.read_answer(prompt, "");
    assert_eq!(reply.stop_reason(), "cancelled");
    assert_eq!(reply.last_call()["status"], "failed");
    client.answer(&request, json!({ "outcome": { "outcome": "cancelled" } }));
    assert_eq!(client.prompt(&session, "[[permission]]").stop_reason(), "end_turn");
}

#[test]
fn closing_a_session_ends_its_turn() {
    let dir = tempdir().unwrap();
    let (mut client, session) = Client::open(None, dir.path());
    let prompt = client.send("session/prompt", prompt_params(&session, "[[silence]]"));
    let closed = client.call("session/close", json!({ "sessionId": session }));
    assert_eq!(closed.answer["result"], json!({}));
    assert_eq!(client.read_answer(prompt, "").stop_reason(), "cancelled");
    assert_eq!(client.prompt(&session, "[[text]]").error_code(), -32002);
}

#[test]
fn the_end_of_stdin_ends_the_agent_in_mid_script() {
    let dir = tempdir().unwrap();
    let (mut client, session) = Client::open(None, dir.path());
    client.send("session/prompt", prompt_params(&session, "[[text:1]] [[silence]]"));
    assert_eq!(client.read()["method"], "session/update");
    assert_eq!(client.finish().0, 0);
}

#[test]
fn a_later_process_loads_with_replay_and_resumes_without() {
    let (state, dir) = (tempdir().unwrap(), tempdir().unwrap());
    let (mut client, session) = Client::open(Some(state.path()), dir.path());
    let told = client.prompt(&session, "First words [[reasoning]] [[shell]]");
    client.finish();

    let params = json!({ "sessionId": session, "cwd": dir.path(), "mcpServers": [] });
    let mut client = Client::start(Some(state.path()));
    let loaded = client.call("session/load", params.clone());
    assert_eq!(loaded.answer["result"]["modes"]["currentModeId"], "default");
    let kinds: Vec<_> =
        loaded.updates.iter().map(|update| update["sessionUpdate"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["user_message_chunk", "agent_thought_chunk", "agent_message_chunk", "tool_call"]);
    assert_eq!(loaded.text(), told.text());
    assert_eq!(loaded.updates[3]["status"], "completed");
    client.finish();

    let mut client = Client::start(Some(state.path()));
    let resumed = client.call("session/resume", params);
    assert!(resumed.updates.is_empty());
    let recalled = client.prompt(&session, "[[recall]]");
    assert!(recalled.text().starts_with("Earlier prompts: 1. The first was: First words"));
    assert!(recalled.answer["result"]["usage"]["cachedReadTokens"].as_u64().unwrap() > 0);
    let ids =
        |reply: &super::client::Reply| reply.kind("agent_message_chunk").next().unwrap()["messageId"].clone();
    assert_ne!(ids(&recalled), ids(&told));
}

#[test]
fn session_numbers_go_on_in_a_state_dir_and_the_list_shows_the_newest_first() {
    let (state, dir) = (tempdir().unwrap(), tempdir().unwrap());
    let (client, first) = Client::open(Some(state.path()), dir.path());
    client.finish();
    let (mut client, second) = Client::open(Some(state.path()), dir.path());
    assert_eq!((first.as_str(), second.as_str()), ("mock-1", "mock-2"));
    client.prompt(&second, "Name me [[title]]");
    let list = client.call("session/list", json!({ "cwd": dir.path() }));
    let sessions = &list.answer["result"]["sessions"];
    assert_eq!((&sessions[0]["sessionId"], &sessions[1]["sessionId"]), (&json!("mock-2"), &json!("mock-1")));
    assert_eq!(sessions[0]["title"], "A talk with the mock agent");
    let elsewhere = client.call("session/list", json!({ "cwd": "/nowhere" }));
    assert_eq!(elsewhere.answer["result"]["sessions"], json!([]));
}

#[test]
fn a_damaged_state_file_is_told_and_harms_nobody_else() {
    let (state, dir) = (tempdir().unwrap(), tempdir().unwrap());
    std::fs::write(state.path().join("mock-1.json"), "{").unwrap();
    let (mut client, session) = Client::open(Some(state.path()), dir.path());
    assert_eq!(session, "mock-2");
    let load = client.call("session/load", json!({ "sessionId": "mock-1", "cwd": "/", "mcpServers": [] }));
    assert_eq!(load.error_code(), -32603);
    let list = client.call("session/list", json!({}));
    assert_eq!(list.answer["result"]["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(client.prompt(&session, "[[text]]").stop_reason(), "end_turn");
}

//! Tests the scripts of the words, from the client's side.

use std::path::Path;

use serde_json::json;
use tempfile::tempdir;

use super::client::{Client, Reply, prompt_params};

const LINE: &str = "One more line, added by the Omniglot mock agent.\n";

#[track_caller]
fn play(cwd: &Path, text: &str, option: &str) -> Reply {
    let (mut client, session) = Client::open(None, cwd);
    client.prompt_choosing(&session, text, option)
}

fn readme(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("README.md")).unwrap()
}

#[test]
fn an_accepted_edit_changes_the_file() {
    let dir = tempdir().unwrap();
    std::fs::write(dir.path().join("README.md"), "# Demo").unwrap();
    let reply = play(dir.path(), "[[edit]]", "allow");
    assert_eq!(readme(dir.path()), format!("# Demo\n{LINE}"));
    assert_eq!(reply.permissions(), 1);
    let diff = &reply.last_call()["content"][0];
    assert_eq!((&diff["type"], &diff["oldText"]), (&json!("diff"), &json!("# Demo")));
    assert_eq!(diff["newText"], readme(dir.path()));
    assert_eq!(reply.last_call()["status"], "completed");
}

#[test]
fn a_rejected_edit_changes_nothing_and_the_turn_goes_on() {
    let dir = tempdir().unwrap();
    std::fs::write(dir.path().join("README.md"), "# Demo\n").unwrap();
    let reply = play(dir.path(), "[[edit]]", "reject");
    assert_eq!(readme(dir.path()), "# Demo\n");
    assert_eq!(reply.last_call()["status"], "failed");
    assert!(reply.text().ends_with("Understood, I leave README.md as it is."));
    assert_eq!(reply.stop_reason(), "end_turn");
}

#[test]
fn without_a_readme_the_edit_creates_notes() {
    let dir = tempdir().unwrap();
    let reply = play(dir.path(), "[[edit]]", "allow");
    assert_eq!(std::fs::read_to_string(dir.path().join("notes.txt")).unwrap(), LINE);
    assert!(reply.last_call()["content"][0].get("oldText").is_none());
}

#[test]
fn an_edit_never_leaves_the_working_directory() {
    let (dir, outside) = (tempdir().unwrap(), tempdir().unwrap());
    let target = outside.path().join("README.md");
    std::fs::write(&target, "secret").unwrap();
    std::os::unix::fs::symlink(&target, dir.path().join("README.md")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("new"), dir.path().join("notes.txt")).unwrap();
    let reply = play(dir.path(), "[[read]] [[edit]]", "allow");
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "secret");
    assert!(!outside.path().join("new").exists());
    assert!(!reply.text().contains("secret"));
    assert_eq!(reply.last_call()["status"], "failed");
}

#[test]
fn modes_decide_whether_an_edit_is_asked_made_or_only_planned() {
    for (mode, asked, edited) in [("acceptEdits", 0, true), ("bypass", 0, true), ("plan", 0, false)] {
        let dir = tempdir().unwrap();
        std::fs::write(dir.path().join("README.md"), "# Demo\n").unwrap();
        let (mut client, session) = Client::open(None, dir.path());
        client.call("session/set_mode", json!({ "sessionId": session, "modeId": mode }));
        let reply = client.prompt(&session, "[[edit]]");
        assert_eq!((reply.permissions(), readme(dir.path()).len() > 7), (asked, edited), "in {mode}");
    }
}

#[test]
fn always_is_remembered_for_the_session() {
    let dir = tempdir().unwrap();
    let (mut client, session) = Client::open(None, dir.path());
    assert_eq!(client.prompt_choosing(&session, "[[permission]]", "allow").permissions(), 1);
    assert_eq!(client.prompt_choosing(&session, "[[permission]]", "allow-always").permissions(), 1);
    let reply = client.prompt(&session, "[[permission]]");
    assert_eq!((reply.permissions(), reply.text().as_str()), (0, "It ran, and said hello."));
}

#[test]
fn a_client_that_refuses_the_permission_method_has_not_allowed_it() {
    let dir = tempdir().unwrap();
    let (mut client, session) = Client::open(None, dir.path());
    let prompt = client.send("session/prompt", prompt_params(&session, "[[permission]]"));
    let mut text = String::new();
    loop {
        let message = client.read();
        if message["method"] == "session/request_permission" {
            client.write(r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found"}}"#);
        }
        text.push_str(message["params"]["update"]["content"]["text"].as_str().unwrap_or_default());
        if message["id"] == prompt && message.get("result").is_some() {
            break;
        }
    }
    assert_eq!(text, "Understood, I do not run it.");
}

#[test]
fn commands_stream_their_output_and_tell_their_exit_code() {
    let dir = tempdir().unwrap();
    let reply = play(dir.path(), "[[shell]]", "");
    let contents: Vec<_> = reply
        .kind("tool_call_update")
        .filter_map(|update| update["content"][0]["content"]["text"].as_str())
        .collect();
    assert_eq!(contents, ["one\n", "one\ntwo\n", "one\ntwo\nthree\n", "one\ntwo\nthree\n"]);
    assert_eq!(
        reply.last_call()["rawOutput"],
        json!({ "exit_code": 0, "stdout": "one\ntwo\nthree\n", "stderr": "" })
    );
    let failed = play(dir.path(), "[[shell:fail]]", "");
    assert_eq!(failed.last_call()["status"], "failed");
    assert_eq!(failed.last_call()["rawOutput"]["exit_code"], 3);
}

#[test]
fn each_error_word_fails_the_prompt_with_its_code_and_kind() {
    let dir = tempdir().unwrap();
    let cases = [
        ("auth", -32000, None),
        ("rate_limit", -32603, Some("rate_limit")),
        ("context", -32603, Some("invalid_request")),
        ("output_length", -32603, Some("max_output_tokens")),
        ("api", -32603, Some("server_error")),
        ("execution", -32603, Some("execution_error")),
        ("unknown", -32099, None),
    ];
    for (word, code, kind) in cases {
        let reply = play(dir.path(), &format!("[[error:{word}]]"), "");
        let error = &reply.answer["error"];
        assert_eq!((reply.error_code(), error["data"]["errorKind"].as_str()), (code, kind), "for {word}");
    }
}

#[test]
fn each_stop_word_ends_the_turn_with_its_reason() {
    let dir = tempdir().unwrap();
    for reason in ["max_tokens", "max_turn_requests", "refusal"] {
        let reply = play(dir.path(), &format!("[[stop:{reason}]] [[text]]"), "");
        assert_eq!(reply.stop_reason(), reason);
    }
}

#[test]
fn state_words_send_their_updates() {
    let dir = tempdir().unwrap();
    let reply = play(dir.path(), "[[plan]] [[commands]] [[mode]] [[title]] [[usage]]", "");
    let last_plan = reply.kind("plan").last().unwrap();
    assert!(last_plan["entries"].as_array().unwrap().iter().all(|entry| entry["status"] == "completed"));
    assert_eq!(reply.kind("available_commands_update").count(), 1);
    assert_eq!(reply.kind("current_mode_update").next().unwrap()["currentModeId"], "acceptEdits");
    assert_eq!(reply.kind("session_info_update").count(), 1);
    let usage = reply.kind("usage_update").next().unwrap();
    assert_eq!((&usage["size"], &usage["cost"]["currency"]), (&json!(100_000), &json!("USD")));
    assert!(usage["used"].as_u64().unwrap() > 0);
}

#[test]
fn a_flood_carries_every_chunk_once_and_a_huge_line_has_its_size() {
    let dir = tempdir().unwrap();
    let reply = play(dir.path(), "[[flood:5000]]", "");
    let expected: String = (0..5000).map(|number| format!("{number} ")).collect();
    assert_eq!((reply.text(), reply.updates.len()), (expected, 5000));

    let (mut client, session) = Client::open(None, dir.path());
    client.send("session/prompt", prompt_params(&session, "[[hugeline:300000]]"));
    assert_eq!(client.line().unwrap().len(), 300_000);
}

#[test]
fn garbage_is_followed_by_proper_speech() {
    let dir = tempdir().unwrap();
    let (mut client, session) = Client::open(None, dir.path());
    client.send("session/prompt", prompt_params(&session, "[[garbage]]"));
    let lines: Vec<_> = (0..6).map(|_| client.line().unwrap()).collect();
    assert!(serde_json::from_slice::<serde_json::Value>(&lines[0]).is_err());
    assert!(std::str::from_utf8(&lines[1]).is_err());
    assert!(lines[2..].iter().all(|line| serde_json::from_slice::<serde_json::Value>(line).is_ok()));
    assert_eq!(client.read()["params"]["update"]["sessionUpdate"], "agent_message_chunk");
}

#[test]
fn a_crash_has_an_exit_code_and_last_words() {
    let dir = tempdir().unwrap();
    let (mut client, session) = Client::open(None, dir.path());
    client.send("session/prompt", prompt_params(&session, "[[stderr:2]] [[crash]]"));
    while client.line().is_some() {}
    let (code, errors) = client.finish();
    assert_eq!(code, 7);
    assert_eq!(errors, "mock-agent: line 0\nmock-agent: line 1\nmock-agent: this crash was asked for\n");

    let (mut client, session) = Client::open(None, dir.path());
    client.send("session/prompt", prompt_params(&session, "[[crash:midline]]"));
    while client.line().is_some() {}
    assert_eq!(client.seen.last(), Some(&b's'));
    assert_eq!(client.finish().0, 7);
}

#[test]
fn late_words_come_after_the_answer_and_exit_after_that() {
    let dir = tempdir().unwrap();
    let (mut client, session) = Client::open(None, dir.path());
    assert_eq!(client.prompt(&session, "[[late]] [[exit]]").stop_reason(), "end_turn");
    assert_eq!(client.read()["params"]["update"]["sessionUpdate"], "agent_message_chunk");
    assert_eq!(client.line(), None);
    assert_eq!(client.finish().0, 0);
}

#[test]
fn the_client_is_asked_for_a_file_and_its_answer_is_told() {
    let dir = tempdir().unwrap();
    let (mut client, session) = Client::open(None, dir.path());
    let prompt = client.send("session/prompt", prompt_params(&session, "[[fs]]"));
    let request = client.read();
    assert_eq!(request["method"], "fs/read_text_file");
    client.answer(&request["id"], json!({ "content": "12345" }));
    assert_eq!(client.read_answer(prompt, "").text(), "The client gave me 5 characters of README.md.");
}

#[test]
fn an_unknown_word_is_told() {
    let dir = tempdir().unwrap();
    let reply = play(dir.path(), "[[dance]] [[text:1]]", "");
    assert_eq!(reply.text(), "I do not know [[dance]]; try omniglot mock-agent --listmany ");
}

#[test]
fn the_demo_shows_a_bit_of_everything() {
    let dir = tempdir().unwrap();
    std::fs::write(dir.path().join("README.md"), "# Demo\n").unwrap();
    let reply = play(dir.path(), "Read README.md and add a line at the end", "allow");
    for kind in ["agent_thought_chunk", "plan", "tool_call", "agent_message_chunk", "usage_update"] {
        assert!(reply.kind(kind).count() > 0, "no {kind}");
    }
    assert_eq!(reply.permissions(), 1);
    assert_eq!(reply.last_call()["rawOutput"]["stdout"], LINE);
    assert!(reply.answer["result"]["usage"]["thoughtTokens"].as_u64().unwrap() > 0);
    assert_eq!(readme(dir.path()), format!("# Demo\n{LINE}"));
}

#[test]
fn two_runs_give_the_same_bytes() {
    let dir = tempdir().unwrap();
    let run = || {
        std::fs::write(dir.path().join("README.md"), "# Demo\n").unwrap();
        let (mut client, session) = Client::open(None, dir.path());
        client.prompt(&session, "[[demo]] [[shell:fail]] [[image]] [[tool:open]] [[tool:unannounced]]");
        client.prompt(&session, "/recall");
        client.seen
    };
    let first = run();
    assert!(first.len() > 10_000);
    assert!(first == run(), "the bytes differ");
}

//! Tests scripts of the user's own, from the client's side.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::tempdir;

use super::client::{Client, prompt_params};
use crate::mock_agent::script_file::ScriptFile;

const WAIT: &str = r#"{"wait": {"method": "session/prompt"}}"#;
const SAY: &str = r#"{"send": {"method": "session/update", "params": {"sessionId": "${session}", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "You said ${prompt} in ${cwd}."}}}}}"#;
const END: &str = r#"{"send": {"id": "${prompt_id}", "result": {"stopReason": "end_turn"}}}"#;

fn script(lines: &[&str]) -> ScriptFile {
    ScriptFile::parse(&lines.join("\n")).unwrap()
}

fn client(lines: &[&str]) -> Client {
    Client::start_with(None, Some(script(lines)))
}

#[track_caller]
fn play(cwd: &Path, lines: &[&str]) -> (Client, String) {
    client(lines).opened(cwd)
}

#[test]
fn a_script_answers_prompts_and_the_rest_is_answered_for_it() {
    let (mut client, session) = play(Path::new("/tmp"), &["# one turn", "", WAIT, SAY, END]);
    let reply = client.prompt(&session, "hi");
    assert_eq!((reply.text().as_str(), reply.stop_reason()), ("You said hi in /tmp.", "end_turn"));
    let mode = json!({ "sessionId": session, "modeId": "plan" });
    assert_eq!(client.call("session/set_mode", mode).answer["result"], json!({}));
    let over = client.prompt(&session, "more?");
    assert_eq!(over.error_code(), -32603);
    assert!(over.answer["error"]["data"].as_str().unwrap().contains("no line for another"));
    assert_eq!(client.finish(), (0, String::new()));
}

#[test]
fn a_script_that_repeats_answers_every_prompt() {
    let (mut client, session) = play(Path::new("/tmp"), &[WAIT, SAY, END, r#"{"repeat": true}"#]);
    for word in ["one", "two", "three"] {
        assert_eq!(client.prompt(&session, word).text(), format!("You said {word} in /tmp."));
    }
}

#[test]
fn a_method_that_the_script_waits_for_is_left_to_it() {
    let mut client = client(&[
        r#"{"wait": {"method": "initialize"}}"#,
        r#"{"send": {"id": "${id}", "result": {"protocolVersion": 1, "agentInfo": {"name": "mine", "version": "1"}}}}"#,
        r#"{"wait": {"method": "session/new"}}"#,
        r#"{"send": {"id": "${id}", "result": {"sessionId": "own"}}}"#,
        WAIT,
        SAY,
        END,
    ]);
    let first = client.call("initialize", json!({ "protocolVersion": 1 }));
    assert_eq!(first.answer["result"]["agentInfo"]["name"], "mine");
    let again = client.call("initialize", json!({ "protocolVersion": 1 }));
    assert_eq!(again.answer["result"]["agentInfo"]["name"], "omniglot-mock");
    let new = client.call("session/new", json!({ "cwd": "/srv", "mcpServers": [] }));
    assert_eq!(new.answer["result"], json!({ "sessionId": "own" }));
    assert_eq!(client.prompt("own", "hi").text(), "You said hi in /srv.");
}

#[test]
fn a_script_asks_and_waits_for_the_answer() {
    let ask = r#"{"send": {"id": "ask", "method": "session/request_permission", "params": {"sessionId": "${session}", "toolCall": {"toolCallId": "t1"}, "options": []}}}"#;
    let (mut client, session) =
        play(Path::new("/tmp"), &[WAIT, ask, r#"{"wait": {"answer": "ask"}}"#, SAY, END]);
    let id = client.send("session/prompt", prompt_params(&session, "hi"));
    let request = client.read();
    assert_eq!((&request["id"], &request["method"]), (&json!("ask"), &json!("session/request_permission")));
    client.answer(&request["id"], json!({ "outcome": { "outcome": "cancelled" } }));
    assert_eq!(client.read_answer(id, "allow").text(), "You said hi in /tmp.");
}

#[test]
fn a_cancel_ends_the_prompt_and_goes_on_with_the_next() {
    let day = r#"{"sleep_ms": 86400000}"#;
    let (mut client, session) = play(Path::new("/tmp"), &[WAIT, SAY, day, SAY, END, WAIT, END]);
    let id = client.send("session/prompt", prompt_params(&session, "long"));
    client.read();
    client.notify("session/cancel", json!({ "sessionId": session }));
    let reply = client.read_answer(id, "allow");
    assert_eq!((reply.stop_reason(), reply.updates.len()), ("cancelled", 0));
    let reply = client.prompt(&session, "short");
    assert_eq!((reply.stop_reason(), reply.updates.len()), ("end_turn", 0));
}

#[test]
fn a_cancel_that_the_script_waits_for_is_the_scripts_own() {
    let wait = r#"{"wait": {"method": "session/cancel"}}"#;
    let refuse = r#"{"send": {"id": "${prompt_id}", "result": {"stopReason": "refusal"}}}"#;
    let (mut client, session) = play(Path::new("/tmp"), &[WAIT, SAY, wait, refuse]);
    let id = client.send("session/prompt", prompt_params(&session, "x"));
    client.read();
    client.notify("session/cancel", json!({ "sessionId": session }));
    assert_eq!(client.read_answer(id, "allow").stop_reason(), "refusal");
}

#[test]
fn raw_bytes_go_out_as_they_are_and_the_exit_code_is_the_scripts() {
    let mut client = client(&[
        r#"{"raw": "Welcome to \"agent\"!"}"#,
        r#"{"raw_base64": "/wAK"}"#,
        r#"{"stderr": "out of luck"}"#,
        r#"{"exit": 7}"#,
    ]);
    assert_eq!(client.line().unwrap(), b"Welcome to \"agent\"!\n");
    assert_eq!(client.line().unwrap(), b"\xff\0\n");
    assert_eq!(client.line(), None);
    assert_eq!(client.finish(), (7, "out of luck\n".into()));
}

#[test]
fn edits_write_and_append_below_the_directory_and_nowhere_else() {
    let (dir, outside) = (tempdir().unwrap(), tempdir().unwrap());
    std::os::unix::fs::symlink(outside.path(), dir.path().join("link")).unwrap();
    let (mut client, session) = play(
        dir.path(),
        &[
            WAIT,
            r#"{"edit": {"path": "src/deep/a.txt", "write": "one\n"}}"#,
            r#"{"edit": {"path": "src/deep/a.txt", "append": "two\n"}}"#,
            END,
            WAIT,
            r#"{"edit": {"path": "link/sub/b.txt", "write": "no"}}"#,
        ],
    );
    client.prompt(&session, "edit");
    assert_eq!(std::fs::read_to_string(dir.path().join("src/deep/a.txt")).unwrap(), "one\ntwo\n");
    client.send("session/prompt", prompt_params(&session, "escape"));
    assert_eq!(client.line(), None);
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    let (code, errors) = client.finish();
    assert_eq!(code, 1);
    assert!(errors.contains("line 6 of the script") && errors.contains("leads out"), "{errors}");
}

#[test]
fn what_a_script_said_is_there_when_the_session_is_loaded() {
    let (state, cwd) = (tempdir().unwrap(), tempdir().unwrap());
    let said = Client::start_with(Some(state.path()), Some(script(&[WAIT, SAY, END])));
    let (mut client, session) = said.opened(cwd.path());
    client.prompt(&session, "hi");
    client.finish();
    let mut client = Client::start_with(Some(state.path()), Some(script(&[WAIT, END])));
    let params = json!({ "sessionId": session, "cwd": cwd.path(), "mcpServers": [] });
    let reply = client.call("session/load", params);
    let kinds: Vec<&Value> = reply.updates.iter().map(|update| &update["sessionUpdate"]).collect();
    assert_eq!(kinds, ["user_message_chunk", "agent_message_chunk"]);
}

#[test]
fn the_examples_of_the_documentation_are_good_scripts() {
    let text = include_str!("../../../../../docs/MOCK.md");
    let examples: Vec<&str> = text
        .split("```jsonl\n")
        .skip(1)
        .map(|rest| rest.split_once("```").expect("the end of an example").0)
        .collect();
    assert!(examples.len() >= 2, "two complete examples");
    for example in examples {
        ScriptFile::parse(example).unwrap_or_else(|(line, fault)| panic!("line {line}: {fault}\n{example}"));
    }
}

#[test]
fn a_bad_line_is_refused_with_its_number_and_the_fix() {
    let faults = [
        (vec![""], 1, "begin with one that waits"),
        (vec![WAIT, "nonsense"], 2, "one JSON object with one key"),
        (vec![WAIT, "", r#"{"snd": {}}"#], 3, "unknown variant `snd`, expected one of `send`, `wait`"),
        (vec![r#"{"exit": 256}"#], 1, "expected u8"),
        (vec![r#"{"send": {"id": 1}}"#], 1, "use raw for anything else"),
        (vec![r#"{"send": [1]}"#], 1, "an object with a method"),
        (vec![END], 1, "${prompt_id} is not known yet; put {\"wait\""),
        (vec![r#"{"wait": {"method": "session/new"}}"#, SAY], 2, "${session} is not known yet"),
        (vec![r#"{"send": {"method": "x", "params": "${HOME}"}}"#], 1, "or $${ for a plain ${"),
        (vec![r#"{"wait": {"answer": "ask"}}"#], 1, "no request ask was sent; send one"),
        (vec![r#"{"wait": {"methods": "x"}}"#], 1, "unknown variant `methods`"),
        (vec![r#"{"raw_base64": "?"}"#], 1, "base64 -w0"),
        (vec![r#"{"edit": {"path": "a"}}"#], 1, "either append or write"),
        (vec![r#"{"edit": {"path": "../a", "write": ""}}"#], 1, "a relative path without .."),
        (vec![r#"{"edit": {"path": "/a", "write": ""}}"#], 1, "a relative path without .."),
        (vec![r#"{"edit": {"path": "a", "write": ""}}"#], 1, "${cwd} is not known yet"),
        (vec![r#"{"exit": 0}"#, WAIT], 2, "line 1 is the end"),
        (vec![r#"{"raw": "x"}"#, r#"{"repeat": true}"#], 2, "would never rest"),
        (vec![WAIT, r#"{"repeat": true}"#, END], 3, "line 2 is the end"),
    ];
    for (lines, number, words) in faults {
        let (line, fault) = ScriptFile::parse(&lines.join("\n")).expect_err(words);
        let fault = fault.to_string();
        assert!(line == number && fault.contains(words), "{lines:?}: line {line}: {fault}");
    }
}

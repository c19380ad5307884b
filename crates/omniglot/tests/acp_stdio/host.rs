//! File and terminal requests of an agent go to the editor that offers them, and to the daemon otherwise.

use std::os::unix::fs::symlink;

use omniglot_schema::{PermissionReply, UniversalEventType};
use omniglot_testkit::acp_client::{InboundRequest, Library, RpcError};
use omniglot_testkit::session_driver::{SessionDriver, text_of};
use serde_json::{Value, json};

use crate::editor::{ask, daemon, editor, new_session, prompt, said, tool_ends};
use crate::with_each_library;

with_each_library! {
    files_are_those_of_the_editor,
    an_editor_that_refuses_a_file_is_believed,
    without_an_offer_the_daemon_reads_itself,
    a_command_runs_in_a_terminal_of_the_editor,
    a_command_in_a_terminal_of_the_editor_is_ended_there,
    when_the_editor_leaves_the_daemon_reads_itself;
    a_file_that_an_editor_leaves_undone_is_read_by_the_daemon,
}

fn files() -> Value {
    json!({ "fs": { "readTextFile": true, "writeTextFile": true } })
}

async fn files_are_those_of_the_editor(library: Library) {
    let daemon = daemon();
    std::fs::write(daemon.work().join("README.md"), "what is saved").unwrap();
    let mut client = editor(library, &daemon, "mock", files()).await;
    let session = new_session(&mut client, &daemon).await;
    client.answer_with(|asked| {
        Ok(if asked.method == "fs/read_text_file" { json!({ "content": "unsaved" }) } else { json!({}) })
    });
    ask(&mut client, &session, "[[fs]] [[fs:write]]").await;
    assert!(said(&client).contains("gave me 7 characters of README.md"), "{}", said(&client));
    let methods: Vec<&str> = client.asked.iter().map(|asked| &*asked.method).collect();
    assert_eq!(methods, ["fs/read_text_file", "fs/write_text_file"]);
    assert_eq!(client.asked[0].params["path"], json!(daemon.work().join("README.md")));
    assert!(!daemon.work().join("made/by-agent.txt").exists());
    // Files outside of the session's directory are refused everywhere, through a link as well.
    symlink(daemon.home(), daemon.work().join("link")).unwrap();
    ask(&mut client, &session, "[[fs:escape]]").await;
    assert_eq!(client.asked.len(), 2, "{:?}", client.asked);
}

async fn an_editor_that_refuses_a_file_is_believed(library: Library) {
    let daemon = daemon();
    std::fs::write(daemon.work().join("README.md"), "what is saved").unwrap();
    let mut client = editor(library, &daemon, "mock", files()).await;
    let session = new_session(&mut client, &daemon).await;
    client
        .answer_with(|_| Err(RpcError { code: -32002, message: "closed buffer".into(), data: Value::Null }));
    ask(&mut client, &session, "[[fs]]").await;
    assert!(said(&client).contains("-32002"), "{}", said(&client));
}

async fn without_an_offer_the_daemon_reads_itself(library: Library) {
    let daemon = daemon();
    std::fs::write(daemon.work().join("README.md"), "what is saved").unwrap();
    let mut client = editor(library, &daemon, "mock", json!({})).await;
    let session = new_session(&mut client, &daemon).await;
    ask(&mut client, &session, "[[fs]]").await;
    assert!(said(&client).contains("gave me 13 characters of README.md"), "{}", said(&client));
    assert!(client.asked.is_empty(), "{:?}", client.asked);
}

async fn when_the_editor_leaves_the_daemon_reads_itself(library: Library) {
    let daemon = daemon();
    std::fs::write(daemon.work().join("README.md"), "what is saved").unwrap();
    let mut client = editor(library, &daemon, "mock", files()).await;
    let session = new_session(&mut client, &daemon).await;
    client.leave().await;
    let turn = SessionDriver::of(&daemon.client, &session).turn("[[fs]]", PermissionReply::Once).await;
    assert!(turn.text().contains("gave me 13 characters of README.md"), "{turn}");
}

async fn a_file_that_an_editor_leaves_undone_is_read_by_the_daemon(library: Library) {
    let daemon = daemon();
    std::fs::write(daemon.work().join("README.md"), "what is saved").unwrap();
    let mut client = editor(library, &daemon, "mock", files()).await;
    let session = new_session(&mut client, &daemon).await;
    client.hold("fs/read_text_file", "never");
    client.begin("session/prompt", prompt(&session, "[[fs]]")).await;
    client.request("fs/read_text_file").await;
    drop(client);
    let driver = SessionDriver::of(&daemon.client, &session);
    driver.wait_for(0, |event| event.kind() == UniversalEventType::TurnEnded).await;
    let said = text_of(&driver.history().await);
    assert!(said.contains("gave me 13 characters of README.md"), "{said}");
}

/// A terminal whose command writes from time to time and ends like this.
fn terminal(end: Value) -> impl FnMut(&InboundRequest) -> Result<Value, RpcError> + Send + 'static {
    let mut output = String::new();
    move |asked| {
        Ok(match &*asked.method {
            "terminal/create" => json!({ "terminalId": "tab-1" }),
            "terminal/output" => {
                output.push_str(if output.is_empty() { "one ä" } else { "\n" });
                json!({ "output": output, "truncated": false })
            }
            "terminal/wait_for_exit" => end.clone(),
            _ => json!({}),
        })
    }
}

async fn a_command_runs_in_a_terminal_of_the_editor(library: Library) {
    let daemon = daemon();
    let mut client = editor(library, &daemon, "mock", json!({ "terminal": true })).await;
    let session = new_session(&mut client, &daemon).await;
    client.hold("terminal/wait_for_exit", "terminal/output");
    client.answer_with(terminal(json!({ "exitCode": 0 })));
    ask(&mut client, &session, "[[terminal]]").await;
    let methods: Vec<&str> = client.asked.iter().map(|asked| &*asked.method).collect();
    for method in ["terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/release"] {
        assert!(methods.contains(&method), "{methods:?}");
    }
    assert_eq!(client.asked[0].params["cwd"], json!(daemon.work()));
    assert_eq!(tool_ends(&client), ["completed"]);
    assert!(said(&client).contains(r#"said "one ä\n""#), "{}", said(&client));
}

async fn a_command_in_a_terminal_of_the_editor_is_ended_there(library: Library) {
    let daemon = daemon();
    let mut client = editor(library, &daemon, "mock", json!({ "terminal": true })).await;
    let session = new_session(&mut client, &daemon).await;
    client.hold("terminal/wait_for_exit", "terminal/kill");
    client.answer_with(terminal(json!({ "signal": "SIGKILL" })));
    ask(&mut client, &session, "[[terminal:kill]]").await;
    assert!(client.asked.iter().any(|asked| asked.method == "terminal/kill"), "{:?}", client.asked);
    assert_eq!(tool_ends(&client), ["failed"]);
}

//! One client and one daemon for all that the SDK can do: configuration, files, processes, sessions, permissions.

use omniglot_testkit::daemon::Setup;
use omniglot_testkit::sandbox_sdk::SandboxSdk;
use serde_json::json;

#[tokio::test]
async fn one_client_uses_files_processes_configuration_sessions_and_permissions() {
    let root = tempfile::tempdir().unwrap();
    let config = format!("[files]\nroots = [{:?}]\n[processes]\nenabled = true\n", root.path());
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(config).start();
    let mut sdk = SandboxSdk::start(&daemon);

    sdk.call("mkdirFs", json!([{ "path": "project" }])).await.unwrap();
    sdk.call("writeFsFile", json!([{ "path": "project/greeting" }, "hello"])).await.unwrap();
    let project = root.path().join("project");
    let cat = json!({ "command": "cat", "args": ["greeting"], "cwd": project });
    assert_eq!(sdk.call("runProcess", json!([cat])).await.unwrap()["stdout"], "hello");
    let started = sdk.call("createProcess", json!([{ "command": "sleep", "args": ["600"] }])).await.unwrap();

    let place = json!({ "directory": project, "mcpName": "files" });
    let server = json!({ "type": "local", "command": "file-server", "args": [] });
    sdk.call("setMcpConfig", json!([place, server])).await.unwrap();

    let session = sdk.session("mock", &project).await.id;
    let answer = sdk.prompt(&session, "[[mcp]] [[permission]]").await.unwrap();
    assert_eq!((answer["stopReason"].as_str(), sdk.permissions.len()), (Some("end_turn"), 1));
    assert!(sdk.said(&session).contains("files = file-server"), "{}", sdk.said(&session));
    sdk.reply = Some("reject");
    sdk.prompt(&session, "[[permission]]").await.unwrap();
    assert_eq!(sdk.permissions.len(), 2);

    let killed = sdk.call("killProcess", json!([started["id"], { "waitMs": 20_000 }])).await.unwrap();
    assert_eq!(killed["status"], "exited");
    sdk.call("deleteFsEntry", json!([{ "path": "project", "recursive": true }])).await.unwrap();
    sdk.leave().await;
}

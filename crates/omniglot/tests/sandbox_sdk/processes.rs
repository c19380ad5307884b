//! The SDK's processes: run once, started, followed, stopped, and in its terminal.

use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::sandbox_sdk::SandboxSdk;
use serde_json::{Value, json};

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).config("[processes]\nenabled = true\n").start()
}

fn shell(script: &str) -> Value {
    json!({ "command": "sh", "args": ["-c", script] })
}

#[tokio::test]
async fn processes_are_run_started_followed_and_stopped() {
    let daemon = daemon();
    let mut sdk = SandboxSdk::start(&daemon);
    let mut limits = sdk.call("getProcessConfig", json!([])).await.unwrap();
    assert_eq!(limits["maxConcurrentProcesses"], 64);
    limits["maxConcurrentProcesses"] = json!(1);
    assert_eq!(sdk.call("setProcessConfig", json!([limits])).await.unwrap(), limits);
    let ran = sdk.call("runProcess", json!([shell("echo hello; exit 3")])).await.unwrap();
    assert_eq!((&ran["stdout"], &ran["exitCode"]), (&json!("hello\n"), &json!(3)));

    let echo = shell("while read -r line; do echo \"got $line\"; done");
    let started = sdk.call("createProcess", json!([echo])).await.unwrap();
    let id = &started["id"];
    let full = sdk.call("runProcess", json!([{ "command": "true" }])).await.unwrap_err();
    assert_eq!(full.status, Some(429), "{full:?}");
    let input = json!([id, { "data": "b25lCg==", "encoding": "base64" }]);
    assert_eq!(sdk.call("sendProcessInput", input).await.unwrap(), json!({ "bytesWritten": 4 }));
    let entries = sdk.call("followUntil", json!([id, "got one\n"])).await.unwrap();
    assert_eq!((&entries[0]["sequence"], &entries[0]["stream"]), (&json!(1), &json!("stdout")));
    let input = json!([id, { "data": "two\n", "encoding": "utf8" }]);
    sdk.call("sendProcessInput", input).await.unwrap();
    let entries = sdk.call("followUntil", json!([id, "got two\n", { "since": 1 }])).await.unwrap();
    assert_eq!(entries[0]["sequence"], 2);
    let logs = sdk.call("getProcessLogs", json!([id, { "tail": 1 }])).await.unwrap();
    assert_eq!(logs["entries"][0]["sequence"], 2);

    let running = sdk.call("deleteProcess", json!([id])).await.unwrap_err();
    assert_eq!(running.status, Some(409), "{running:?}");
    let stopped = sdk.call("stopProcess", json!([id, { "waitMs": 20_000 }])).await.unwrap();
    assert_eq!(stopped["status"], "exited");
    assert_eq!(sdk.call("killProcess", json!([id])).await.unwrap(), stopped);
    assert_eq!(sdk.call("listProcesses", json!([])).await.unwrap()["processes"], json!([stopped]));
    sdk.call("deleteProcess", json!([id])).await.unwrap();
    let gone = sdk.call("getProcess", json!([id])).await.unwrap_err();
    assert_eq!(gone.status, Some(404), "{gone:?}");
    sdk.leave().await;
}

#[tokio::test]
async fn a_process_is_used_in_a_terminal() {
    let daemon = daemon();
    let mut sdk = SandboxSdk::start(&daemon);
    let mut wanted =
        shell("echo ready; read -r a; stty size; read -r b; echo \"$a and $b\"; stty size; exit 6");
    (wanted["tty"], wanted["interactive"]) = (json!(true), json!(true));
    let id = sdk.call("createProcess", json!([wanted])).await.unwrap()["id"].clone();
    let size = json!({ "cols": 90, "rows": 30 });
    assert_eq!(sdk.call("resizeProcessTerminal", json!([id, size])).await.unwrap(), size);
    let steps = json!([
        { "after": "ready", "text": "one\n" },
        { "after": "30 90", "resize": { "cols": 100, "rows": 40 }, "bytes": b"two\n" },
    ]);
    let seen = sdk.call("terminal", json!([id, steps])).await.unwrap();
    assert_eq!(seen["ready"], json!({ "type": "ready", "processId": id }), "{seen}");
    assert_eq!(seen["exit"], json!({ "type": "exit", "exitCode": 6 }), "{seen}");
    assert_eq!(seen["errors"], json!([]));
    let output = seen["output"].as_str().unwrap();
    assert!(output.ends_with("one and two\r\n40 100\r\n"), "{output:?}");
    sdk.leave().await;
}

#[tokio::test]
async fn processes_that_are_disabled_and_the_desktop_are_problems_that_say_so() {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    let mut sdk = SandboxSdk::start(&daemon);
    for (method, args) in [("runProcess", json!([{ "command": "true" }])), ("listProcesses", json!([]))] {
        let thrown = sdk.call(method, args).await.unwrap_err();
        assert_eq!(thrown.status, Some(403), "{thrown:?}");
        assert!(thrown.problem["detail"].as_str().unwrap().contains("[processes]"), "{thrown:?}");
    }
    assert_eq!(sdk.call("getDesktopStatus", json!([])).await.unwrap()["state"], "inactive");
    let recordings = sdk.call("listDesktopRecordings", json!([])).await.unwrap();
    assert_eq!(recordings, json!({ "recordings": [] }));
    assert_eq!(sdk.call("getDesktopStreamStatus", json!([])).await.unwrap(), json!({ "active": false }));
    let thrown = sdk.call("startDesktop", json!([{}])).await.unwrap_err();
    assert_eq!(thrown.status, Some(503), "{thrown:?}");
    assert_eq!(thrown.problem["code"], "desktop_dependencies_missing");
    sdk.leave().await;
}

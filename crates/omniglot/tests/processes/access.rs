//! Who may run processes, and the desktop that is not there.

use omniglot_schema::{CreateTokenRequest, Scope};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::SessionDriver;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::support::{daemon, post, refused, request, shell, start};

/// Every route, with a body that fits.
fn routes() -> Vec<(Method, &'static str, Value)> {
    vec![
        (Method::GET, "/config", json!({})),
        (Method::POST, "/config", serde_json::to_value(omniglot_schema::ProcessConfig::default()).unwrap()),
        (Method::POST, "/run", shell("touch made")),
        (Method::POST, "", shell("touch made")),
        (Method::GET, "", json!({})),
        (Method::GET, "/proc_1", json!({})),
        (Method::DELETE, "/proc_1", json!({})),
        (Method::POST, "/proc_1/stop", json!({})),
        (Method::POST, "/proc_1/kill", json!({})),
        (Method::GET, "/proc_1/logs", json!({})),
        (Method::POST, "/proc_1/input", json!({ "data": "" })),
        (Method::POST, "/proc_1/terminal/resize", json!({ "cols": 80, "rows": 24 })),
        (Method::GET, "/proc_1/terminal/ws", json!({})),
    ]
}

#[tokio::test]
async fn processes_are_disabled_unless_the_configuration_enables_them() {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    for (method, path, body) in routes() {
        let problem = refused(request(&daemon, method, path).json(&body), 403, "permission_denied").await;
        let said = "processes are disabled; set `enabled = true` under [processes] in omniglot.toml and restart \
                    the daemon";
        assert_eq!(problem["detail"], said, "{path}");
    }
    assert!(!daemon.work().join("made").exists());
}

async fn token(daemon: &Daemon, scope: Scope) -> String {
    let wanted = CreateTokenRequest {
        name: scope.to_string() + "-1",
        scope,
        sessions: None,
        expires_in_seconds: None,
    };
    daemon.client.create_token(&wanted).await.unwrap().secret
}

#[tokio::test]
async fn processes_need_the_scope_admin() {
    let daemon = daemon();
    let drive = token(&daemon, Scope::Drive).await;
    for (method, path, body) in routes() {
        let url = format!("{}/v1/processes{path}", daemon.url);
        let request = reqwest::Client::new().request(method, url).bearer_auth(&drive).json(&body);
        let problem = refused(request, 403, "permission_denied").await;
        assert!(problem["detail"].as_str().unwrap().contains("needs the scope `admin`"), "{problem}");
    }
    // A command of a person in OpenCode's clients.
    SessionDriver::create(&daemon.client, "s").await;
    let typed = json!({ "agent": "build", "command": "touch made" });
    let url = format!("{}/opencode/session/ses_s/shell", daemon.url);
    let typed = reqwest::Client::new().post(url).basic_auth("opencode", Some(&drive)).json(&typed);
    assert_eq!(typed.send().await.unwrap().status(), 403);
    assert!(!daemon.work().join("made").exists());
    let admin = token(&daemon, Scope::Admin).await;
    let url = format!("{}/v1/processes/run", daemon.url);
    let run = reqwest::Client::new().post(url).bearer_auth(admin).json(&shell("touch made"));
    assert_eq!(run.send().await.unwrap().status(), 200);
    assert!(daemon.work().join("made").exists());
}

#[tokio::test]
async fn the_audit_has_starts_inputs_and_ends_and_no_word_of_commands_or_of_what_is_typed() {
    let daemon = daemon();
    post(&daemon, "/run", shell("echo canary-run")).await;
    let id = start(&daemon, shell("cat # canary-start")).await;
    post(&daemon, &format!("/{id}/input"), json!({ "data": "canary-typed\n", "encoding": "utf8" })).await;
    post(&daemon, &format!("/{id}/kill"), json!({})).await;
    let audit = daemon.client.audit(0, None).await.unwrap();
    let told: Vec<_> = audit.entries.iter().map(|entry| entry.call.what.as_str()).collect();
    let of_process = |end: &str| format!("POST /v1/processes/{id}/{end}");
    let expected =
        ["POST /v1/processes/run", "POST /v1/processes", &of_process("input"), &of_process("kill")];
    assert_eq!(told, expected);
    let whole = serde_json::to_string(&audit).unwrap();
    assert!(!whole.contains("canary"), "{whole}");
}

#[tokio::test]
async fn there_is_no_desktop_and_clients_are_told_in_their_shapes() {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    let ask = |method: Method, path: &str| -> RequestBuilder {
        let url = format!("{}/v1/desktop/{path}", daemon.url);
        reqwest::Client::new().request(method, url).bearer_auth(&daemon.token)
    };
    for (path, expected) in [
        ("status", json!({ "state": "inactive", "missingDependencies": [], "processes": [] })),
        ("recordings", json!({ "recordings": [] })),
        ("stream/status", json!({ "active": false })),
    ] {
        let answer: Value = ask(Method::GET, path).send().await.unwrap().json().await.unwrap();
        assert_eq!(answer, expected);
    }
    for (method, path) in [
        (Method::POST, "start"),
        (Method::POST, "mouse/click"),
        (Method::GET, "screenshot?format=png"),
        (Method::DELETE, "recordings/a"),
        (Method::POST, "windows/1/focus"),
        (Method::GET, "stream/signaling"),
    ] {
        let problem = refused(ask(method, path), 503, "desktop_dependencies_missing").await;
        assert_eq!(problem["code"], "desktop_dependencies_missing");
        assert_eq!(problem["missingDependencies"], json!([]));
    }
    refused(ask(Method::GET, "nonsense"), 404, "not_found").await;
}

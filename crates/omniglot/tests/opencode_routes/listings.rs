//! The lists that a client reads when it starts.

use omniglot_testkit::daemon::Setup;
use reqwest::Method;
use serde_json::Value;

use super::handover::Gate;
use super::support::{Face, daemon, encoded, kinds};

#[tokio::test]
async fn agents_are_providers_and_their_modes_are_agents() {
    let daemon = daemon();
    let face = Face::at(&daemon, "/opencode/agents/mock");
    let providers = face.get("/config/providers").await;
    let mock = &providers["providers"][0];
    assert_eq!(mock["id"], "mock");
    let models = mock["models"].as_object().unwrap();
    assert!(models.contains_key("mock-small") && !models.contains_key("default"), "{models:?}");
    assert_eq!(providers["default"]["mock"], "mock-small");
    assert_eq!(face.get("/config").await["model"], "mock/mock-small");
    let listed = face.get("/provider").await;
    assert_eq!(listed["connected"][0], "mock");
    let agents = face.get("/agent").await;
    let names: Vec<&str> = agents.as_array().unwrap().iter().map(|a| a["name"].as_str().unwrap()).collect();
    assert_eq!(names[0], "build");
    assert!(names.contains(&"plan"), "{names:?}");
}

#[tokio::test]
async fn the_agent_that_the_configuration_prefers_is_preselected() {
    let omniglot = env!("CARGO_BIN_EXE_omniglot");
    let agent = |name: &str| {
        format!("[agents.{name}]\nprotocol = \"acp\"\ncommand = [{omniglot:?}, \"mock-agent\"]\n")
    };
    let config = format!("default_agent = \"second\"\n{}{}", agent("first"), agent("second"));
    let daemon = Setup::new(omniglot).config(config).start();
    assert_eq!(Face::of(&daemon).get("/config").await["model"], "second/mock-small");
    assert_eq!(Face::at(&daemon, "/opencode/agents/first").get("/config").await["model"], "first/mock-small");
}

/// Nothing else than the last event makes the web page read its lists again.
#[tokio::test]
async fn clients_are_told_to_read_the_lists_of_a_late_agent_again() {
    let gate = Gate::new();
    let daemon = gate.daemon();
    let face = Face::at(&daemon, "/opencode/agents/late");
    let mut events = face.stream("/global/event").await;
    assert_eq!(face.get("/config").await["model"], "late/agent-default");
    gate.begun().await;
    gate.open().await;
    let told = events.until("global.disposed").await;
    assert_eq!(told.last().unwrap()["directory"], "global");
    assert!(kinds(&told).contains(&"server.instance.disposed"));
    assert_eq!(face.get("/config").await["model"], "late/mock-small");
}

#[tokio::test]
async fn the_directory_is_named_in_three_ways() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let work = daemon.work().canonicalize().unwrap();
    assert_eq!(face.get("/path").await["directory"], work.to_str().unwrap());
    let other = daemon.home().canonicalize().unwrap();
    let asked = face.get(&format!("/path?directory={}", encoded(&other))).await;
    assert_eq!(asked["directory"], other.to_str().unwrap());
    std::fs::create_dir(other.join(".git")).unwrap();
    std::fs::write(other.join(".git/HEAD"), "ref: refs/heads/topic\n").unwrap();
    assert_eq!(face.get("/vcs").await["branch"], "topic");
    let project = face.get("/project/current").await;
    assert_eq!(project["worktree"], other.to_str().unwrap());
}

#[tokio::test]
async fn what_there_is_none_of_is_an_empty_list_of_the_right_type() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    for path in ["/lsp", "/formatter", "/experimental/workspace", "/session", "/command", "/permission"] {
        assert_eq!(face.get(path).await, Value::Array(vec![]), "{path}");
    }
    for path in ["/mcp", "/provider/auth", "/experimental/resource", "/session/status"] {
        assert!(face.get(path).await.as_object().unwrap().is_empty(), "{path}");
    }
    assert_eq!(face.get("/global/health").await["healthy"], true);
    assert_eq!(face.get("/experimental/capabilities").await["backgroundSubagents"], false);
}

#[tokio::test]
async fn commands_are_those_that_a_session_of_the_directory_has_listed() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    face.prompt(&session, "[[commands]]").await;
    let commands = face.get("/command").await;
    let names: Vec<&str> = commands.as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"recall"), "{names:?}");
    let other = daemon.data();
    assert_eq!(face.get(&format!("/command?directory={}", encoded(&other))).await, Value::Array(vec![]));
    let answer = face
        .post(
            &format!("/session/{session}/command"),
            serde_json::json!({ "command": "recall", "arguments": "now" }),
        )
        .await;
    assert!(super::support::said(&answer).contains("Earlier prompts: 1."), "{answer}");
}

#[tokio::test]
async fn private_files_of_the_daemon_are_neither_found_nor_attached() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let data = daemon.data();
    std::fs::write(data.join("shared/token.txt"), "").unwrap();
    std::os::unix::fs::symlink("data/private", daemon.home().join("link")).unwrap();
    let program = Face::of_a_program(&daemon);
    let find = |route: &str, dir: &std::path::Path| format!("{route}?query=token&directory={}", encoded(dir));
    let found = face.get(&find("/find/file", &data)).await;
    assert_eq!(found, serde_json::json!(["shared/token.txt"]));
    for dir in [data.join("private"), daemon.home().join("link"), data.join("shared/../private")] {
        for route in ["/find/file", "/api/fs/find"] {
            let (status, message) = program.refused(Method::GET, &find(route, &dir), None).await;
            assert_eq!(status, 400, "{message}");
        }
        let url = format!("file://{}/token", dir.display());
        let part = serde_json::json!({ "type": "file", "mime": "text/plain", "filename": "t", "url": url });
        let body = serde_json::json!({ "parts": [part] });
        let path = format!("/session/{session}/message");
        let (status, message) = face.refused(Method::POST, &path, Some(body)).await;
        assert!(status == 400 && message.contains("is private to the daemon"), "{status} {message}");
    }
}

/// B17: a client that probes for version 2 is told that there is none. The exceptions are one route for the terminal
/// interface, which finds files by no other, and one for web pages, which make their first screen from no other.
#[tokio::test]
async fn of_the_second_version_each_client_gets_no_more_than_the_one_route_that_it_needs() {
    const FILES: &str = "/api/fs/find?query=x";
    const SESSIONS: &str = "/api/session?limit=5000&order=desc";
    let daemon = daemon();
    let (script, program) = (Face::of(&daemon), Face::of_a_program(&daemon));
    let page = script.clone().with_header("origin", &daemon.url);
    let cases = [(&script, &[][..]), (&program, &[FILES]), (&page, &[SESSIONS])];
    for (face, served) in cases {
        for path in ["/api/health", "/api/session", SESSIONS, "/api/agent", "/api/fs/list", FILES] {
            if served.iter().any(|served| served.split('?').next() == path.split('?').next()) {
                assert!(face.get(path).await["data"].is_array(), "{path}");
                continue;
            }
            let (status, message) = face.refused(Method::GET, path, None).await;
            assert_eq!((status, message.contains("version 1")), (404, true), "{path}: {message}");
        }
        assert_eq!(face.refused(Method::POST, "/api/session", None).await.0, 404);
    }
}

/// B5: clients offer no sharing. B14: `/compact` is their own command.
#[tokio::test]
async fn sharing_is_off_and_the_clients_own_command_is_not_listed_again() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    assert_eq!(face.get("/config").await["share"], "disabled");
    assert_eq!(face.get("/global/config").await["share"], "disabled");
    let session = face.session().await;
    face.prompt(&session, "[[commands]]").await;
    let commands = face.get("/command").await;
    assert!(commands.as_array().unwrap().iter().all(|command| command["name"] != "compact"), "{commands}");
}

/// B4: the first screen of the web page is made from this list.
#[tokio::test]
async fn the_web_page_lists_all_sessions() {
    let daemon = daemon();
    let session = Face::of(&daemon).session().await;
    let request =
        reqwest::Client::new().get(format!("{}/opencode/api/session?limit=5000&order=desc", daemon.url));
    let request = request.basic_auth("opencode", Some(&daemon.token)).header("origin", &daemon.url);
    let listed: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(listed["data"][0]["id"], session, "{listed}");
    assert_eq!(listed["data"].as_array().unwrap().len(), 1);
}

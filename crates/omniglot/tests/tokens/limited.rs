//! A token that is limited to a label: no face shows it anything of another session.

use futures_util::StreamExt as _;
use omniglot_client::{EventsQuery, SessionFilter, StreamFrom};
use omniglot_schema::{
    CreateSessionRequest, Label, MessageAttachment, MessageRequest, PermissionReply, QueueOnCancel, Scope,
    SessionPatch, SkillsConfig,
};
use omniglot_testkit::session_driver::{SessionDriver, message, session_id};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Holder, ask_permission, daemon, labelled, limited_to_x, refused, two_sessions};

/// Modes in which an agent asks nobody: our name, those of several agents, and a mode that approves by itself.
const UNASKED: [&str; 5] = [
    "bypass",
    "bypassPermissions",
    "yolo",
    "auto",
    "https://agentclientprotocol.com/protocol/session-modes#autopilot",
];

fn names(sessions: &[omniglot_schema::SessionInfo]) -> Vec<&str> {
    sessions.iter().map(|session| session.session_id.as_str()).collect()
}

#[tokio::test]
async fn the_rest_face_shows_no_other_session() {
    let daemon = daemon();
    let [_, other] = two_sessions(&daemon).await;
    other.turn("[[demo]]", PermissionReply::Once).await;
    let asked = ask_permission(&other).await;
    let Holder { client, .. } = &Holder::of(&daemon, &limited_to_x(Scope::Drive)).await;
    assert_eq!(names(&client.list(&SessionFilter::default()).await.unwrap()), ["mine"]);
    let of_other = SessionFilter { labels: vec![Label::new("app", "y").unwrap()], ..Default::default() };
    assert!(client.list(&of_other).await.unwrap().is_empty());
    let after_other = SessionFilter { after: Some(other.id.clone()), ..Default::default() };
    refused(client.list(&after_other).await, 400);
    let id = &other.id;
    refused(client.detail(id).await, 404);
    refused(client.events(id, &EventsQuery::default()).await, 404);
    refused(client.sse(id, &StreamFrom::Start, false).await.map(|_| ()), 404);
    refused(client.post(id, &message("x"), None).await, 404);
    refused(client.post_stream(id, &message("x"), None).await.map(|_| ()), 404);
    refused(client.cancel(id, QueueOnCancel::Keep).await, 404);
    refused(client.terminate(id).await, 404);
    refused(client.compact(id).await, 404);
    refused(client.fork(id, &session_id("copy")).await, 404);
    refused(client.patch(id, &SessionPatch { title: Some("t".into()), ..Default::default() }).await, 404);
    refused(SessionDriver::of(client, "other").reply(&asked, PermissionReply::Once).await, 404);
    refused(client.daemon().await, 403);
    assert!(client.search("demo", None).await.unwrap().hits.is_empty());
    assert!(!daemon.client.search("demo", None).await.unwrap().hits.is_empty());
    assert_eq!(names(&daemon.client.list(&SessionFilter::default()).await.unwrap()), ["other", "mine"]);
    other.reply(&asked, PermissionReply::Once).await.unwrap();
}

#[tokio::test]
async fn the_acp_face_shows_no_other_session() {
    let daemon = daemon();
    two_sessions(&daemon).await;
    let holder = Holder::of(&daemon, &limited_to_x(Scope::Drive)).await;
    let listed = holder.acp("session/list", json!({})).await;
    let listed = listed["result"]["sessions"].as_array().unwrap();
    assert_eq!(listed.iter().map(|session| &session["sessionId"]).collect::<Vec<_>>(), ["mine"]);
    let text = json!([{ "type": "text", "text": "x" }]);
    for (method, params) in [
        ("session/load", json!({ "sessionId": "other", "cwd": "/", "mcpServers": [] })),
        ("session/resume", json!({ "sessionId": "other", "cwd": "/" })),
        ("session/fork", json!({ "sessionId": "other", "cwd": "/" })),
        ("session/close", json!({ "sessionId": "other" })),
        ("session/prompt", json!({ "sessionId": "other", "prompt": text })),
        ("session/set_mode", json!({ "sessionId": "other", "modeId": "plan" })),
    ] {
        let answer = holder.acp(method, params).await;
        assert!(
            answer["error"]["message"].as_str().unwrap().contains("no session other"),
            "{method} {answer}"
        );
    }
    // A cursor that names the other session, as its follower has it.
    let driver = Holder::of(&daemon, &super::wanted("ann", Scope::Read)).await;
    driver.acp("session/load", json!({ "sessionId": "other", "cwd": "/", "mcpServers": [] })).await;
    let cursor = first_id(driver.request(Method::GET, "/v1/acp/c")).await;
    let follow = |cursor: String| {
        let request = holder.request(Method::GET, "/v1/acp/d").header("last-event-id", cursor);
        request.header("accept", "text/event-stream").send()
    };
    assert_eq!(follow(cursor.clone()).await.unwrap().status(), 410, "as if the session did not exist");
    holder.acp("session/load", json!({ "sessionId": "mine", "cwd": "/", "mcpServers": [] })).await;
    let own = first_id(holder.request(Method::GET, "/v1/acp/c")).await;
    let (_, other) = cursor.split_once('-').unwrap();
    let stream = follow(format!("{own}-{other}")).await.unwrap();
    assert_eq!(stream.status(), 200, "{own} {other}");
    let mut bytes = stream.bytes_stream();
    SessionDriver::of(&daemon.client, "other").turn("[[text:3]]", PermissionReply::Once).await;
    SessionDriver::of(&daemon.client, "mine").turn("[[text:3]]", PermissionReply::Once).await;
    let load = json!({ "sessionId": "mine", "cwd": "/", "mcpServers": [] });
    let load = json!({ "jsonrpc": "2.0", "id": 1, "method": "session/load", "params": load });
    let loading = holder.request(Method::POST, "/v1/acp/d").json(&load).send();
    let mut told = String::new();
    let reading = async {
        while !told.contains("agent_message_chunk") {
            told.push_str(std::str::from_utf8(&bytes.next().await.unwrap().unwrap()).unwrap());
        }
    };
    let (loaded, ()) = tokio::join!(loading, reading);
    assert_eq!(loaded.unwrap().status(), 200);
    assert!(told.contains("\"mine\"") && !told.contains("\"other\""), "{told}");
}

async fn first_id(request: reqwest::RequestBuilder) -> String {
    let response = request.header("accept", "text/event-stream").send().await.unwrap();
    let mut bytes = response.bytes_stream();
    let mut read = String::new();
    loop {
        read.push_str(std::str::from_utf8(&bytes.next().await.unwrap().unwrap()).unwrap());
        if let Some((_, rest)) = read.split_once("id: ")
            && let Some((id, _)) = rest.split_once('\n')
        {
            return id.to_owned();
        }
    }
}

#[tokio::test]
async fn the_opencode_face_shows_no_other_session() {
    let daemon = daemon();
    let [mine, other] = two_sessions(&daemon).await;
    let asked = ask_permission(&other).await;
    let holder = Holder::of(&daemon, &limited_to_x(Scope::Drive)).await;
    for path in ["/opencode/session", "/opencode/permission", "/opencode/session/status"] {
        let told = holder.get(path).await.to_string();
        assert!(!told.contains("ses_other"), "{path}: {told}");
    }
    assert!(holder.get("/opencode/session").await.to_string().contains("ses_mine"));
    for (method, path) in [
        (Method::GET, ""),
        (Method::PATCH, ""),
        (Method::GET, "/children"),
        (Method::GET, "/message"),
        (Method::GET, "/todo"),
        (Method::GET, "/diff"),
        (Method::POST, "/fork"),
        (Method::POST, "/abort"),
        (Method::POST, "/message"),
        (Method::POST, "/prompt_async"),
        (Method::POST, "/summarize"),
    ] {
        let path = format!("/opencode/session/ses_other{path}");
        assert_eq!(holder.status(method.clone(), &path).await, 404, "{method} {path}");
    }
    assert_eq!(holder.status(Method::GET, "/opencode/find?pattern=a").await, 403);
    assert_eq!(holder.get("/opencode/find/file?query=a").await, json!([]), "folders of its sessions alone");
    let stream = holder.request(Method::GET, "/opencode/global/event").send().await.unwrap();
    let mut bytes = stream.bytes_stream();
    other.reply(&asked, PermissionReply::Once).await.unwrap();
    other.turn("[[text:3]]", PermissionReply::Once).await;
    mine.turn("[[text:3]]", PermissionReply::Once).await;
    let mut told = String::new();
    while !told.contains("session.idle") {
        told.push_str(std::str::from_utf8(&bytes.next().await.unwrap().unwrap()).unwrap());
    }
    assert!(told.contains("ses_mine") && !told.contains("ses_other"), "{told}");
}

#[tokio::test]
async fn it_makes_sessions_with_its_label_and_nothing_that_works_unasked() {
    let daemon = daemon();
    let holder = Holder::of(&daemon, &limited_to_x(Scope::Drive)).await;
    let client = &holder.client;
    let new = |change: fn(&mut CreateSessionRequest)| {
        let mut request = labelled("y");
        change(&mut request);
        request
    };
    let id = session_id("new");
    let mcp = |request: &mut CreateSessionRequest| {
        let servers = json!({ "s": { "type": "local", "command": "true" } });
        request.mcp = serde_json::from_value(servers).unwrap();
    };
    refused(client.create(&id, &new(mcp)).await, 403);
    refused(client.create(&id, &new(|new| new.skills = Some(SkillsConfig { sources: vec![] }))).await, 403);
    refused(client.create(&id, &new(|new| new.worktree = true)).await, 403);
    let unasked = |new: &mut CreateSessionRequest| new.allowed_tools = Some(vec!["Bash".into()]);
    refused(client.create(&id, &new(unasked)).await, 403);
    for mode in UNASKED {
        let mut request = labelled("y");
        request.permission_mode = Some(mode.into());
        refused(client.create(&id, &request).await, 403);
        let request = CreateSessionRequest { agent_mode: Some(mode.into()), ..labelled("y") };
        refused(client.create(&id, &request).await, 403);
    }
    SessionDriver::create_with(client, "new", &labelled("y")).await;
    let labels = client.detail(&id).await.unwrap().info.labels;
    assert_eq!(labels, [("app".to_owned(), "x".to_owned())].into());
    let patch = |body: Value| serde_json::from_value::<SessionPatch>(body).unwrap();
    refused(client.patch(&id, &patch(json!({ "labels": { "app": "y" } }))).await, 403);
    for mode in UNASKED {
        refused(client.patch(&id, &patch(json!({ "permissionMode": mode }))).await, 403);
        refused(client.patch(&id, &patch(json!({ "agentMode": mode }))).await, 403);
        let told = holder.acp("session/set_mode", json!({ "sessionId": "new", "modeId": mode })).await;
        assert!(told["error"]["message"].as_str().unwrap().contains("limited"), "{mode}: {told}");
        let option = json!({ "sessionId": "new", "configId": "mode", "value": mode });
        let told = holder.acp("session/set_config_option", option).await;
        assert!(told["error"]["message"].as_str().unwrap().contains("limited"), "{mode}: {told}");
        let body = json!({ "agent": mode, "parts": [{ "type": "text", "text": "x" }] });
        let told = holder.request(Method::POST, "/opencode/session/ses_new/message").json(&body);
        assert_eq!(told.send().await.unwrap().status(), 403, "{mode}");
        let body = json!({ "agent": mode, "model": { "providerID": "mock", "id": "default" } });
        let told = holder.request(Method::POST, "/opencode/session").json(&body);
        assert_eq!(told.send().await.unwrap().status(), 403, "{mode}");
    }
    client.patch(&id, &patch(json!({ "agentMode": "plan" }))).await.unwrap();
    client.patch(&id, &patch(json!({ "agentMode": "build" }))).await.unwrap();
    client.patch(&id, &patch(json!({ "title": "fine" }))).await.unwrap();
    let created = holder
        .request(Method::POST, "/opencode/session")
        .json(&json!({ "model": { "providerID": "mock", "id": "default" } }));
    assert_eq!(created.send().await.unwrap().status(), 200);
    let all = daemon.client.list(&SessionFilter::default()).await.unwrap();
    assert!(all.len() == 2 && all.iter().all(|session| session.labels == labels), "{all:?}");
}

#[tokio::test]
async fn labels_are_set_changed_and_searched() {
    let daemon = daemon();
    let client = &daemon.client;
    let [mine, other] = two_sessions(&daemon).await;
    let found = async |labels: &[&str]| {
        let labels = labels.iter().map(|label| label.parse().unwrap()).collect();
        let found = client.list(&SessionFilter { labels, ..Default::default() }).await.unwrap();
        found.iter().map(|session| session.session_id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(found(&["app=y"]).await, ["other"]);
    let patch: SessionPatch = serde_json::from_value(json!({ "labels": { "team": "a" } })).unwrap();
    client.patch(&mine.id, &patch).await.unwrap();
    assert_eq!(found(&["team=a", "app=x"]).await, ["mine"]);
    assert!(found(&["team=a", "app=y"]).await.is_empty());
    let patch: SessionPatch = serde_json::from_value(json!({ "labels": { "team": "a,app:y" } })).unwrap();
    client.patch(&other.id, &patch).await.unwrap();
    assert_eq!(found(&["team=a,app:y", "app=y"]).await, ["other"], "a comma is a part of the value");
    assert_eq!(found(&["team=a"]).await, ["mine"]);
    for bad in [json!({ "A": "x" }), json!({ "a": "x".repeat(129) })] {
        let patch = serde_json::from_value(json!({ "labels": bad })).unwrap();
        refused(client.patch(&other.id, &patch).await, 400);
    }
    let many = (0..17).map(|n| (n.to_string(), String::new())).collect();
    let request = CreateSessionRequest { labels: many, ..CreateSessionRequest::new("mock") };
    refused(client.create(&session_id("many"), &request).await, 400);
}

/// The uploads of other sessions and the programs of installed agents are below `shared/`.
#[tokio::test]
async fn it_reaches_no_file_of_the_daemon_also_when_its_session_is_there() {
    let daemon = daemon();
    two_sessions(&daemon).await;
    let upload = |id: &str| format!("{}/v1/sessions/{id}/uploads?name=a.txt", daemon.url);
    let upload = |id: &str, token: &str| {
        reqwest::Client::new().post(upload(id)).bearer_auth(token).body("secret").send()
    };
    let others = upload("other", &daemon.token).await.unwrap().text().await.unwrap();
    let others: MessageAttachment = serde_json::from_str(&others).unwrap();
    let holder = Holder::of(&daemon, &limited_to_x(Scope::Drive)).await;
    let shared = daemon.data().join("shared").to_str().unwrap().to_owned();
    let there = CreateSessionRequest { directory: Some(shared.clone()), ..CreateSessionRequest::new("mock") };
    holder.client.create(&session_id("there"), &there).await.unwrap();
    let files = format!("session_id=there&path={}", others.path);
    for (method, path) in [
        (Method::GET, format!("/v1/fs/file?{files}")),
        (Method::PUT, format!("/v1/fs/file?session_id=there&path={shared}/agents/x")),
        (Method::GET, "/v1/fs/entries?session_id=there".to_owned()),
    ] {
        assert_eq!(holder.status(method, &path).await, 403, "{path}");
    }
    let attach =
        |file: MessageAttachment| MessageRequest { attachments: vec![file], ..message("[[text:1]]") };
    refused(holder.client.post(&session_id("mine"), &attach(others), None).await, 400);
    let own = upload("mine", &holder.token.secret).await.unwrap().text().await.unwrap();
    let own: MessageAttachment = serde_json::from_str(&own).unwrap();
    holder.client.post(&session_id("mine"), &attach(own), None).await.unwrap();
}

//! Making tokens, and what their scopes allow.

use futures_util::StreamExt as _;
use omniglot_client::EventsQuery;
use omniglot_schema::{CreateTokenRequest, Label, PermissionReply, Scope};
use omniglot_testkit::session_driver::{SessionDriver, message};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Holder, ask_permission, daemon, refused, wanted};

#[tokio::test]
async fn a_token_works_after_a_restart_and_nobody_finds_its_secret() {
    let daemon = daemon();
    let holder = Holder::of(&daemon, &wanted("ann", Scope::Read)).await;
    let listed = serde_json::to_string(&daemon.client.tokens().await.unwrap()).unwrap();
    assert!(listed.contains("ann") && !listed.contains(&holder.token.secret), "{listed}");
    let mut daemon = daemon;
    daemon.stop();
    for file in std::fs::read_dir(daemon.data().join("private")).unwrap().flatten() {
        if file.path().is_file() {
            let bytes = std::fs::read(file.path()).unwrap();
            let secret = holder.token.secret.as_bytes();
            assert!(!bytes.windows(secret.len()).any(|window| window == secret), "{:?}", file.path());
        }
    }
    let daemon = daemon.restart();
    let client = omniglot_client::Client::new(&daemon.url, Some(holder.token.secret)).unwrap();
    assert!(client.list(&Default::default()).await.is_ok());
}

#[tokio::test]
async fn a_token_that_cannot_be_meant_is_refused() {
    let daemon = daemon();
    let label = Some(Label { key: "app".into(), value: "x".into() });
    let bad = [
        wanted("", Scope::Read),
        wanted("a b", Scope::Read),
        wanted("admin", Scope::Read),
        CreateTokenRequest { sessions: label.clone(), ..wanted("a", Scope::Admin) },
        CreateTokenRequest { sessions: label, ..wanted("a", Scope::Metrics) },
        CreateTokenRequest { expires_in_seconds: Some(0), ..wanted("a", Scope::Read) },
        CreateTokenRequest { expires_in_seconds: Some(u64::MAX), ..wanted("a", Scope::Read) },
    ];
    for request in bad {
        refused(daemon.client.create_token(&request).await, 400);
    }
    let first = daemon.client.create_token(&wanted("ann", Scope::Read)).await.unwrap();
    refused(daemon.client.create_token(&wanted("ann", Scope::Read)).await, 409);
    daemon.client.revoke_token(&first.info.id).await.unwrap();
    daemon.client.revoke_token(&first.info.id).await.unwrap();
    daemon.client.create_token(&wanted("ann", Scope::Read)).await.unwrap();
    refused(daemon.client.revoke_token("tok_none").await, 404);
}

#[tokio::test]
async fn each_scope_does_what_it_is_for_and_no_more() {
    let daemon = daemon();
    let read = Holder::of(&daemon, &wanted("reader", Scope::Read)).await;
    let answer = Holder::of(&daemon, &wanted("answerer", Scope::Answer)).await;
    let drive = Holder::of(&daemon, &wanted("driver", Scope::Drive)).await;
    let session = SessionDriver::create(&drive.client, "s").await;
    let problem = refused(read.client.post(&session.id, &message("x"), None).await, 403);
    assert!(problem.detail.unwrap().contains("`drive`"));
    refused(answer.client.post(&session.id, &message("x"), None).await, 403);
    refused(drive.client.delete(&session.id).await, 403);
    refused(drive.client.tokens().await, 403);
    refused(drive.client.audit(0, None).await, 403);
    let raw = EventsQuery { include_raw: true, ..EventsQuery::default() };
    let problem = refused(drive.client.events(&session.id, &raw).await, 403);
    assert!(problem.detail.unwrap().contains("include_raw"));
    assert!(read.client.events(&session.id, &EventsQuery::default()).await.is_ok());
    let asked = ask_permission(&session).await;
    let replies = SessionDriver::of(&read.client, "s");
    refused(replies.reply(&asked, PermissionReply::Once).await, 403);
    SessionDriver::of(&answer.client, "s").reply(&asked, PermissionReply::Once).await.unwrap();
    let metrics = Holder::of(&daemon, &wanted("prometheus", Scope::Metrics)).await;
    assert_eq!(metrics.status(Method::GET, "/v1/sessions").await, 403);
    assert_eq!(metrics.status(Method::GET, "/opencode/session").await, 403);
}

#[tokio::test]
async fn a_client_of_acp_needs_the_scope_of_each_method() {
    let daemon = daemon();
    let read = Holder::of(&daemon, &wanted("reader", Scope::Read)).await;
    let drive = Holder::of(&daemon, &wanted("driver", Scope::Drive)).await;
    let new = json!({ "cwd": daemon.work(), "mcpServers": [] });
    let refused = read.acp("session/new", new.clone()).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("`drive`"), "{refused}");
    let created = drive.acp("session/new", new).await;
    let id = created["result"]["sessionId"].as_str().unwrap();
    let listed = read.acp("session/list", json!({})).await;
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], id);
    let loaded = read.acp("session/load", json!({ "sessionId": id, "cwd": "/", "mcpServers": [] })).await;
    assert!(loaded.get("result").is_some(), "{loaded}");
    let refused = drive.acp("session/delete", json!({ "sessionId": id })).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("`admin`"), "{refused}");
    // Each token has its own client of that name.
    assert_eq!(read.get("/v1/acp").await["servers"].as_array().unwrap().len(), 1);
    assert_eq!(read.status(Method::DELETE, "/v1/acp/c").await, 204);
    assert_eq!(drive.get("/v1/acp").await["servers"].as_array().unwrap().len(), 1);
}

/// The agent gets its files from a client that offers them, if that client may drive it.
#[tokio::test]
async fn a_client_of_acp_lends_its_files_only_with_the_scope_drive() {
    let daemon = daemon();
    std::fs::write(daemon.work().join("README.md"), "four").unwrap();
    let owner = SessionDriver::create(&daemon.client, "s").await;
    let offer = json!({ "protocolVersion": 1, "clientCapabilities": { "fs": { "readTextFile": true } } });
    let load = json!({ "sessionId": "s", "cwd": daemon.work(), "mcpServers": [] });
    let mut answerer = Holder::of(&daemon, &wanted("answerer", Scope::Answer)).await;
    for holder in [&mut answerer, &mut Holder::of(&daemon, &wanted("driver", Scope::Drive)).await] {
        holder.acp("initialize", offer.clone()).await;
        holder.acp("session/load", load.clone()).await;
        let may_drive = holder.token.info.scope == Scope::Drive;
        let lending = async {
            if may_drive {
                lend(holder, "of the client").await;
            }
        };
        let (turn, ()) = tokio::join!(owner.turn("[[fs]]", PermissionReply::Once), lending);
        let length = if may_drive { 13 } else { 4 };
        assert_eq!(turn.text(), format!("The client gave me {length} characters of README.md."));
    }
}

/// Gives the agent the file that it asks this client for.
async fn lend(holder: &Holder, content: &str) {
    let stream = holder.request(Method::GET, "/v1/acp/c").header("accept", "text/event-stream");
    let mut bytes = stream.send().await.unwrap().bytes_stream();
    let mut told = String::new();
    let asked: Value = loop {
        told.push_str(std::str::from_utf8(&bytes.next().await.unwrap().unwrap()).unwrap());
        let asked = told.lines().find(|line| line.contains("fs/read_text_file"));
        let asked = asked.and_then(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
        if let Some(asked) = asked {
            break asked;
        }
    };
    let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "content": content } });
    let given = holder.request(Method::POST, "/v1/acp/c").json(&answer).send().await.unwrap();
    assert_eq!(given.status(), 202);
}

//! Sessions: their lists, their titles, their end.

use reqwest::Method;
use serde_json::{Value, json};

use super::support::{Face, daemon, encoded, event};

#[tokio::test]
async fn sessions_are_listed_by_directory_and_shared_with_the_other_faces() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let here = face.session().await;
    let other = daemon.home().join("other");
    std::fs::create_dir_all(other.join(".git")).unwrap();
    let path = format!("/session?directory={}", encoded(&other));
    let body = json!({ "title": "there", "model": { "providerID": "mock", "id": "mock-small" } });
    let there = face.post(&path, body).await;
    assert_eq!(there["directory"], other.canonicalize().unwrap().to_str().unwrap());
    assert_eq!((&there["title"], &there["model"]["providerID"]), (&json!("there"), &json!("mock")));
    let listed = face.get(&path).await;
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["id"]), (1, &there["id"]));
    let all = face.get("/session?roots=true&limit=100").await;
    assert_eq!((all.as_array().unwrap().len(), &all[1]["id"]), (2, &json!(here)), "newest first");
    assert_eq!(face.get("/session?limit=1").await.as_array().unwrap().len(), 1);
    assert_eq!(face.get("/session?search=THERE").await.as_array().unwrap().len(), 1);
    let id = here.strip_prefix("ses_").unwrap();
    assert!(daemon.client.detail(&id.parse_id()).await.is_ok());
    assert_eq!(face.get("/project").await.as_array().unwrap().len(), 2);
}

trait ParseId {
    fn parse_id(&self) -> omniglot_schema::SessionId;
}

impl ParseId for str {
    fn parse_id(&self) -> omniglot_schema::SessionId {
        omniglot_schema::SessionId::parse(self).unwrap()
    }
}

#[tokio::test]
async fn a_session_is_renamed_and_deleted_before_everybody_s_eyes() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let mut events = face.stream("/global/event").await;
    let path = format!("/session/{session}");
    let response = face.ask(Method::PATCH, &path, Some(json!({ "title": "new name" }))).await;
    assert_eq!(response.json::<Value>().await.unwrap()["title"], "new name");
    let seen = events.until("session.updated").await;
    assert_eq!(event(seen.last().unwrap())["properties"]["info"]["title"], "new name");
    let deleted = face.ask(Method::DELETE, &path, None).await;
    assert_eq!(deleted.json::<Value>().await.unwrap(), true);
    let seen = events.until("session.deleted").await;
    assert_eq!(event(seen.last().unwrap())["properties"]["info"]["id"], session);
    assert_eq!(face.refused(Method::GET, &path, None).await.0, 404);
}

#[tokio::test]
async fn an_old_session_that_nobody_looked_at_is_seen_to_be_deleted() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    face.prompt(&session, "[[text:1]]").await;
    let mut events = face.stream("/event").await;
    face.ask(Method::DELETE, &format!("/session/{session}"), None).await;
    let seen = events.until("session.deleted").await;
    assert_eq!(seen.len(), 2, "{seen:?}");
}

#[tokio::test]
async fn todos_and_changed_files_are_listed() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = face.session().await;
    let mut events = face.stream("/event").await;
    face.begin(&session, "[[plan]] [[edit]]").await;
    let seen = events.until("permission.asked").await;
    let id = event(seen.last().unwrap())["properties"]["id"].as_str().unwrap().to_owned();
    face.post(&format!("/permission/{id}/reply"), json!({ "reply": "always" })).await;
    events.until("session.idle").await;
    let todos = face.get(&format!("/session/{session}/todo")).await;
    assert!(todos[0]["content"].is_string(), "{todos}");
    let diff = face.get(&format!("/session/{session}/diff")).await;
    assert!(diff[0]["patch"].as_str().unwrap().contains('+'), "{diff}");
    assert_eq!(face.get(&format!("/session/{session}/children")).await, json!([]));
}

#[tokio::test]
async fn an_id_that_is_used_again_shows_the_new_session() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let first = omniglot_testkit::session_driver::SessionDriver::create(&daemon.client, "again").await;
    first.turn("[[text:1]]", omniglot_schema::PermissionReply::Once).await;
    let path = "/session/ses_again/message";
    assert_eq!(face.get(path).await.as_array().unwrap().len(), 2);
    daemon.client.delete(&first.id).await.unwrap();
    assert_eq!(face.refused(Method::GET, path, None).await.0, 404);
    omniglot_testkit::session_driver::SessionDriver::create(&daemon.client, "again").await;
    assert_eq!(face.get(path).await, json!([]));
}

#[tokio::test]
async fn what_another_face_deletes_is_seen_to_be_deleted() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    let session = omniglot_testkit::session_driver::SessionDriver::create(&daemon.client, "old").await;
    session.turn("[[text:1]]", omniglot_schema::PermissionReply::Once).await;
    let patch = omniglot_schema::SessionPatch { title: Some("Named".into()), ..Default::default() };
    daemon.client.patch(&session.id, &patch).await.unwrap();
    let (mut here, mut all) = (face.stream("/event").await, face.stream("/global/event").await);
    daemon.client.delete(&session.id).await.unwrap();
    for events in [&mut here, &mut all] {
        let seen = events.until("session.deleted").await;
        let told = &event(seen.last().unwrap())["properties"];
        assert_eq!((&told["sessionID"], &told["info"]["title"]), (&json!("ses_old"), &json!("Named")));
    }
}

/// B14: lists tell what sessions cost, and models how large their context is.
#[tokio::test]
async fn costs_and_contexts_that_an_agent_tells_are_in_the_lists() {
    let daemon = daemon();
    let face = Face::at(&daemon, "/opencode/agents/mock");
    let limit = async || {
        let providers = face.get("/config/providers").await;
        providers["providers"][0]["models"]["mock-small"]["limit"]["context"].as_u64().unwrap()
    };
    assert_eq!(limit().await, 0, "nobody has told it");
    let session = face.session().await;
    let mut events = face.stream("/global/event").await;
    face.prompt(&session, "[[usage]]").await;
    events.until("server.instance.disposed").await;
    assert!(limit().await > 0);
    let listed = face.get("/session").await;
    assert!(listed[0]["cost"].as_f64().unwrap() > 0.0, "{listed}");
}

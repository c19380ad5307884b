//! Who has done what is recorded, whatever face was used.

use omniglot_schema::{AuditEntry, PermissionReply, Scope};
use omniglot_testkit::daemon::Daemon;
use omniglot_testkit::session_driver::{SessionDriver, message};
use serde_json::json;

use super::{Holder, daemon, refused, wanted};

async fn told(daemon: &Daemon) -> Vec<String> {
    let page = daemon.client.audit(0, None).await.unwrap();
    assert!(!page.has_more);
    let tell = |AuditEntry { call, .. }: AuditEntry| {
        let session = call.session_id.map(|id| id.to_string()).unwrap_or_default();
        format!("{} {} [{session}] {}", call.who, call.what, call.outcome)
    };
    page.entries.into_iter().map(tell).collect()
}

#[tokio::test]
async fn every_change_is_recorded_with_its_author_in_every_face() {
    let daemon = daemon();
    let ann = Holder::of(&daemon, &wanted("ann", Scope::Drive)).await;
    let session = SessionDriver::create(&ann.client, "s").await;
    session.turn("[[permission]]", PermissionReply::Once).await;
    refused(ann.client.delete(&session.id).await, 403);
    let prompt = json!([{ "type": "text", "text": "[[text:1]]" }]);
    ann.acp("session/prompt", json!({ "sessionId": "s", "prompt": prompt })).await;
    ann.acp("session/list", json!({})).await;
    let abort = ann.request(reqwest::Method::POST, "/opencode/session/ses_s/abort");
    assert_eq!(abort.send().await.unwrap().status(), 200);
    session.client.list(&Default::default()).await.unwrap();
    let told = told(&daemon).await;
    let permission = told[3].clone();
    assert!(permission.starts_with("ann POST /v1/sessions/s/permissions/perm_"), "{told:?}");
    assert_eq!(
        told.iter().map(String::as_str).collect::<Vec<_>>(),
        [
            "admin POST /v1/tokens [] 200",
            "ann POST /v1/sessions/s [s] 200",
            "ann POST /v1/sessions/s/messages/stream [s] 200",
            &permission,
            "ann DELETE /v1/sessions/s [s] 403",
            "ann acp session/prompt [s] ok",
            "ann POST /opencode/session/ses_s/abort [s] 200",
        ]
    );
}

#[tokio::test]
async fn the_audit_survives_the_session_and_is_read_page_by_page() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    for _ in 0..3 {
        daemon.client.post(&session.id, &message("[[text:1]]"), None).await.unwrap();
    }
    daemon.client.delete(&session.id).await.unwrap();
    let page = reqwest::Client::new().get(format!("{}/v1/audit?after=1&limit=2", daemon.url));
    let page: serde_json::Value = page.bearer_auth(&daemon.token).send().await.unwrap().json().await.unwrap();
    assert_eq!(page["hasMore"], true);
    let numbers: Vec<_> = page["entries"].as_array().unwrap().iter().map(|entry| &entry["number"]).collect();
    assert_eq!(numbers, [2, 3]);
    assert_eq!(page["entries"][0]["from"], "127.0.0.1");
    assert_eq!(told(&daemon).await.last().unwrap(), "admin DELETE /v1/sessions/s [s] 204");
    let later = daemon.client.audit(0, Some(i64::MAX)).await.unwrap();
    assert!(later.entries.is_empty());
}

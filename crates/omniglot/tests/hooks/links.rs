//! Links by which a person answers one request: what they show, what they do, and how they end.

use omniglot_schema::{EventData, PermissionReply, PermissionStatus, ResolvedBy, UniversalEvent};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::SessionDriver;
use omniglot_testkit::webhooks::Receiver;
use reqwest::{Client, Response};

use super::{OMNIGLOT, hook};

/// A daemon whose hook carries links, and the receiver of its calls.
async fn prepared() -> (Daemon, Receiver) {
    let receiver = Receiver::start([]).await;
    let config =
        format!("public_url = \"https://box.example.com/\"\n{}", hook("h", &receiver, "answer_links = true"));
    (Setup::new(OMNIGLOT).config(config).start(), receiver)
}

/// Returns the address of the newest link at the daemon itself, which has no name outside of the test.
async fn link(daemon: &Daemon, receiver: &mut Receiver) -> String {
    let calls = receiver.until("permission.requested").await;
    let url = calls.last().unwrap().json()["data"]["answer_url"].as_str().unwrap().to_owned();
    url.replace("https://box.example.com", &daemon.url)
}

async fn get(url: &str) -> Response {
    Client::new().get(url).header("host", "box.example.com").send().await.unwrap()
}

/// Sends an answer as the form of a page does that sends no referrer.
async fn post(url: &str, answer: &str) -> Response {
    let request = Client::new().post(url).header("host", "box.example.com").header("origin", "null");
    request.body(format!("answer={answer}")).send().await.unwrap()
}

async fn resolved(session: &SessionDriver) -> (PermissionStatus, ResolvedBy) {
    let is_resolved = |event: &UniversalEvent| matches!(event.data, EventData::PermissionResolved(_));
    match session.wait_for(0, is_resolved).await.data {
        EventData::PermissionResolved(data) => (data.status, data.metadata.unwrap().resolved_by.unwrap()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_shows_its_request_and_answers_it_once() {
    let (daemon, mut receiver) = prepared().await;
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[edit]]").await;
    let url = link(&daemon, &mut receiver).await;
    assert_eq!(url.rsplit('/').next().unwrap().len(), 64, "256 bits");
    for _ in 0..2 {
        let page = get(&url).await;
        assert_eq!(page.status(), 200);
        let header = |name: &str| page.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(
            (header("cache-control"), header("referrer-policy")),
            ("no-store".into(), "no-referrer".into())
        );
        assert_eq!(
            (header("x-frame-options"), header("x-content-type-options")),
            ("DENY".into(), "nosniff".into())
        );
        let policy = header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        let text = page.text().await.unwrap();
        assert!(
            text.contains("Allow once") && text.contains("Reject") && !text.contains("<script"),
            "{text}"
        );
    }
    assert!(!daemon.client.detail(&session.id).await.unwrap().pending.is_empty(), "looking answers nothing");
    for bad in ["always", "accept_for_session", "0", ""] {
        assert_eq!(post(&url, bad).await.status(), 400, "{bad}");
    }
    assert_eq!(post(&url, "once").await.status(), 200);
    assert_eq!(resolved(&session).await, (PermissionStatus::Accept, ResolvedBy::Link));
    for _ in 0..2 {
        assert_eq!(post(&url, "reject").await.status(), 410, "a second answer");
        assert_eq!(get(&url).await.status(), 410);
    }
    let audit = daemon.client.audit(0, None).await.unwrap().entries;
    let by_link: Vec<_> = audit.iter().filter(|entry| entry.call.who == "link").collect();
    assert_eq!(by_link.len(), 1);
    assert_eq!(
        (by_link[0].call.what.as_str(), by_link[0].call.outcome.as_str()),
        ("POST /answer/***", "200")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_rejects_and_is_good_after_a_restart_only_for_what_is_open() {
    let (mut daemon, mut receiver) = prepared().await;
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[edit]]").await;
    let url = link(&daemon, &mut receiver).await;
    assert_eq!(post(&url, "reject").await.status(), 200);
    assert_eq!(resolved(&session).await, (PermissionStatus::Reject, ResolvedBy::Link));
    session.wait_for(0, |event| matches!(event.data, EventData::TurnEnded(_))).await;
    session.post("[[edit]]").await;
    receiver.calls(3).await;
    let url = link(&daemon, &mut receiver).await;
    daemon.kill();
    let daemon = daemon.restart();
    let url = format!("{}/answer/{}", daemon.url, url.rsplit('/').next().unwrap());
    assert_eq!(get(&url).await.status(), 410, "the request ended with the daemon");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_dead_when_somebody_else_has_answered() {
    let (daemon, mut receiver) = prepared().await;
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[edit]]").await;
    let url = link(&daemon, &mut receiver).await;
    let request = receiver.now().last().unwrap().json()["data"]["request_id"].as_str().unwrap().to_owned();
    session.reply(&request, PermissionReply::Once).await.unwrap();
    assert_eq!(post(&url, "reject").await.status(), 410);
    assert_eq!(resolved(&session).await, (PermissionStatus::Accept, ResolvedBy::Person));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_link_finds_nothing_and_no_other_route_is_open_by_it() {
    let (daemon, mut receiver) = prepared().await;
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[edit]]").await;
    let url = link(&daemon, &mut receiver).await;
    let secret = url.rsplit('/').next().unwrap();
    for wrong in ["x".to_owned(), "0".repeat(64), secret.to_uppercase(), secret[1..].to_owned()] {
        assert_eq!(get(&format!("{}/answer/{wrong}", daemon.url)).await.status(), 410, "{wrong}");
    }
    assert_eq!(get(&format!("{}/answer/", daemon.url)).await.status(), 401);
    let sessions = Client::new().get(format!("{}/v1/sessions", daemon.url)).bearer_auth(secret);
    assert_eq!(sessions.send().await.unwrap().status(), 401, "a link is no token");
    let foreign = Client::new().get(&url).header("host", "other.example.com").send().await.unwrap();
    assert_eq!(foreign.status(), 403, "only by the names of this daemon");
    assert_eq!(post(&url, "reject").await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_secret_of_a_link_is_in_no_log_and_in_no_file() {
    let mut receiver = Receiver::start([]).await;
    let log = tempfile::NamedTempFile::new().unwrap();
    let config =
        format!("public_url = \"https://box.example.com\"\n{}", hook("h", &receiver, "answer_links = true"));
    let mut daemon = Setup::new(OMNIGLOT).config(config).log_all_to(log.path()).start();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[edit]]").await;
    let url = link(&daemon, &mut receiver).await;
    assert_eq!(get(&url).await.status(), 200);
    assert_eq!(post(&url, "always").await.status(), 400);
    assert_eq!(post(&url, "once").await.status(), 200);
    session.wait_for(0, |event| matches!(event.data, EventData::TurnEnded(_))).await;
    daemon.stop();
    let secret = url.rsplit('/').next().unwrap().as_bytes().to_vec();
    let has_it = |bytes: &[u8]| bytes.windows(secret.len()).any(|window| window == secret);
    assert!(!has_it(&std::fs::read(log.path()).unwrap()), "the log has it");
    for file in std::fs::read_dir(daemon.data().join("private")).unwrap().flatten() {
        if file.path().is_file() {
            assert!(!has_it(&std::fs::read(file.path()).unwrap()), "{:?}", file.path());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_key_no_call_has_a_link() {
    let mut receiver = Receiver::start([]).await;
    let config = format!("public_url = \"https://box.example.com\"\n{}", hook("h", &receiver, ""));
    let daemon = Setup::new(OMNIGLOT).config(config).start();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[edit]]").await;
    let call = receiver.until("permission.requested").await.remove(0).json();
    assert_eq!(call["data"]["url"], "https://box.example.com/ui/#/session/s");
    assert_eq!(call["data"].get("answer_url"), None);
    let request = call["data"]["request_id"].as_str().unwrap();
    session.reply(request, PermissionReply::Reject).await.unwrap();
}

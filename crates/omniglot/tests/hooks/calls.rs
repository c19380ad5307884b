//! The calls themselves: which events make them, in which order, and how often.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use omniglot_schema::{CreateSessionRequest, PermissionReply, QuestionPolicy};
use omniglot_testkit::session_driver::{SessionDriver, session_id};
use omniglot_testkit::webhooks::{Answer, Call, Receiver};
use sha2::Sha256;

use super::{SECRET, daemon, hook, omniglot, told};

/// Computes the signature from outside, as a receiver does.
fn signature(call: &Call) -> String {
    let key = STANDARD.decode(SECRET.strip_prefix("whsec_").unwrap()).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{}.{}.{}", call.id(), call.header("webhook-timestamp"), call.body).as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_with_a_permission_makes_two_signed_calls_without_its_content() {
    let mut receiver = Receiver::start([]).await;
    let daemon = daemon(hook("h", &receiver, ""));
    let session = SessionDriver::create(&daemon.client, "s").await;
    let before = jiff::Timestamp::now().as_second();
    // The permission is answered once the call for it has come: one that needs nobody any more calls nobody.
    ask_and_answer(&session, &mut receiver).await;
    let calls = receiver.until("turn.ended").await;
    let s = |kind: &str| (kind.to_owned(), "s".to_owned());
    assert_eq!(told(&calls), [s("permission.requested"), s("turn.ended")]);
    for call in &calls {
        assert_eq!(call.header("webhook-signature"), signature(call));
        let time: i64 = call.header("webhook-timestamp").parse().unwrap();
        assert!(time >= before && time <= jiff::Timestamp::now().as_second(), "{time}");
        assert_eq!(call.header("content-type"), "application/json");
        assert!(!call.body.contains("+++") && call.json()["data"].get("event").is_none(), "{}", call.body);
    }
    assert_ne!(calls[0].id(), calls[1].id());
    assert_eq!(calls[1].json()["data"]["stop_reason"], "end_turn");
}

/// Plays a turn that asks for a permission, which is answered when its call has come.
async fn ask_and_answer(session: &SessionDriver, receiver: &mut Receiver) {
    session.post("A secret word [[edit]]").await;
    let calls = receiver.until("permission.requested").await;
    let asked = calls.last().unwrap().json();
    session.reply(asked["data"]["request_id"].as_str().unwrap(), PermissionReply::Once).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_under_way_when_the_daemon_is_killed_is_made_again_under_the_same_id() {
    let mut receiver = Receiver::start([Answer::Hang]).await;
    let mut daemon = daemon(hook("h", &receiver, "events = [\"turn_ended\"]"));
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[text:1]]", PermissionReply::Once).await;
    session.turn("[[text:1]]", PermissionReply::Once).await;
    receiver.calls(1).await;
    daemon.kill();
    let daemon = daemon.restart();
    let calls = receiver.calls(3).await;
    assert_eq!(calls[0].id(), calls[1].id(), "at least once, and known by its id");
    assert_eq!(calls[0].body, calls[1].body);
    assert_ne!(calls[1].id(), calls[2].id());
    let session = SessionDriver::of(&daemon.client, "s");
    session.turn("[[text:1]]", PermissionReply::Once).await;
    let ids: std::collections::HashSet<_> =
        receiver.calls(4).await.iter().map(|call| call.id().to_owned()).collect();
    assert_eq!(ids.len(), 3, "what was taken is not repeated");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_session_stay_in_order_over_failures_and_an_end_of_the_daemon_tells_its_last_turn() {
    let mut receiver = Receiver::start([Answer::Status(500), Answer::Status(404)]).await;
    let mut daemon = daemon(hook("h", &receiver, "events = [\"turn.started\", \"turn.ended\"]"));
    let a = SessionDriver::create(&daemon.client, "a").await;
    let b = SessionDriver::create(&daemon.client, "b").await;
    for _ in 0..2 {
        a.turn("[[text:1]]", PermissionReply::Once).await;
        b.turn("[[text:1]]", PermissionReply::Once).await;
    }
    let calls = receiver.calls(10).await;
    for session in ["a", "b"] {
        let mut sequences: Vec<u64> = calls
            .iter()
            .filter(|call| call.json()["data"]["session_id"] == session)
            .map(|call| call.json()["data"]["sequence"].as_u64().unwrap())
            .collect();
        assert!(sequences.is_sorted(), "{session}: {sequences:?}");
        sequences.dedup();
        assert_eq!(sequences.len(), 4, "{session}: {sequences:?}");
    }
    a.turn("[[text:1]]", PermissionReply::Once).await;
    daemon.stop();
    assert_eq!(told(&receiver.calls(12).await)[11], ("turn.ended".into(), "a".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_choose_sessions() {
    let mut receiver = Receiver::start([]).await;
    let daemon = daemon(hook("h", &receiver, "labels = { team = \"a\" }"));
    let request = CreateSessionRequest::new("mock");
    let other = SessionDriver::create_with(&daemon.client, "other", &request).await;
    other.turn("[[text:1]]", PermissionReply::Once).await;
    let labels = [("team".to_owned(), "a".to_owned())].into_iter().collect();
    let request = CreateSessionRequest { labels, ..request };
    let ours = SessionDriver::create_with(&daemon.client, "ours", &request).await;
    ours.turn("[[text:1]]", PermissionReply::Once).await;
    let calls = receiver.calls(1).await;
    assert_eq!(told(&calls), [("turn.ended".to_owned(), "ours".to_owned())]);
    assert_eq!(calls[0].json()["data"]["labels"]["team"], "a");
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_that_were_copied_or_imported_call_nobody() {
    let mut receiver = Receiver::start([]).await;
    let daemon = daemon(hook("h", &receiver, "events = [\"turn_ended\", \"session_ended\"]"));
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[text:1]]", PermissionReply::Once).await;
    let (data, file) = (daemon.data(), daemon.home().join("s.jsonl").display().to_string());
    let (code, _, said) = omniglot(&data, &["sessions", "export", "s", "--output", &file]);
    assert_eq!(code, 0, "{said}");
    let (code, _, said) = omniglot(&data, &["sessions", "import", &file, "--as", "imported"]);
    assert_eq!(code, 0, "{said}");
    daemon.client.fork(&session.id, &session_id("forked")).await.unwrap();
    daemon.client.terminate(&session.id).await.unwrap();
    let calls = receiver.until("session.ended").await;
    let s = |kind: &str| (kind.to_owned(), "s".to_owned());
    assert_eq!(told(&calls), [s("turn.ended"), s("session.ended")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_needs_nobody_calls_only_those_who_want_the_event_itself() {
    let mut needed = Receiver::start([]).await;
    let mut all = Receiver::start([]).await;
    let config = hook("needed", &needed, "events = [\"needs_you\", \"turn_ended\"]")
        + &hook("all", &all, "events = [\"question.requested\", \"turn_ended\"]");
    let daemon = daemon(config);
    let request =
        CreateSessionRequest { questions: Some(QuestionPolicy::Reject), ..CreateSessionRequest::new("mock") };
    let session = SessionDriver::create_with(&daemon.client, "s", &request).await;
    session.turn("[[question]]", PermissionReply::Once).await;
    assert_eq!(all.until("turn.ended").await.len(), 2);
    assert_eq!(needed.until("turn.ended").await.len(), 1, "nobody was needed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_hangs_slows_neither_sessions_nor_other_hooks() {
    let mut hanging = Receiver::start(std::iter::repeat_n(Answer::Hang, 100)).await;
    let mut good = Receiver::start([]).await;
    let daemon = daemon(hook("hanging", &hanging, "") + &hook("good", &good, ""));
    let session = SessionDriver::create(&daemon.client, "s").await;
    for turns in 1..4 {
        session.turn("[[text:1]]", PermissionReply::Once).await;
        good.calls(turns).await;
    }
    assert_eq!(hanging.calls(1).await.len(), 1);
}

//! Retention for clients: raw frames are dropped and events stay, ended sessions are deleted and others stay.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::process::Command;

use futures_util::StreamExt as _;
use omniglot_client::{EventsQuery, SessionFilter, SseItem, StreamFrom};
use omniglot_schema::{EventSource, PermissionReply, UniversalEvent};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::SessionDriver;

const PROGRAM: &str = env!("CARGO_BIN_EXE_omniglot");
const OMITTED: &str = r#"{"omitted":"retention"}"#;

fn daemon(retention: &str) -> Daemon {
    Setup::new(PROGRAM).config(format!("[retention]\n{retention}\nevery_seconds = 1\n")).start()
}

async fn with_raw(session: &SessionDriver) -> Vec<UniversalEvent> {
    let query = EventsQuery { include_raw: true, ..EventsQuery::default() };
    session.client.events(&session.id, &query).await.unwrap().events
}

fn assert_no_faults(daemon: &Daemon) {
    let check =
        Command::new(PROGRAM).args(["db", "check", "--data-dir"]).arg(daemon.data()).output().unwrap();
    assert!(check.status.success(), "{check:?}");
}

#[tokio::test]
async fn raw_frames_over_the_budget_go_and_their_events_say_so() {
    let mut daemon = Setup::new(PROGRAM).start();
    let session = SessionDriver::create(&daemon.client, "kept").await;
    session.turn("[[text]]", PermissionReply::Reject).await;
    let before = with_raw(&session).await;
    assert!(before.iter().any(|event| event.raw.as_ref().is_some_and(|raw| raw.get().contains("jsonrpc"))));
    daemon.stop();
    std::fs::write(daemon.data().join("omniglot.toml"), "[retention]\nraw_bytes = \"1 B\"\n").unwrap();
    let daemon = daemon.restart();

    // The first run is at the start; only its effect shows that it is over.
    let session = SessionDriver::of(&daemon.client, "kept");
    let mut after = with_raw(&session).await;
    while !after.iter().any(|event| event.raw.as_ref().is_some_and(|raw| raw.get() == OMITTED)) {
        after = with_raw(&session).await;
    }
    for (event, was) in after.iter().zip(&before) {
        let raw = event.raw.as_ref().map(|raw| raw.get());
        assert_eq!(raw, was.raw.as_ref().map(|_| OMITTED), "{event:?}");
        if event.source == EventSource::Daemon && was.raw.is_none() {
            assert_eq!(raw, None, "it never had any");
        }
    }
    assert!(after.len() >= before.len());
    session.history().await;
    assert_no_faults(&daemon);
    session.turn("[[text]]", PermissionReply::Reject).await;
}

#[tokio::test]
async fn an_ended_session_goes_and_those_who_watch_it_are_told() {
    let daemon = daemon("ended_bytes = \"1 B\"");
    let idle = SessionDriver::create(&daemon.client, "idle").await;
    idle.turn("[[text]]", PermissionReply::Reject).await;
    let over = SessionDriver::create(&daemon.client, "over").await;
    over.turn("[[text]]", PermissionReply::Reject).await;
    let mut stream = over.watch(StreamFrom::Start).await;
    daemon.client.terminate(&over.id).await.unwrap();
    loop {
        match stream.next().await.unwrap().unwrap() {
            SseItem::Deleted => break,
            SseItem::Event { .. } | SseItem::CaughtUp => {}
        }
    }
    let left = daemon.client.list(&SessionFilter::default()).await.unwrap();
    assert_eq!(left.iter().map(|info| info.session_id.as_str()).collect::<Vec<_>>(), ["idle"]);
    idle.turn("[[text]]", PermissionReply::Reject).await;
    assert_no_faults(&daemon);
}

#[tokio::test]
async fn an_ended_session_is_kept_until_it_is_old() {
    let daemon = daemon("ended_days = 1\nraw_days = 1");
    let young = SessionDriver::create(&daemon.client, "young").await;
    young.turn("[[text]]", PermissionReply::Reject).await;
    daemon.client.terminate(&young.id).await.unwrap();
    let daemon = {
        let mut daemon = daemon;
        daemon.stop();
        daemon.restart()
    };
    let young = SessionDriver::of(&daemon.client, "young");
    assert!(
        with_raw(&young).await.iter().all(|event| event.raw.as_ref().is_none_or(|raw| raw.get() != OMITTED))
    );
}

//! `/metrics`: what a monitoring system sees of sessions, turns, agents, the log and its readers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use omniglot_client::StreamFrom;
use omniglot_schema::{PermissionReply, UniversalEventType};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::SessionDriver;
use omniglot_timeline::check::Allow;

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

async fn page(daemon: &Daemon) -> String {
    let request = reqwest::Client::new().get(format!("{}/metrics", daemon.url)).bearer_auth(&daemon.token);
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    answer.text().await.unwrap()
}

/// Returns the value of a line; 0 when there is none.
#[track_caller]
fn value(page: &str, line: &str) -> f64 {
    let found = page.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(' '));
    found.map_or(0.0, |value| value.parse().unwrap())
}

#[tokio::test]
async fn turns_drops_events_and_starts_are_counted_by_agent() {
    let mut daemon = daemon();
    daemon.allow = Allow { open_turn: true, unparsed: true };
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.turn("[[text:3]]", PermissionReply::Once).await;
    session.turn("[[garbage]]", PermissionReply::Once).await;
    session.turn("[[stop:refusal]]", PermissionReply::Once).await;
    let _reader = session.watch(StreamFrom::Start).await;
    let before = session.history_with(Allow { open_turn: true, unparsed: true }).await.len() as u64;
    session.post("[[silence]]").await;
    session.wait_for(before, |event| event.kind() == UniversalEventType::TurnStarted).await;
    session.post("waits").await;

    let page = page(&daemon).await;
    let is = |line: &str| value(&page, line);
    assert_eq!(is(r#"omniglot_turns_ended_total{agent="mock",stop_reason="end_turn"}"#), 2.0, "{page}");
    assert_eq!(is(r#"omniglot_turns_ended_total{agent="mock",stop_reason="refusal"}"#), 1.0);
    assert!(is(r#"omniglot_frames_unparsed_total{agent="mock"}"#) >= 4.0, "{page}");
    assert_eq!(is(r#"omniglot_agent_starts_total{agent="mock",start="first"}"#), 1.0);
    assert_eq!(is(r#"omniglot_sessions{agent="mock",status="connected"}"#), 1.0);
    assert_eq!((is("omniglot_sessions_live"), is("omniglot_sessions_busy")), (1.0, 1.0));
    assert_eq!(is("omniglot_queued_messages"), 1.0);
    assert_eq!(is("omniglot_ready"), 1.0);
    assert!(is("omniglot_subscribers") >= 1.0);
    assert!(is("omniglot_events_total") > 10.0);
    assert!(is("omniglot_commit_seconds_count") > 1.0 && is("omniglot_commit_seconds_sum") > 0.0);
    assert_eq!(is("omniglot_commit_seconds_count"), is(r#"omniglot_commit_seconds_bucket{le="+Inf"}"#));
    assert!(is(r#"omniglot_http_requests_total{status="2xx"}"#) > 3.0);
}

/// Every sample belongs to a metric that is described, and `docs/OBSERVE.md` has all of them.
#[tokio::test]
async fn every_metric_is_described() {
    let page = page(&daemon()).await;
    let described =
        |name: &str| page.contains(&format!("# HELP {name} ")) && page.contains(&format!("# TYPE {name} "));
    let document = include_str!("../../../docs/OBSERVE.md");
    let mut names = 0;
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
        let name = family.filter(|family| described(family)).unwrap_or(name);
        assert!(described(name), "{line}");
        assert!(document.contains(&format!("`{name}`")), "docs/OBSERVE.md says nothing of {name}");
        names += 1;
    }
    assert!(names > 20, "{page}");
}

//! The routes beside the contract that the command line needs: import, check, daemon.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use futures_util::stream;
use omniglot_schema::DaemonStatus;
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, session_id, status_of};
use reqwest::{RequestBuilder, Response};
use serde_json::Value;

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

fn post(daemon: &Daemon, path: &str) -> RequestBuilder {
    reqwest::Client::new().post(format!("{}{path}", daemon.url)).bearer_auth(&daemon.token)
}

async fn problem(response: Response, status: u16) -> Value {
    assert_eq!(response.status(), status);
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

#[tokio::test]
async fn an_import_wants_json_lines_that_are_an_export() {
    let daemon = daemon();
    let import = || post(&daemon, "/v1/sessions/new/import");
    // A type that a web page can send without a preflight request.
    let plain = import().header("content-type", "text/plain").body("{}").send().await.unwrap();
    problem(plain, 415).await;
    let json = import().header("content-type", "application/x-ndjson");
    let refused = problem(json.body("{\"a\":1}\n").send().await.unwrap(), 400).await;
    assert_eq!(refused["detail"], "this is no exported session: line 1 is not the header of one");
    assert!(refused["hint"].as_str().unwrap().contains("omniglot sessions export"), "{refused}");
    assert_eq!(refused["session_id"], "new");
    assert_eq!(status_of(daemon.client.detail(&session_id("new")).await), 404);
}

#[tokio::test]
async fn a_file_that_is_too_long_is_refused_before_it_is_all_read() {
    let daemon = daemon();
    // One line without end: far more than allowed, and never held as a whole by the test.
    let piece = bytes::Bytes::from(vec![b' '; 1 << 20]);
    let endless = stream::iter((0..4096).map(move |_| Ok::<_, std::io::Error>(piece.clone())));
    let refused = daemon.client.import(&session_id("new"), None, endless).await.unwrap_err();
    // The daemon may close the connection before its client has stopped sending.
    assert!(matches!(refused.status(), Some(413) | None), "{refused}");
    assert_eq!(status_of(daemon.client.detail(&session_id("new")).await), 404);
}

#[tokio::test]
async fn a_daemon_tells_who_it_is_to_those_with_the_token() {
    let daemon = daemon();
    SessionDriver::create(&daemon.client, "s").await;
    let DaemonStatus { version, pid, started_at, sessions, live, busy } =
        daemon.client.daemon().await.unwrap();
    assert_eq!((&*version, pid), (env!("CARGO_PKG_VERSION"), daemon.pid()));
    assert_eq!((sessions, live, busy), (1, 1, 0));
    assert!(started_at > 0);
    let stranger = reqwest::get(format!("{}/v1/daemon", daemon.url)).await.unwrap();
    problem(stranger, 401).await;
}

#[tokio::test]
async fn a_checked_agent_is_known_afterwards_and_leaves_no_process() {
    let daemon = daemon();
    let check = daemon.client.check_agent("mock").await.unwrap();
    assert!(check.healthy && !check.models.is_empty() && !check.modes.is_empty(), "{check:?}");
    let listed = daemon.client.agents().await.unwrap().agents;
    assert_eq!(listed.iter().find(|info| info.id == "mock").unwrap().version, check.agent.version);
    assert_eq!(daemon.descendants(), Vec::<u32>::new());
    assert_eq!(status_of(daemon.client.check_agent("nobody").await), 400);
}

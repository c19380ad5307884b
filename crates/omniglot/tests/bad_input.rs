//! Bad input over HTTP: each is a clear problem, and nothing has changed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]

use omniglot_client::SessionFilter;
use omniglot_schema::{EventData, PermissionReply, ProblemDetails};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::SessionDriver;
use reqwest::{Method, Response};

/// One request that must be refused: method, path, body (JSON), status and kind of the problem.
type Row<'a> = (Method, String, &'a str, u16, &'a str);

/// A daemon with one idle session `s`, and the id of a permission that was answered there.
async fn daemon() -> (Daemon, SessionDriver, String) {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let turn = session.turn("[[permission]]", PermissionReply::Once).await;
    let resolved = turn.events.iter().find_map(|event| match &event.data {
        EventData::PermissionResolved(data) => Some(data.permission_id.to_string()),
        _ => None,
    });
    (daemon, session, resolved.expect("a permission"))
}

async fn send(daemon: &Daemon, method: Method, path: &str, body: &str) -> Response {
    let mut request =
        reqwest::Client::new().request(method, format!("{}{path}", daemon.url)).bearer_auth(&daemon.token);
    if !body.is_empty() {
        request = request.header("content-type", "application/json").body(body.to_owned());
    }
    request.send().await.expect("an answer")
}

/// Sends every row and checks its answer; none may change a session.
async fn refuses(daemon: &Daemon, rows: Vec<Row<'_>>) {
    let before = shape(daemon).await;
    for (method, path, body, status, kind) in rows {
        let at = format!("{method} {path} {body}");
        let response = send(daemon, method, &path, body).await;
        assert_eq!(response.status().as_u16(), status, "{at}");
        assert_eq!(response.headers().get("content-type").unwrap(), "application/problem+json", "{at}");
        let problem: ProblemDetails = response.json().await.expect("a problem");
        assert_eq!(problem.r#type, format!("urn:sandbox-agent:error:{kind}"), "{at}");
        assert_eq!(problem.status, status, "{at}");
        assert!(!problem.title.is_empty() && problem.detail.is_some_and(|text| !text.is_empty()), "{at}");
        assert_eq!(shape(daemon).await, before, "{at}");
    }
}

/// Returns the sessions and the number of events of each.
async fn shape(daemon: &Daemon) -> Vec<(String, u64)> {
    let sessions = daemon.client.list(&SessionFilter::default()).await.expect("the sessions");
    sessions.into_iter().map(|info| (info.session_id.to_string(), info.event_count)).collect()
}

fn post<'a>(path: &str, body: &'a str, status: u16, kind: &'a str) -> Row<'a> {
    (Method::POST, format!("/v1/sessions/{path}"), body, status, kind)
}

fn get<'a>(path: &str, status: u16, kind: &'a str) -> Row<'a> {
    (Method::GET, format!("/v1/sessions/{path}"), "", status, kind)
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_refused() {
    let (daemon, _, answered) = daemon().await;
    let reply = format!("s/permissions/{answered}/reply");
    let invalid = "invalid_request";
    let rows = vec![
        post("new", "{", 400, invalid),
        post("new", r#"{"agent":"mock"} {}"#, 400, invalid),
        post("new", "[]", 400, invalid),
        post("new", "{}", 400, invalid),
        post("new", r#"{"agent":1}"#, 400, invalid),
        post("new", r#"{"agent":"mock","directory":7}"#, 400, invalid),
        post("s/messages", r#"{"message""#, 400, invalid),
        post("s/messages", r#"{"message":5}"#, 400, invalid),
        post("s/messages", r#"{"message":" \n"}"#, 400, invalid),
        post("s/fork", r#"{"sessionId":".."}"#, 400, invalid),
        post("s/messages", r#"{"message":"m","delivery":"by pigeon"}"#, 400, invalid),
        post("s/messages", r#"{"message":"m","attachments":"a"}"#, 400, invalid),
        post("s/messages/stream", r#"{"message":null}"#, 400, invalid),
        post("s/cancel", r#"{"queue":"burn"}"#, 400, invalid),
        post(&reply, r#"{"reply":"maybe"}"#, 400, invalid),
        post("s/questions/qst_1/reply", r#"{"answers":"yes"}"#, 400, invalid),
    ];
    refuses(&daemon, rows).await;
}

#[tokio::test]
async fn a_session_in_a_file_is_told_that_it_is_no_directory() {
    let (daemon, ..) = daemon().await;
    for (place, words) in [("/dev/null", "/dev/null is not a directory"), ("/no/such", "does not exist")] {
        let body = format!(r#"{{"agent":"mock","directory":"{place}"}}"#);
        let response = send(&daemon, Method::POST, "/v1/sessions/new", &body).await;
        let problem: ProblemDetails = response.json().await.expect("a problem");
        assert!(problem.detail.as_ref().is_some_and(|text| text.ends_with(words)), "{problem:?}");
    }
}

#[tokio::test]
async fn what_does_not_exist_is_not_found_and_what_exists_is_not_made_twice() {
    let (daemon, _, answered) = daemon().await;
    let (absent, message) = ("session_not_found", r#"{"message":"m"}"#);
    let (once, answers) = (r#"{"reply":"once"}"#, r#"{"answers":[["yes"]]}"#);
    let rows = vec![
        get("none", 404, absent),
        get("none/events", 404, absent),
        get("none/events/sse", 404, absent),
        post("none/messages", message, 404, absent),
        post("none/messages/stream", message, 404, absent),
        post("none/cancel", "", 404, absent),
        post("none/terminate", "", 404, absent),
        post("none/permissions/perm_1/reply", once, 404, absent),
        post("none/questions/qst_1/reply", answers, 404, absent),
        post("none/questions/qst_1/reject", "", 404, absent),
        (Method::DELETE, "/v1/sessions/none".into(), "", 404, absent),
        (Method::DELETE, "/v1/sessions/none/messages/msg_1".into(), "", 404, absent),
        (Method::DELETE, "/v1/sessions/s/messages/msg_1".into(), "", 404, "not_found"),
        post("s/permissions/perm_none/reply", once, 404, "not_found"),
        post("s/questions/qst_none/reply", answers, 404, "not_found"),
        post("s/questions/qst_none/reject", "", 404, "not_found"),
        post(&format!("s/permissions/{answered}/reply"), once, 409, "conflict"),
        post("s", r#"{"agent":"mock"}"#, 409, "session_already_exists"),
        (Method::GET, "/v1/agents/nobody/models".into(), "", 400, "unsupported_agent"),
        (Method::GET, "/v1/no/such/route".into(), "", 404, "not_found"),
        (Method::PUT, "/v1/sessions/s".into(), "", 405, "invalid_request"),
    ];
    refuses(&daemon, rows).await;
}

#[tokio::test]
async fn a_private_file_of_the_daemon_is_no_attachment() {
    let (daemon, _, _) = daemon().await;
    std::os::unix::fs::symlink(daemon.data().join("private"), daemon.work().join("link")).unwrap();
    for path in ["../data/private/token", "../data/shared/../private/token", "link/token"] {
        let body = format!(r#"{{"message":"m","attachments":[{{"path":"{path}"}}]}}"#);
        refuses(&daemon, vec![post("s/messages", &body, 400, "invalid_request")]).await;
    }
}

#[tokio::test]
async fn a_request_that_cannot_work_is_refused() {
    let (daemon, _, _) = daemon().await;
    let invalid = "invalid_request";
    let mode = r#"{"agent":"mock","agentMode":"no such mode"}"#;
    let rows = vec![
        post("new", r#"{"agent":"nobody"}"#, 400, "unsupported_agent"),
        post("new", mode, 400, "mode_not_supported"),
        post("new", r#"{"agent":"mock","directory":"/no/such/place"}"#, 400, invalid),
        post("a%20b", r#"{"agent":"mock"}"#, 400, invalid),
        post(&"x".repeat(129), r#"{"agent":"mock"}"#, 400, invalid),
        get("a%2Fb", 400, invalid),
        post("s/messages", r#"{"message":""}"#, 400, invalid),
        post("s/messages", r#"{"message":"m","attachments":[{"path":"no/such/file"}]}"#, 400, invalid),
        get("s/events?types=turn.ended,nonsense", 400, invalid),
        get("s/events?offset=-1", 400, invalid),
        get("s/events?limit=many", 400, invalid),
        get("s/events?include_raw=maybe", 400, invalid),
        get("s/events?offset=100000", 410, "gone"),
        get("s/events/sse?offset=-1", 400, invalid),
        get("s/events/sse?offset=100000", 410, "gone"),
        (Method::GET, "/v1/sessions?limit=-1".into(), "", 400, invalid),
        (Method::GET, "/v1/sessions?limit=0".into(), "", 400, invalid),
        (Method::GET, "/v1/sessions?ended=perhaps".into(), "", 400, invalid),
        (Method::GET, "/v1/sessions?after=none".into(), "", 400, invalid),
    ];
    refuses(&daemon, rows).await;
}

#[tokio::test]
async fn a_second_answer_is_told_who_gave_the_first() {
    let (daemon, session, answered) = daemon().await;
    let refused = session.reply(&answered, PermissionReply::Reject).await.unwrap_err();
    let detail = refused.problem().unwrap().detail.clone().unwrap();
    let at = session.history().await.into_iter().find_map(|event| match event.data {
        EventData::PermissionResolved(_) => Some(event.time.to_string()),
        _ => None,
    });
    assert!(detail.contains("person") && detail.contains(&at.unwrap()), "{detail}");
    drop(daemon);
}

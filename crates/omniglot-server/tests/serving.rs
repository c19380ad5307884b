//! The REST face over a real socket and a real log: cursors, streams, refusals, the stop.

#![expect(clippy::unwrap_used, reason = "a test; helpers beside test functions count as code")]

#[path = "serving/acp.rs"]
mod acp;
#[path = "serving/daemon.rs"]
mod daemon;

use daemon::{Daemon, id};
use futures_util::StreamExt as _;
use omniglot_client::{ClientError, EventsQuery, SseItem, StreamFrom};
use omniglot_schema::ProblemDetails;
use omniglot_server::{ConnectionLimits, ServeError, Server, ServerConfig};
use reqwest::Method;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_cut_and_resumed_at_random_shows_every_event_once() {
    const LAST: u64 = 5_000;
    let daemon = Daemon::start().await;
    let session = id("s");
    let record = daemon.session(&session).await;
    let write = async {
        for from in (2..=LAST).step_by(10) {
            daemon.deltas(&record, from, (from + 9).min(LAST)).await;
        }
    };
    let read = async {
        let (mut from, mut seen, mut cuts, mut random) = (StreamFrom::Start, 0, 0, 1_u64);
        while seen < LAST {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let mut stream = daemon.client.sse(&session, &from, false).await.unwrap();
            for _ in 0..=(random >> 33) % 20 {
                match stream.next().await.unwrap().unwrap() {
                    SseItem::Event { id, event, .. } => {
                        assert_eq!(event.sequence, seen + 1, "after {cuts} cuts");
                        seen = event.sequence;
                        from = StreamFrom::Id(id);
                    }
                    SseItem::CaughtUp => {}
                    SseItem::Deleted => panic!("deleted"),
                }
                if seen == LAST {
                    break;
                }
            }
            cuts += 1;
        }
        cuts
    };
    let ((), cuts) = tokio::join!(write, read);
    assert!(cuts > 100, "{cuts}");
    daemon.stop().await;
}

#[tokio::test]
async fn pages_hold_what_was_asked_for() {
    let daemon = Daemon::start().await;
    let session = id("s");
    let record = daemon.session(&session).await;
    daemon.deltas(&record, 2, 6).await;
    let page = async |query: EventsQuery| {
        let page = daemon.client.events(&session, &query).await.unwrap();
        let sequences: Vec<u64> = page.events.iter().map(|event| event.sequence).collect();
        (sequences, page.has_more, page.events.first().and_then(|event| event.raw.clone()))
    };
    let all = page(EventsQuery::default()).await;
    assert_eq!((all.0, all.1), ((1..=6).collect(), false));
    let some = page(EventsQuery { offset: 2, limit: Some(2), include_raw: true, ..Default::default() }).await;
    assert_eq!((some.0, some.1, some.2.unwrap().get()), (vec![3, 4], true, r#"{"frame":2}"#));
    for limit in [0, 10_001] {
        let query = EventsQuery { limit: Some(limit), ..Default::default() };
        let refused = daemon.client.events(&session, &query).await.unwrap_err();
        assert_eq!(refused.status(), Some(400), "{limit}");
    }
    let beyond = daemon.client.events(&session, &EventsQuery { offset: 7, ..Default::default() }).await;
    assert_eq!(beyond.unwrap_err().status(), Some(410));
    daemon.stop().await;
}

#[tokio::test]
async fn a_stream_shows_native_frames_when_asked() {
    let daemon = Daemon::start().await;
    let session = id("s");
    let record = daemon.session(&session).await;
    daemon.deltas(&record, 2, 3).await;
    let stream = daemon.client.sse(&session, &StreamFrom::Offset(1), true).await.unwrap();
    let raw: Vec<String> = stream
        .take(2)
        .map(|item| match item.unwrap() {
            SseItem::Event { event, .. } => event.raw.unwrap().get().to_owned(),
            other => panic!("{other:?}"),
        })
        .collect()
        .await;
    assert_eq!(raw, [r#"{"frame":1}"#, r#"{"frame":2}"#]);
    daemon.stop().await;
}

#[tokio::test]
async fn every_bad_request_is_a_clear_problem() {
    let daemon = Daemon::start().await;
    let json = Some("application/json");
    let long = format!(r#"{{"message":"{}"}}"#, "x".repeat(1 << 20));
    let table = [
        (Method::GET, "/no/such", None, "", 404, "not_found"),
        (Method::PUT, "/v1/sessions", None, "", 405, "invalid_request"),
        (Method::GET, "/v1/sessions/a%20b", None, "", 400, "invalid_request"),
        (Method::GET, "/v1/sessions/%ff", None, "", 400, "invalid_request"),
        (Method::GET, "/v1/sessions?limit=x", None, "", 400, "invalid_request"),
        (Method::GET, "/v1/sessions?after=none", None, "", 400, "invalid_request"),
        (Method::GET, "/v1/sessions?limit=0", None, "", 400, "invalid_request"),
        (Method::GET, "/v1/sessions?limt=1", None, "", 400, "invalid_request"),
        (Method::GET, "/v1/agents?x=1", None, "", 400, "invalid_request"),
        (Method::GET, "/v1/sessions/none/events/sse?types=", None, "", 400, "invalid_request"),
        (Method::GET, "/v1/sessions/none", None, "", 404, "session_not_found"),
        (Method::GET, "/v1/sessions/none/events", None, "", 404, "session_not_found"),
        (Method::GET, "/v1/sessions/none/events/sse", None, "", 404, "session_not_found"),
        (Method::DELETE, "/v1/sessions/none", None, "", 404, "session_not_found"),
        (Method::POST, "/v1/sessions/none/cancel", None, "", 404, "session_not_found"),
        (Method::POST, "/v1/sessions/none/terminate", None, "", 404, "session_not_found"),
        (Method::POST, "/v1/sessions/none/cancel", json, r#"{"queue":1}"#, 400, "invalid_request"),
        (Method::POST, "/v1/sessions/new", json, r#"{"agent":"nobody"}"#, 400, "unsupported_agent"),
        (Method::POST, "/v1/sessions/new", json, "{", 400, "invalid_request"),
        (Method::POST, "/v1/sessions/new", json, r#"["mock"]"#, 400, "invalid_request"),
        (
            Method::POST,
            "/v1/sessions/new",
            json,
            r#"{"agent":"mock","permisionMode":"plan"}"#,
            400,
            "invalid_request",
        ),
        (Method::POST, "/v1/sessions/none/cancel", json, r#"{"qeue":"drop"}"#, 400, "invalid_request"),
        (Method::PATCH, "/v1/sessions/none", json, r#"{"titel":"t"}"#, 400, "invalid_request"),
        (
            Method::POST,
            "/v1/sessions/none/permissions/p/reply",
            json,
            r#"{"reply":"once","mesage":""}"#,
            400,
            "invalid_request",
        ),
        (
            Method::POST,
            "/v1/sessions/none/questions/q/reply",
            json,
            r#"{"answers":[],"x":1}"#,
            400,
            "invalid_request",
        ),
        (Method::POST, "/v1/sessions/new", json, r#"{"agent":1}"#, 400, "invalid_request"),
        (Method::POST, "/v1/sessions/new", json, "", 400, "invalid_request"),
        (Method::POST, "/v1/sessions/new", None, r#"{"agent":"mock"}"#, 415, "unsupported_media_type"),
        (Method::POST, "/v1/sessions/new", Some("text/plain"), "{}", 415, "unsupported_media_type"),
        (Method::POST, "/v1/sessions/none/messages", json, r#"{"message":"m"}"#, 404, "session_not_found"),
        (Method::POST, "/v1/sessions/none/messages", json, &long, 413, "too_large"),
        (Method::GET, "/v1/agents/nobody/modes", None, "", 400, "unsupported_agent"),
    ];
    let http = reqwest::Client::new();
    for (method, path, media, body, status, kind) in table {
        let mut request = http.request(method.clone(), format!("{}{path}", daemon.url)).bearer_auth("t");
        if let Some(media) = media {
            request = request.header("content-type", media);
        }
        let response = request.body(body.to_owned()).send().await.unwrap();
        let at = format!("{method} {path} {}", body.get(..20).unwrap_or(body));
        assert_eq!(response.status().as_u16(), status, "{at}");
        assert_eq!(response.headers().get("content-type").unwrap(), "application/problem+json", "{at}");
        if status == 405 {
            assert!(response.headers().contains_key("allow"), "{at}");
        }
        let problem: serde_json::Value = response.json().await.unwrap();
        assert_eq!(problem.get("type").unwrap(), &format!("urn:sandbox-agent:error:{kind}"), "{at}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn refusals_say_what_was_wrong_and_no_more() {
    let daemon = Daemon::start().await;
    let session = id("s");
    daemon.session(&session).await;
    let table = [
        (
            Method::GET,
            "/v1/sessions/a%20b",
            "",
            "a session id has 1 to 128 characters of A-Z a-z 0-9 . _ : -, and is not . or ..",
        ),
        (Method::GET, "/v1/sessions/s/events?offset=-1", "", "offset must be a whole number from 0"),
        (Method::POST, "/v1/sessions/new", "", "the body is empty; send a JSON object"),
        (Method::POST, "/v1/sessions/new", "[]", "the body must be a JSON object"),
        (Method::POST, "/v1/sessions/s", r#"{"agent":"mock"}"#, "session s exists already"),
    ];
    let http = reqwest::Client::new();
    for (method, path, body, detail) in table {
        let request = http.request(method, format!("{}{path}", daemon.url)).bearer_auth("t");
        let request = request.header("content-type", "application/json").body(body);
        let problem: serde_json::Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(problem.get("detail").unwrap(), detail, "{path}");
        if path == "/v1/sessions/s" {
            let hint = problem.get("hint").unwrap().as_str().unwrap();
            assert!(hint.contains("/v1/sessions/s/messages"), "{hint}");
        }
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_stream_can_be_of_some_types_only() {
    let daemon = Daemon::start().await;
    let session = id("s");
    let record = daemon.session(&session).await;
    daemon.deltas(&record, 2, 5).await;
    let url = format!("{}/v1/sessions/s/events/sse?types=session.started,turn.ended", daemon.url);
    let mut response = reqwest::Client::new().get(url).bearer_auth("t").send().await.unwrap();
    let mut text = String::new();
    while !text.contains("event: caught_up") {
        text.push_str(&String::from_utf8_lossy(&response.chunk().await.unwrap().unwrap()));
    }
    let ids: Vec<_> = text.lines().filter(|line| line.starts_with("id: ")).collect();
    assert_eq!(ids, [format!("id: {}.1", record.epoch)]);
    assert!(text.contains("{\"sequence\":5}"), "{text}");
    daemon.stop().await;
}

#[tokio::test]
async fn the_daemon_says_that_it_lives_and_what_it_offers() {
    let daemon = Daemon::start().await;
    let stranger = omniglot_client::Client::new(&daemon.url, None).unwrap();
    assert_eq!(stranger.health().await.unwrap().status, "ok");
    stranger.ready().await.unwrap();
    assert!(matches!(stranger.agents().await, Err(ClientError::Problem(problem)) if problem.status == 401));
    assert!(!daemon.client.agents().await.unwrap().agents.is_empty());
    daemon.hub.shutdown().await;
    assert_eq!(stranger.ready().await.unwrap_err().status(), Some(503));
    daemon.stop().await;
}

#[tokio::test]
async fn the_stop_ends_event_streams() {
    let daemon = Daemon::start().await;
    let session = id("s");
    daemon.session(&session).await;
    let mut stream = daemon.client.sse(&session, &StreamFrom::Start, false).await.unwrap();
    assert!(matches!(stream.next().await, Some(Ok(SseItem::Event { .. }))));
    let ((), rest) = tokio::join!(daemon.stop(), stream.collect::<Vec<_>>());
    assert!(matches!(&*rest, [Ok(SseItem::CaughtUp)]), "{rest:?}");
}

#[tokio::test]
async fn a_stop_takes_no_requests_and_sends_what_is_committed_meanwhile() {
    let mut daemon = Daemon::start().await;
    let session = id("s");
    let record = daemon.session(&session).await;
    let stream = daemon.client.sse(&session, &StreamFrom::Offset(1), false).await.unwrap();
    daemon.begin_stop();
    let address = daemon.url.strip_prefix("http://").unwrap().to_owned();
    while tokio::net::TcpStream::connect(&address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    daemon.deltas(&record, 2, 4).await;
    let ((), rest) = tokio::join!(daemon.stop(), stream.collect::<Vec<_>>());
    let sequences: Vec<u64> = rest
        .into_iter()
        .filter_map(|item| match item.unwrap() {
            SseItem::Event { event, .. } => Some(event.sequence),
            SseItem::CaughtUp | SseItem::Deleted => None,
        })
        .collect();
    assert_eq!(sequences, [2, 3, 4]);
}

#[tokio::test]
async fn an_address_of_the_network_needs_a_token() {
    let daemon = Daemon::start().await;
    let config = ServerConfig::new(std::net::SocketAddr::from(([0, 0, 0, 0], 0)));
    let refused = Server::bind(config, daemon.hub.clone()).await.err().unwrap();
    assert!(matches!(refused, ServeError::OpenToTheNetwork(_)));
    daemon.stop().await;
}

/// D10, P20: whoever connects and says nothing kept everybody out once all descriptors were used.
#[tokio::test]
async fn silent_connections_keep_nobody_out() {
    let limits = ConnectionLimits { strangers: 8, admitted: 100 };
    let daemon = Daemon::start_with(|config| config.connections = limits).await;
    let host = daemon.url.trim_start_matches("http://").to_owned();
    let mut silent = vec![];
    for _ in 0..40 {
        silent.push(TcpStream::connect(&host).await.unwrap());
    }
    // The oldest are cut off, each for one that came after it.
    for connection in silent.iter_mut().take(32) {
        assert_eq!(connection.read(&mut [0; 1]).await.unwrap_or(0), 0);
    }
    assert_eq!(reqwest::get(format!("{}/v1/health", daemon.url)).await.unwrap().status(), 200);
    daemon.client.list(&Default::default()).await.unwrap();
    drop(silent);
    daemon.stop().await;
}

#[tokio::test]
async fn one_connection_too_many_is_told_so_until_there_is_room() {
    let limits = ConnectionLimits { strangers: 8, admitted: 1 };
    let daemon = Daemon::start_with(|config| config.connections = limits).await;
    let session = id("s");
    daemon.session(&session).await;
    let stream = daemon.client.sse(&session, &StreamFrom::Start, false).await.unwrap();
    let ask = async || {
        let request = reqwest::Client::new().get(format!("{}/v1/sessions", daemon.url)).bearer_auth("t");
        request.send().await.unwrap()
    };
    let refused = ask().await;
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (429, "1"));
    let problem: ProblemDetails = refused.json().await.unwrap();
    assert!(problem.hint.unwrap().contains("`connections` under [limits]"));
    assert_eq!(reqwest::get(format!("{}/readyz", daemon.url)).await.unwrap().status(), 200);
    drop(stream);
    while ask().await.status() != 200 {}
    daemon.stop().await;
}

/// D7, P22.
#[tokio::test]
async fn a_daemon_whose_disk_hangs_is_not_ready_and_says_so() {
    let daemon = Daemon::start().await;
    let readiness = async || {
        let answer = reqwest::get(format!("{}/readyz", daemon.url)).await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    assert_eq!(readiness().await.0, 200);
    let hold = daemon.store.hold_writer();
    let (_, reason) = loop {
        match readiness().await {
            (200, _) => {}
            other => break other,
        }
    };
    assert!(reason.contains("writer_stall_seconds"), "{reason}");
    assert_eq!(readiness().await.0, 503);
    drop(hold);
    daemon.store.written().await.unwrap();
    while readiness().await.0 != 200 {}
    daemon.stop().await;
}

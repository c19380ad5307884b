//! Access to the real daemon: token, `Host`, `Origin`, sizes and types of bodies.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on panics")]

use omniglot_client::SessionFilter;
use omniglot_schema::ProblemDetails;
use omniglot_testkit::daemon::{Daemon, Setup};
use reqwest::{Method, RequestBuilder};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

fn daemon(args: &[&str]) -> Daemon {
    let mut setup = Setup::new(env!("CARGO_BIN_EXE_omniglot"));
    setup.args = args.iter().map(ToString::to_string).collect();
    setup.start()
}

/// A request without a token.
fn stranger(daemon: &Daemon, path: &str) -> RequestBuilder {
    reqwest::Client::new().request(Method::GET, format!("{}{path}", daemon.url))
}

async fn refused(request: RequestBuilder, status: u16, kind: &str) -> ProblemDetails {
    let response = request.send().await.expect("an answer");
    assert_eq!(response.status().as_u16(), status);
    assert_eq!(response.headers().get("content-type").unwrap(), "application/problem+json");
    let problem: ProblemDetails = response.json().await.expect("a problem");
    assert_eq!(problem.r#type, format!("urn:sandbox-agent:error:{kind}"));
    problem
}

#[tokio::test]
async fn nothing_but_the_health_is_told_without_the_token() {
    let daemon = daemon(&[]);
    for path in ["/v1/health", "/readyz"] {
        assert!(stranger(&daemon, path).send().await.unwrap().status().is_success(), "{path}");
    }
    for path in ["/v1/sessions", "/v1/agents", "/v1/openapi.json", "/v1/sessions/s/events/sse", "/no/such"] {
        refused(stranger(&daemon, path), 401, "token_invalid").await;
        let wrong = format!("{}0", daemon.token);
        let problem = refused(stranger(&daemon, path).bearer_auth(wrong), 401, "token_invalid").await;
        let hint = problem.hint.unwrap();
        // B18: a stranger learns no path of this machine.
        assert!(hint.contains("token") && !hint.contains('/'), "{path}: {hint}");
    }
    let create = reqwest::Client::new().post(format!("{}/v1/sessions/s", daemon.url));
    let create = create.header("content-type", "application/json").body(r#"{"agent":"mock"}"#);
    refused(create, 401, "token_invalid").await;
    assert!(daemon.client.list(&SessionFilter::default()).await.unwrap().is_empty());
    let known = stranger(&daemon, "/v1/sessions").bearer_auth(&daemon.token);
    assert!(known.send().await.unwrap().status().is_success());
}

#[test]
fn no_other_program_of_the_user_reads_the_environment_of_the_daemon() {
    let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).unprivileged(&[]).start();
    let environment = std::fs::metadata(format!("/proc/{}/environ", daemon.pid())).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&environment), 0, "it belongs to the system");
}

#[tokio::test]
async fn other_names_and_pages_are_kept_out_unless_allowed() {
    let strict = daemon(&[]);
    let ask = |daemon: &Daemon, name: &str, value: &str| {
        stranger(daemon, "/v1/sessions").bearer_auth(&daemon.token).header(name, value)
    };
    for (name, value, told) in [
        ("host", "rebound.example", "--allow-host rebound.example"),
        ("origin", "https://page.example", "--allow-origin https://page.example"),
        // Every page without an address sends `null`: there is nothing to allow.
        ("origin", "null", "`null`"),
    ] {
        let problem = refused(ask(&strict, name, value), 403, "permission_denied").await;
        let hint = problem.hint.unwrap();
        assert!(hint.contains(told), "{hint}");
    }
    assert!(ask(&strict, "host", "localhost:1").send().await.unwrap().status().is_success());

    let open = daemon(&["--allow-host", "rebound.example", "--allow-origin", "https://page.example"]);
    assert!(ask(&open, "host", "rebound.example").send().await.unwrap().status().is_success());
    let page = ask(&open, "origin", "https://page.example").send().await.unwrap();
    assert_eq!(page.headers().get("access-control-allow-origin").unwrap(), "https://page.example");
    // A browser sends a preflight request first, without the token.
    let first = reqwest::Client::new()
        .request(Method::OPTIONS, format!("{}/v1/sessions", open.url))
        .header("origin", "https://page.example")
        .header("access-control-request-method", "POST");
    let first = first.send().await.unwrap();
    assert_eq!(first.status(), 204);
    let headers = first.headers().get("access-control-allow-headers").unwrap().to_str().unwrap();
    assert!(headers.contains("authorization") && headers.contains("last-event-id"), "{headers}");
    refused(ask(&open, "origin", "https://other.example"), 403, "permission_denied").await;
}

#[tokio::test]
async fn a_body_over_eight_mebibytes_is_refused_before_it_is_read() {
    let daemon = daemon(&[]);
    let mut socket = tokio::net::TcpStream::connect(daemon.url.trim_start_matches("http://")).await.unwrap();
    let head = format!(
        "POST /v1/sessions/s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        daemon.token,
        (8 << 20) + 1
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("urn:sandbox-agent:error:too_large"), "{answer}");

    // A message just below the limit is no problem of size.
    let text = "x".repeat((8 << 20) - 32);
    let request = reqwest::Client::new().post(format!("{}/v1/sessions/none/messages", daemon.url));
    let request = request.bearer_auth(&daemon.token).json(&serde_json::json!({ "message": text }));
    refused(request, 404, "session_not_found").await;
}

#[tokio::test]
async fn a_body_that_is_not_json_is_refused() {
    let daemon = daemon(&[]);
    for media in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let create = reqwest::Client::new().post(format!("{}/v1/sessions/s", daemon.url));
        let create = create.bearer_auth(&daemon.token).header("content-type", media);
        let problem = refused(create.body(r#"{"agent":"mock"}"#), 415, "unsupported_media_type").await;
        assert!(problem.hint.unwrap().contains("application/json"), "{media}");
    }
    assert!(daemon.client.list(&SessionFilter::default()).await.unwrap().is_empty());
}

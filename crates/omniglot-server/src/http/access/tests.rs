//! The table of P14 and P15: every route, with and without the headers that grant access.
//!
//! The routes are those of the API description; their handlers are replaced by one that always succeeds, so
//! that an answer other than 200 can only come from the check.

use axum::body::Body;
use axum::routing::{MethodFilter, any, on};
use http::{Method, Request, StatusCode};
use tower::ServiceExt as _;

use super::*;

fn config(bound: &str) -> (ServerConfig, SocketAddr) {
    let addr = bound.parse().unwrap();
    let mut config = ServerConfig::new(addr);
    config.token = Some(Token::new("good"));
    config.token_hint = "it is in DATA/token".into();
    config.allow_hosts = vec!["box.example".parse().unwrap()];
    config.allow_origins = vec!["https://app.example/".parse().unwrap()];
    (config, addr)
}

fn access(bound: &str) -> Access {
    let (config, addr) = config(bound);
    Access::new(&config, addr, crate::faces::ACCESS)
}

fn routes() -> Vec<(Method, String)> {
    let document = serde_json::to_value(crate::openapi()).unwrap();
    let mut routes = vec![];
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            if let Ok(method) = Method::from_bytes(method.to_ascii_uppercase().as_bytes()) {
                routes.push((method, path.clone()));
            }
        }
    }
    routes
}

fn guarded() -> Router {
    let mut router = Router::new().fallback(any(|| async { "yes" }));
    for (method, path) in routes() {
        let filter = MethodFilter::try_from(method).unwrap();
        router = router.route(&path, on(filter, || async { "yes" }));
    }
    access("127.0.0.1:2468").guard(router)
}

async fn ask(router: &Router, method: &Method, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = Request::builder().method(method).uri(path).header("host", "localhost:2468");
    for (name, value) in headers {
        if *name == "host" {
            request.headers_mut().unwrap().remove("host");
        }
        request = request.header(*name, *value);
    }
    ask_from("127.0.0.1", router, request.body(Body::empty()).unwrap()).await
}

async fn ask_from(peer: &str, router: &Router, mut request: Request<Body>) -> Response {
    request.extensions_mut().insert(PeerAddr(peer.parse().unwrap()));
    router.clone().oneshot(request).await.unwrap()
}

#[tokio::test]
async fn every_route_but_health_and_readyz_wants_the_token() {
    let router = guarded();
    let mut routes = routes();
    assert!(routes.len() > 15, "the table is read from the description");
    routes.push((Method::GET, "/no/such/route".into()));
    for (method, path) in routes {
        let open = OPEN.contains(&path.as_str());
        let refused = if open { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
        let table = [
            (None, refused),
            (Some("Bearer bad"), refused),
            (Some("Bearer "), refused),
            (Some("Basic good"), refused),
            (Some("good"), refused),
            (Some("Bearer good"), StatusCode::OK),
            (Some("bearer good"), StatusCode::OK),
        ];
        for (header, expected) in table {
            let headers: Vec<_> = header.map(|value| ("authorization", value)).into_iter().collect();
            let response = ask(&router, &method, &path, &headers).await;
            assert_eq!(response.status(), expected, "{method} {path} with {header:?}");
        }
    }
}

#[tokio::test]
async fn a_refusal_for_the_token_tells_where_it_is() {
    let response = ask(&guarded(), &Method::GET, "/v1/sessions", &[]).await;
    assert_eq!(response.headers()["www-authenticate"], "Bearer");
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let body = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
    insta::assert_snapshot!(String::from_utf8_lossy(&body), @r#"{"type":"urn:sandbox-agent:error:token_invalid","title":"Token Invalid","status":401,"detail":"a token is required","hint":"it is in DATA/token"}"#);
}

#[tokio::test]
async fn only_this_machine_is_told_where_the_token_is() {
    let router = guarded();
    let table = [
        ("127.0.0.1", None, true),
        ("::1", None, true),
        ("::ffff:127.0.0.1", None, true),
        ("10.0.0.7", None, false),
        ("127.0.0.1", Some("x-forwarded-for"), false),
        ("127.0.0.1", Some("forwarded"), false),
    ];
    for (peer, proxied, told) in table {
        let mut request = Request::get("/v1/sessions").header("host", "localhost:2468");
        if let Some(header) = proxied {
            request = request.header(header, "for=10.0.0.7");
        }
        let response = ask_from(peer, &router, request.body(Body::empty()).unwrap()).await;
        let body = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
        let text = String::from_utf8_lossy(&body);
        assert_eq!(text.contains("DATA/token"), told, "{peer} {proxied:?}: {text}");
        assert!(text.contains("hint"), "{text}");
    }
}

#[test]
fn a_refused_origin_is_advised_only_what_can_be_allowed() {
    let access = access("127.0.0.1:2468");
    let hint = |origin: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
        let host: Authority = "localhost:2468".parse().unwrap();
        access.origin(&headers, &host).unwrap_err().details().hint.clone().unwrap()
    };
    assert!(hint("http://localhost:3000").contains("`--allow-origin http://localhost:3000`"));
    assert!(hint("nonsense").contains("`--allow-origin ORIGIN`"));
    let null = hint("null");
    assert!(!null.contains("--allow-origin") && null.contains("serve the page"), "{null}");
}

#[tokio::test]
async fn a_foreign_host_or_origin_is_refused_on_every_route() {
    let router = guarded();
    for (method, path) in routes() {
        for wrong in [("host", "evil.example"), ("origin", "https://evil.example"), ("origin", "null")] {
            let response = ask(&router, &method, &path, &[("authorization", "Bearer good"), wrong]).await;
            assert_eq!(response.status(), StatusCode::FORBIDDEN, "{method} {path} with {wrong:?}");
        }
    }
}

#[track_caller]
fn host_passes(access: &Access, host: &str) -> bool {
    let mut headers = HeaderMap::new();
    headers.insert(HOST, HeaderValue::from_str(host).unwrap());
    match access.host(&headers, &Uri::from_static("/")) {
        Ok(_) => true,
        Err(problem) => {
            assert!(problem.details().hint.as_deref().unwrap().contains("--allow-host"));
            false
        }
    }
}

#[test]
fn hosts_are_loopback_names_the_bound_address_and_the_allowed() {
    let local = access("127.0.0.1:2468");
    for good in [
        "localhost",
        "LOCALHOST:99",
        "localhost.:1",
        "a.localhost",
        "127.0.0.1:2468",
        "127.9.9.9",
        "[::1]:80",
    ] {
        assert!(host_passes(&local, good), "{good}");
    }
    assert!(host_passes(&local, "Box.Example:443"));
    for bad in
        ["evil.example", "localhost.evil.example", "192.168.1.5", "box.example.evil", "", "a b", "[::2]"]
    {
        assert!(!host_passes(&local, bad), "{bad}");
    }
    let lan = access("192.168.1.5:2468");
    assert!(host_passes(&lan, "192.168.1.5:2468") && !host_passes(&lan, "192.168.1.6"));
    let all = access("0.0.0.0:2468");
    assert!(host_passes(&all, "192.168.1.6") && !host_passes(&all, "evil.example"));
}

#[test]
fn origins_are_our_own_and_the_allowed() {
    let access = access("127.0.0.1:2468");
    let host: Authority = "localhost:2468".parse().unwrap();
    for good in ["http://localhost:2468", "http://127.0.0.1:2468", "http://[::1]:2468", "https://app.example"]
    {
        assert!(access.knows_origin(good, &host), "{good}");
    }
    for bad in
        ["http://localhost:3000", "http://localhost", "null", "", "https://app.example.evil", "file://"]
    {
        assert!(!access.knows_origin(bad, &host), "{bad}");
    }
    let proxied: Authority = "box.example".parse().unwrap();
    assert!(access.knows_origin("https://box.example", &proxied));
}

#[tokio::test]
async fn an_allowed_page_may_ask_first_and_read_the_answer() {
    let router = guarded();
    let origin = ("origin", "https://app.example");
    let asked =
        ask(&router, &Method::OPTIONS, "/v1/sessions", &[origin, ("access-control-request-method", "GET")])
            .await;
    assert_eq!(asked.status(), StatusCode::NO_CONTENT);
    assert_eq!(asked.headers()["access-control-allow-origin"], "https://app.example");
    let read = ask(&router, &Method::GET, "/v1/sessions", &[origin, ("authorization", "Bearer good")]).await;
    assert_eq!(read.headers()["access-control-allow-origin"], "https://app.example");
    let plain = ask(&router, &Method::GET, "/v1/sessions", &[("authorization", "Bearer good")]).await;
    assert!(!plain.headers().contains_key("access-control-allow-origin"));
}

//! The table of P14, P15 and P19: every route of every face, with and without the headers that grant access.
//!
//! The handlers are replaced by one that always succeeds, so that an answer other than 200 can only come from the
//! check.

use std::path::Path;
use std::sync::Mutex;

use axum::routing::any;
use http::{Method, Request, StatusCode};
use omniglot_schema::TokenInfo;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use super::*;

const ENDED_SECRET: &str = "an-ended-token";

/// A token for each scope, whose secret is the name of the scope.
#[derive(Default)]
struct Scopes {
    revoked: CancellationToken,
    calls: Mutex<Vec<AuditCall>>,
}

impl NamedTokens for Scopes {
    fn find(&self, secret: &str) -> NamedToken {
        if secret == ENDED_SECRET {
            return NamedToken::Ended;
        }
        let Some(scope) = Scope::ALL.into_iter().find(|scope| scope.as_str() == secret) else {
            return NamedToken::Unknown;
        };
        let info = TokenInfo {
            id: format!("tok_{secret}"),
            name: format!("a {secret}"),
            scope,
            sessions: None,
            created_at: 0,
            expires_at: None,
            revoked_at: None,
        };
        NamedToken::Valid(Box::new(Caller::of_token(info, self.revoked.clone(), CancellationToken::new())))
    }

    fn record_call(&self, call: AuditCall) {
        self.calls.lock().unwrap().push(call);
    }
}

fn config(bound: &str) -> (ServerConfig, Listen) {
    let addr = Listen::parse(bound, Path::new("/")).unwrap();
    let mut config = ServerConfig::new(addr.clone());
    config.token = Some(Token::new("good"));
    config.token_hint = "it is in DATA/token".into();
    config.allow_hosts = vec!["box.example".parse().unwrap()];
    config.allow_origins = vec!["https://app.example/".parse().unwrap()];
    (config, addr)
}

fn access(bound: &str) -> Access {
    let (config, addr) = config(bound);
    with_tokens(&config, &addr, Arc::new(Scopes::default()))
}

fn with_tokens(config: &ServerConfig, addr: &Listen, tokens: Arc<Scopes>) -> Access {
    Access::new(config, addr, crate::faces::ACCESS, crate::faces::needs, tokens)
}

/// The scope, method and path of every route; a test of the table holds it against the routers.
fn routes() -> Vec<(Option<Scope>, Method, String)> {
    crate::faces::all_routes()
        .map(|(scope, method, path)| (scope, method, path.replace(['{', '}'], "")))
        .collect()
}

fn guarded() -> Router {
    access("127.0.0.1:2468").guard(Router::new().fallback(any(|| async { "yes" })))
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
    request.extensions_mut().insert(peer.parse().map_or(PeerAddr::Socket, PeerAddr::Ip));
    router.clone().oneshot(request).await.unwrap()
}

#[tokio::test]
async fn every_route_but_health_readyz_the_screen_and_answer_links_wants_the_token() {
    let router = guarded();
    let mut routes = routes();
    assert!(routes.len() > 80, "all faces");
    let open: Vec<_> =
        routes.iter().filter(|(scope, ..)| scope.is_none()).map(|(.., path)| path.as_str()).collect();
    let links = ["/answer/secret", "/answer/secret"];
    assert_eq!(open, [&["/v1/health", "/readyz", "/ui", "/ui/", "/ui/file"][..], &links].concat());
    routes.push((Some(Scope::Admin), Method::GET, "/no/such/route".into()));
    for (scope, method, path) in routes {
        let refused = if scope.is_none() { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
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
async fn only_the_terminal_of_a_process_takes_its_token_in_the_query() {
    let router = guarded();
    for (scope, method, path) in routes() {
        let is_terminal = path == "/v1/processes/process_id/terminal/ws";
        let expected = if is_terminal || scope.is_none() { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
        let right = ask(&router, &method, &format!("{path}?access_token=good"), &[]).await.status();
        assert_eq!(right, expected, "{method} {path}");
        let expected = if scope.is_none() { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
        let wrong = ask(&router, &method, &format!("{path}?access_token=bad"), &[]).await.status();
        assert_eq!(wrong, expected, "{method} {path}");
    }
}

#[tokio::test]
async fn every_route_is_served_to_the_scopes_that_allow_it_and_to_no_other() {
    let router = guarded();
    for (needed, method, path) in routes() {
        for scope in Scope::ALL {
            let bearer = format!("Bearer {scope}");
            let response = ask(&router, &method, &path, &[("authorization", &bearer)]).await;
            let allowed = needed.is_none_or(|needed| scope.allows(needed));
            let expected = if allowed { StatusCode::OK } else { StatusCode::FORBIDDEN };
            assert_eq!(response.status(), expected, "{method} {path} with {scope}");
            if let (false, Some(needed)) = (allowed, needed) {
                let body = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
                let told = format!("needs the scope `{needed}`");
                assert!(String::from_utf8_lossy(&body).contains(&told), "{method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn a_route_that_is_not_in_the_table_is_served_to_no_lesser_token() {
    let router = guarded();
    for path in ["/v2/sessions", "/v1/sess%69ons", "/opencode/agents/a/new", "/metrics"] {
        for scope in Scope::ALL {
            let bearer = format!("Bearer {scope}");
            let status = ask(&router, &Method::POST, path, &[("authorization", &bearer)]).await.status();
            let expected = if scope == Scope::Admin { StatusCode::OK } else { StatusCode::NOT_FOUND };
            assert_eq!(status, expected, "{path} with {scope}");
        }
    }
}

#[tokio::test]
async fn every_call_that_changes_something_is_recorded_once_with_its_author_and_outcome() {
    let (config, addr) = config("127.0.0.1:2468");
    let tokens = Arc::new(Scopes::default());
    let access = with_tokens(&config, &addr, tokens.clone());
    let router = access.guard(Router::new().fallback(any(|| async { "yes" })));
    for (needed, method, path) in routes() {
        for (secret, who) in [("good", "admin"), ("drive", "a drive"), ("read", "a read")] {
            let bearer = format!("Bearer {secret}");
            let status = ask(&router, &method, &path, &[("authorization", &bearer)]).await.status();
            let recorded = std::mem::take(&mut *tokens.calls.lock().unwrap());
            // The messages of ACP are recorded by its face, each by its own name; answers by link by their page, without
            // the secret in their path.
            let by_itself = ["/v1/acp/server_id", "/v1/acp", "/answer/secret"].contains(&path.as_str());
            let expected = method != Method::GET && !by_itself
                || method == Method::DELETE
                || path.ends_with("/terminal/ws");
            assert_eq!(recorded.len(), usize::from(expected), "{method} {path} {needed:?}");
            if let Some(call) = recorded.first() {
                assert_eq!((call.who.as_str(), call.outcome.as_str()), (who, status.as_str()));
                assert_eq!(call.what, format!("{method} {path}"));
                assert_eq!(call.from.as_deref(), Some("127.0.0.1"));
            }
        }
    }
    ask(&router, &Method::POST, "/v1/tokens", &[("authorization", "Bearer wrong")]).await;
    assert!(tokens.calls.lock().unwrap().is_empty(), "strangers do not fill the audit");
}

#[tokio::test]
async fn a_call_whose_client_hangs_up_is_recorded() {
    let (config, addr) = config("127.0.0.1:2468");
    let tokens = Arc::new(Scopes::default());
    let waits = Router::new().fallback(any(std::future::pending::<()>));
    let router = with_tokens(&config, &addr, tokens.clone()).guard(waits);
    let call = ask(&router, &Method::POST, "/v1/tokens", &[("authorization", "Bearer good")]);
    assert!(futures_util::FutureExt::now_or_never(call).is_none());
    assert_eq!(tokens.calls.lock().unwrap()[0].outcome, "disconnected");
}

#[tokio::test(start_paused = true)]
async fn a_stream_and_a_call_end_with_their_token() {
    let (config, addr) = config("127.0.0.1:2468");
    let tokens = Arc::new(Scopes::default());
    let endless =
        || async { crate::http::event_stream::response::<std::io::Error>(futures_util::stream::pending()) };
    let streams = Router::new().route("/v1/sessions", any(endless)).fallback(any(std::future::pending::<()>));
    let router = with_tokens(&config, &addr, tokens.clone()).guard(streams);
    let headers = [("authorization", "Bearer read")];
    let stream = ask(&router, &Method::GET, "/v1/sessions", &headers).await.into_body();
    let own =
        ask(&router, &Method::GET, "/v1/sessions", &[("authorization", "Bearer good")]).await.into_body();
    tokens.revoked.cancel();
    assert!(axum::body::to_bytes(stream, 1).await.unwrap().is_empty());
    assert!(futures_util::FutureExt::now_or_never(axum::body::to_bytes(own, 1)).is_none(), "another token's");
    let began = tokio::time::Instant::now();
    let held = ask(&router, &Method::GET, "/v1/agents", &headers).await;
    assert_eq!(held.status(), StatusCode::UNAUTHORIZED);
    assert!(began.elapsed() < Duration::from_secs(1));
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
    for (_, method, path) in routes() {
        for wrong in [("host", "evil.example"), ("origin", "https://evil.example"), ("origin", "null")] {
            let response = ask(&router, &method, &path, &[("authorization", "Bearer good"), wrong]).await;
            // The page of a link sends no referrer, and so its form has no origin; its address is the secret.
            let by_link = path.starts_with("/answer/") && wrong.0 == "origin";
            let expected = if by_link { StatusCode::OK } else { StatusCode::FORBIDDEN };
            assert_eq!(response.status(), expected, "{method} {path} with {wrong:?}");
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

/// D15: what a proxy in front of the daemon understands otherwise than the daemon does.
#[test]
fn a_request_names_one_host_and_no_user() {
    let access = access("127.0.0.1:2468");
    let status = |uri: &'static str, hosts: &[&'static str]| {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_static(host));
        }
        access.host(&headers, &Uri::from_static(uri)).map_err(|problem| problem.details().status)
    };
    assert!(status("/", &["localhost"]).is_ok());
    assert!(status("http://localhost:2468/", &["localhost:2468"]).is_ok());
    assert!(status("http://localhost:2468/", &[]).is_ok());
    assert_eq!(status("/", &["localhost", "localhost"]), Err(400));
    assert_eq!(status("/", &["localhost", "evil.example"]), Err(400));
    assert_eq!(status("/", &["evil.example@localhost"]), Err(400));
    assert_eq!(status("http://evil.example/", &["localhost"]), Err(403));
    assert_eq!(status("http://localhost/", &["evil.example"]), Err(403));
    assert_eq!(status("http://user@localhost/", &["localhost"]), Err(400));
    assert_eq!(status("/", &[]), Err(403));
}

#[tokio::test]
async fn an_ended_token_is_refused_also_where_the_daemon_has_it_as_its_own() {
    let (mut config, addr) = config("127.0.0.1:2468");
    config.token = Some(Token::new(ENDED_SECRET));
    let access = with_tokens(&config, &addr, Arc::new(Scopes::default()));
    let router = access.guard(Router::new().fallback(any(|| async { "yes" })));
    let shown = format!("Bearer {ENDED_SECRET}");
    let response = ask(&router, &Method::GET, "/v1/sessions", &[("authorization", &shown)]).await;
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
}

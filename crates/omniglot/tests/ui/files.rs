//! The files of the screen over HTTP: who gets them, in which form, and that nobody gets anything else.

use omniglot_testkit::daemon::{Daemon, Setup};
use reqwest::{Response, StatusCode};

use crate::OMNIGLOT;

async fn get(daemon: &Daemon, path: &str, headers: &[(&str, &str)]) -> Response {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let request = client.get(format!("{}{path}", daemon.url));
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).send().await.unwrap()
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

/// Returns the names of the files that the page loads.
async fn loaded(daemon: &Daemon) -> Vec<String> {
    let page = get(daemon, "/ui/", &[]).await.text().await.unwrap();
    let names = page.split(['"', '\'']).filter(|part| part.starts_with("app-")).map(str::to_owned);
    names.collect()
}

#[tokio::test]
async fn the_files_need_no_token_and_data_always_does() {
    let daemon = Setup::new(OMNIGLOT).start();
    let page = get(&daemon, "/ui/", &[]).await;
    assert_eq!((page.status(), header(&page, "cache-control")), (StatusCode::OK, "no-cache"));
    assert_eq!(header(&page, "omniglot-scope"), "");
    let names = loaded(&daemon).await;
    assert_eq!(names.len(), 2, "{names:?}");
    for name in names {
        let file = get(&daemon, &format!("/ui/{name}"), &[]).await;
        assert_eq!(file.status(), StatusCode::OK, "{name}");
        assert!(header(&file, "cache-control").contains("immutable"), "{name}");
    }
    for path in
        ["/v1/sessions", "/v1/requests", "/v1/events/sse", "/v1/agents", "/v1/daemon", "/ui/v1/sessions"]
    {
        assert_eq!(get(&daemon, path, &[]).await.status(), StatusCode::UNAUTHORIZED, "{path}");
    }
    let token = format!("Bearer {}", daemon.token);
    let sessions = get(&daemon, "/v1/sessions", &[("authorization", &token)]).await;
    assert_eq!(header(&sessions, "omniglot-scope"), "admin");
}

#[tokio::test]
async fn other_names_are_not_found_whatever_they_spell() {
    let daemon = Setup::new(OMNIGLOT).start();
    let bad =
        ["/ui/table.rs", "/ui/index.html.gz", "/ui/..%2fv1%2fsessions", "/ui/index.html%00", "/ui/App.js"];
    for path in bad {
        let answer = get(&daemon, path, &[]).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
        assert_eq!(header(&answer, "content-type"), "application/problem+json", "{path}");
    }
    let moved = get(&daemon, "/ui", &[]).await;
    assert_eq!((moved.status(), header(&moved, "location")), (StatusCode::TEMPORARY_REDIRECT, "ui/"));
}

#[tokio::test]
async fn the_policy_is_strict_and_the_checks_of_host_and_origin_stay() {
    let daemon = Setup::new(OMNIGLOT).start();
    for path in ["/ui", "/ui/", "/ui/nothing"] {
        let answer = get(&daemon, path, &[]).await;
        let policy = header(&answer, "content-security-policy");
        for part in ["default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "base-uri 'none'"]
        {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert_eq!(header(&answer, "x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header(&answer, "referrer-policy"), "no-referrer", "{path}");
    }
    let elsewhere = get(&daemon, "/ui/", &[("host", "evil.example")]).await;
    assert_eq!(elsewhere.status(), StatusCode::FORBIDDEN);
    let framed = get(&daemon, "/ui/", &[("origin", "https://evil.example")]).await;
    assert_eq!(framed.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_client_that_takes_no_compression_gets_the_same_bytes() {
    let daemon = Setup::new(OMNIGLOT).start();
    let name = loaded(&daemon).await.remove(0);
    let path = format!("/ui/{name}");
    let plain = get(&daemon, &path, &[]).await;
    assert_eq!(header(&plain, "content-encoding"), "");
    let plain = plain.bytes().await.unwrap();
    for (encodings, chosen) in [("gzip", "gzip"), ("gzip, br", "br"), ("identity", "")] {
        let answer = get(&daemon, &path, &[("accept-encoding", encodings)]).await;
        assert_eq!(
            (header(&answer, "content-encoding"), header(&answer, "vary")),
            (chosen, "accept-encoding")
        );
        let bytes = answer.bytes().await.unwrap();
        assert_eq!(bytes.len() < plain.len(), !chosen.is_empty(), "{encodings}");
    }
}

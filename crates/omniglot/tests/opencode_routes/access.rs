//! Access to the face, and its refusals.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;

use super::support::{Face, daemon};

#[tokio::test]
async fn the_token_is_the_password_of_any_user() {
    let daemon = daemon();
    let http = reqwest::Client::new();
    let url = format!("{}/opencode/path", daemon.url);
    let status = |request: reqwest::RequestBuilder| async { request.send().await.unwrap().status().as_u16() };
    assert_eq!(status(http.get(&url).basic_auth("anybody", Some(&daemon.token))).await, 200);
    assert_eq!(status(http.get(&url).bearer_auth(&daemon.token)).await, 200);
    let shown = STANDARD.encode(format!("x:{}", daemon.token));
    let url_with = format!("{url}?auth_token={}", shown.replace('=', "%3D").replace('+', "%2B"));
    assert_eq!(status(http.get(&url_with)).await, 200);
    let refused = http.get(&url).basic_auth("opencode", Some("wrong")).send().await.unwrap();
    assert_eq!(refused.status().as_u16(), 401);
    assert!(refused.headers()["www-authenticate"].to_str().unwrap().starts_with("Basic"));
    assert_eq!(status(http.get(&url)).await, 401);
    // The password opens this face alone.
    let rest = format!("{}/v1/agents", daemon.url);
    assert_eq!(status(http.get(&rest).basic_auth("opencode", Some(&daemon.token))).await, 401);
}

#[tokio::test]
async fn what_is_not_served_is_a_problem_in_json() {
    let daemon = daemon();
    let face = Face::of(&daemon);
    for (method, path) in [
        (Method::GET, "/nonsense"),
        (Method::GET, "/api/model"),
        (Method::GET, ""),
        (Method::POST, "/session/ses_x/share"),
        (Method::GET, "/session/ses_none"),
        (Method::GET, "/session/nonsense"),
        (Method::POST, "/permission/per_x/reply"),
    ] {
        let (status, message) = face.refused(method, path, None).await;
        assert_eq!(status, 404, "{path}: {message}");
    }
    assert_eq!(face.refused(Method::DELETE, "/config", None).await.0, 405);
}

/// D15: OpenCode's clients show `data.message` and nothing else.
#[tokio::test]
async fn a_query_or_path_that_does_not_fit_is_refused_in_the_form_of_this_face() {
    let daemon = daemon();
    for path in [
        "/session?limit=many",
        "/session/ses_x/message?limit=many",
        "/find/file?limit=many",
        "/permission/%ff/reply",
    ] {
        let request = reqwest::Client::new().request(
            if path.ends_with("reply") { reqwest::Method::POST } else { reqwest::Method::GET },
            format!("{}/opencode{path}", daemon.url),
        );
        let answer = request.bearer_auth(&daemon.token).send().await.unwrap();
        assert_eq!(answer.status(), 400, "{path}");
        let told: serde_json::Value = answer.json().await.unwrap();
        assert!(
            told["data"]["message"].as_str().is_some_and(|message| !message.is_empty()),
            "{path}: {told}"
        );
    }
}

//! Named tokens over a real daemon: what each sees, changes and is refused, in every face, and how it ends.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "tokens/audit.rs"]
mod audit;
#[path = "tokens/authors.rs"]
mod authors;
#[path = "tokens/ending.rs"]
mod ending;
#[path = "tokens/limited.rs"]
mod limited;
#[path = "tokens/routes.rs"]
mod routes;
#[path = "tokens/scopes.rs"]
mod scopes;

use omniglot_client::{Client, ClientError};
use omniglot_schema::{
    CreateSessionRequest, CreateTokenRequest, CreatedToken, EventData, Label, ProblemDetails, Scope,
    UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::SessionDriver;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

fn wanted(name: &str, scope: Scope) -> CreateTokenRequest {
    CreateTokenRequest { name: name.into(), scope, sessions: None, expires_in_seconds: None }
}

/// A token that sees sessions with the label `app=x`.
fn limited_to_x(scope: Scope) -> CreateTokenRequest {
    let sessions = Some(Label::new("app", "x").unwrap());
    CreateTokenRequest { sessions, ..wanted("app-x", scope) }
}

/// Somebody who has a token of this daemon.
struct Holder {
    token: CreatedToken,
    client: Client,
    url: String,
}

impl Holder {
    async fn of(daemon: &Daemon, request: &CreateTokenRequest) -> Self {
        let token = daemon.client.create_token(request).await.expect("a token");
        let client = Client::new(&daemon.url, Some(token.secret.clone())).unwrap();
        Self { token, client, url: daemon.url.clone() }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = reqwest::Client::new().request(method, format!("{}{path}", self.url));
        match path.starts_with("/opencode") {
            true => request.basic_auth("opencode", Some(&self.token.secret)),
            false => request.bearer_auth(&self.token.secret),
        }
    }

    async fn status(&self, method: Method, path: &str) -> u16 {
        self.request(method, path).json(&json!({})).send().await.unwrap().status().as_u16()
    }

    async fn get(&self, path: &str) -> Value {
        let response = self.request(Method::GET, path).send().await.unwrap();
        assert!(response.status().is_success(), "{path}: {}", response.status());
        response.json().await.unwrap()
    }

    /// Sends one request of ACP and returns the answer.
    async fn acp(&self, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let response =
            self.request(Method::POST, "/v1/acp/c?agent=mock").json(&message).send().await.unwrap();
        assert_eq!(response.status(), 200, "{method}");
        response.json().await.unwrap()
    }
}

fn labelled(value: &str) -> CreateSessionRequest {
    let labels = [("app".to_owned(), value.to_owned())].into();
    CreateSessionRequest { labels, ..CreateSessionRequest::new("mock") }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, ClientError>, status: u16) -> ProblemDetails {
    let error = result.expect_err("a refusal");
    let problem = error.problem().unwrap_or_else(|| panic!("{error}")).clone();
    assert_eq!(problem.status, status, "{problem:?}");
    problem
}

/// The session `mine` with the label and the session `other` without.
async fn two_sessions(daemon: &Daemon) -> [SessionDriver; 2] {
    let mine = SessionDriver::create_with(&daemon.client, "mine", &labelled("x")).await;
    let other = SessionDriver::create_with(&daemon.client, "other", &labelled("y")).await;
    [mine, other]
}

/// Lets the agent ask for a permission, and returns the permission.
async fn ask_permission(session: &SessionDriver) -> String {
    let before = session.client.detail(&session.id).await.unwrap().info.event_count;
    session.post("[[permission]]").await;
    let asked =
        session.wait_for(before, |event| event.kind() == UniversalEventType::PermissionRequested).await;
    match asked.data {
        EventData::PermissionRequested(asked) => asked.permission_id.0,
        other => panic!("{other:?}"),
    }
}

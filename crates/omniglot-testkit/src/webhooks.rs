//! A receiver of webhooks for tests: keeps every call, and answers as its test wants.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;
use tokio::sync::watch;

/// It ends with the runtime of its test.
pub struct Receiver {
    pub url: String,
    calls: watch::Receiver<Vec<Call>>,
    inner: Arc<Inner>,
}

/// One call, as it came.
#[derive(Debug, Clone)]
pub struct Call {
    pub path: String,
    pub headers: HeaderMap,
    pub body: String,
}

/// An answer to a call.
#[derive(Debug, Clone)]
pub enum Answer {
    Status(u16),
    Redirect(String),
    /// The call is taken and never answered.
    Hang,
}

struct Inner {
    calls: watch::Sender<Vec<Call>>,
    answers: Mutex<VecDeque<Answer>>,
}

impl Receiver {
    /// Starts one that gives these answers first, and 204 from then on.
    pub async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/hook", listener.local_addr().expect("its address"));
        let (sender, calls) = watch::channel(vec![]);
        let inner = Arc::new(Inner { calls: sender, answers: Mutex::new(answers.into_iter().collect()) });
        let router = Router::new().fallback(take).with_state(inner.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, calls, inner }
    }

    /// Gives this answer to the call that follows those that have one.
    pub fn answer(&self, answer: Answer) {
        self.inner.answers.lock().unwrap_or_else(PoisonError::into_inner).push_back(answer);
    }

    /// Waits until there were this many calls, and returns all.
    pub async fn calls(&mut self, count: usize) -> Vec<Call> {
        let enough = self.calls.wait_for(|calls| calls.len() >= count).await;
        enough.expect("the receiver is there").clone()
    }

    /// Waits for a call of this type, and returns all until then.
    pub async fn until(&mut self, kind: &str) -> Vec<Call> {
        let is_wanted = |call: &Call| call.json().get("type").and_then(Value::as_str) == Some(kind);
        let found = self.calls.wait_for(|calls| calls.iter().any(is_wanted)).await;
        found.expect("the receiver is there").clone()
    }

    /// Returns the calls until now.
    pub fn now(&self) -> Vec<Call> {
        self.calls.borrow().clone()
    }
}

impl Call {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("a body in JSON")
    }

    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).unwrap_or_else(|| panic!("no header {name}: {:?}", self.headers));
        value.to_str().expect("a header in ASCII")
    }

    pub fn id(&self) -> &str {
        self.header("webhook-id")
    }
}

async fn take(State(inner): State<Arc<Inner>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let body = String::from_utf8(body.to_vec()).expect("a body in UTF-8");
    let answer = inner.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    inner.calls.send_modify(|calls| calls.push(Call { path: uri.path().to_owned(), headers, body }));
    match answer {
        None => StatusCode::NO_CONTENT.into_response(),
        Some(Answer::Status(code)) => StatusCode::from_u16(code).expect("a status").into_response(),
        Some(Answer::Redirect(to)) => (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, to)]).into_response(),
        Some(Answer::Hang) => std::future::pending().await,
    }
}

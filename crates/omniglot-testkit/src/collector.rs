//! A collector of OpenTelemetry for tests: keeps what it is sent.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::Value;
use tokio::sync::watch;

/// It ends with the runtime of its test.
pub struct Collector {
    pub url: String,
    requests: watch::Receiver<Vec<Value>>,
}

struct Inner {
    requests: watch::Sender<Vec<Value>>,
    /// The answers before it takes anything, last first.
    refusals: Mutex<Vec<StatusCode>>,
}

impl Collector {
    /// Starts one that answers with these codes first.
    pub async fn start(refusals: &[u16]) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let (sender, requests) = watch::channel(vec![]);
        let refusals = refusals.iter().rev().filter_map(|code| StatusCode::from_u16(*code).ok()).collect();
        let inner = Arc::new(Inner { requests: sender, refusals: Mutex::new(refusals) });
        let router = Router::new().route("/v1/traces", post(take)).with_state(inner);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, requests }
    }

    /// Waits until this number of requests was taken.
    pub async fn requests(&mut self, count: usize) -> Vec<Value> {
        let enough = self.requests.wait_for(|requests| requests.len() >= count).await;
        enough.expect("the collector is there").clone()
    }
}

async fn take(State(inner): State<Arc<Inner>>, Json(request): Json<Value>) -> (StatusCode, Json<Value>) {
    let refusal = inner.refusals.lock().unwrap_or_else(PoisonError::into_inner).pop();
    if refusal.is_none() {
        inner.requests.send_modify(|requests| requests.push(request));
    }
    (refusal.unwrap_or(StatusCode::OK), Json(serde_json::json!({})))
}

/// Returns the spans of a request.
pub fn spans(request: &Value) -> Vec<Value> {
    let spans = request.pointer("/resourceSpans/0/scopeSpans/0/spans").and_then(Value::as_array);
    spans.cloned().unwrap_or_default()
}

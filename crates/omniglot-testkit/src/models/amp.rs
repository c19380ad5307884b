//! A stand-in for Amp's server. Amp's agent loop runs there, not in its CLI: the CLI opens a WebSocket for a
//! thread, offers its tools, runs the calls that it is given, and prints the messages of the thread.
//!
//! So the stand-in plays the loop (`amp/turn.rs`), and each call that the loop makes of its model takes the next
//! reply of the script. A thread keeps its messages (`amp/thread.rs`) for a later process that continues it.
//! `amp/connection.rs` speaks the WebSocket; this file answers the plain requests, which are all side requests.
//! Amp shows no partial messages: the blocks of a reply up to a gate are a message of their own.

mod connection;
mod read;
mod thread;
mod turn;
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Query, State, WebSocketUpgrade};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};

use self::connection::Connection;
use self::thread::Thread;
use super::play::Play;
use super::reply::{Body, Failure};
use super::request::{Purpose, Request};

pub(super) fn routes(play: Arc<Play>) -> Router {
    let amp = Amp { play, threads: Mutex::default(), ids: AtomicU64::new(1) };
    Router::new()
        .route("/actors/gateway/threadActor/websocket/", get(connect))
        .fallback(answer)
        .with_state(Arc::new(amp))
}

struct Amp {
    play: Arc<Play>,
    threads: Mutex<BTreeMap<String, Arc<Thread>>>,
    ids: AtomicU64,
}

async fn connect(
    State(amp): State<Arc<Amp>>,
    Query(query): Query<HashMap<String, String>>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let Some(thread) = query.get("rvt-key").and_then(|id| amp.thread(id)) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    upgrade.protocols(["rivet"]).on_upgrade(move |socket| Connection::serve(amp, thread, socket))
}

async fn answer(State(amp): State<Arc<Amp>>, method: Method, uri: Uri, body: Bytes) -> Response {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let mut request = Request::unread(method.as_str(), path, body);
    let (status, value) = amp.respond(&mut request);
    amp.play.record(request);
    let status = StatusCode::from_u16(status).expect("a status");
    (status, [("content-type", "application/json")], value.to_string()).into_response()
}

impl Amp {
    /// Answers a request, and sets its purpose.
    fn respond(&self, request: &mut Request) -> (u16, Value) {
        if let Some(Body::Failure(failure)) = self.play.side(request).map(|reply| reply.body) {
            request.purpose = Purpose::Side;
            return wire::refusal(&request.path, failure);
        }
        let Some(value) = self.value(&request.path, &request.body) else {
            return wire::refusal(&request.path, Failure::BadRequest);
        };
        request.purpose = Purpose::Side;
        (200, value)
    }

    fn value(&self, path: &str, body: &Value) -> Option<Value> {
        match path.split('?').next().unwrap_or_default() {
            "/api/internal" => self.internal(body["method"].as_str()?, &body["params"]),
            "/api/thread-actors" => Some(self.open(body)),
            "/api/telemetry" | "/actors/gateway/threadActor/request/import" => Some(json!({"ok": true})),
            path if path.starts_with("/api/thread-actors/") => Some(json!({"ok": true})),
            _ => None,
        }
    }

    /// Answers one of Amp's methods; `None` is for methods that the stand-in does not have.
    fn internal(&self, method: &str, params: &Value) -> Option<Value> {
        let thread = params["thread"].as_str().and_then(|id| self.thread(id));
        let result = match method {
            "getUserInfo" => wire::user(),
            "loadPlugins" => json!([]),
            "loadSkills" => json!({"sources": []}),
            "getThreadProject" => json!({"project": null}),
            "getThreadTail" => match thread {
                Some(thread) => thread.tail(),
                None => return Some(wire::unknown_thread()),
            },
            "archiveThread" => {
                thread?.archive(params["archived"].as_bool()?);
                json!({})
            }
            _ => return None,
        };
        Some(json!({"ok": true, "result": result}))
    }

    /// Opens a thread, a new one if the request names none.
    fn open(&self, body: &Value) -> Value {
        let thread = match body["threadId"].as_str() {
            Some(id) => self.thread(id),
            None => Some(self.create()),
        };
        thread.map_or_else(wire::unknown_thread, |thread| thread.opened(&body["agentMode"]))
    }

    fn create(&self) -> Arc<Thread> {
        let id = format!("T-00000000-0000-4000-8000-{:012}", self.number());
        let thread = Arc::new(Thread::new(id.clone()));
        self.threads.lock().expect("nobody panics with the threads").insert(id, thread.clone());
        thread
    }

    fn thread(&self, id: &str) -> Option<Arc<Thread>> {
        self.threads.lock().expect("nobody panics with the threads").get(id).cloned()
    }

    /// Returns a new id. The CLI drops frames whose ids have another form.
    fn id(&self, prefix: &str) -> String {
        format!("{prefix}-{:022}", self.number())
    }

    fn number(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }
}

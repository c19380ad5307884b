//! One WebSocket of the CLI: JSON-RPC in both directions. The CLI opens two per process, one to run tools and one
//! to watch; the one that sends a message gets what its turn says.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::extract::ws::{Message, WebSocket};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;

use super::thread::Thread;
use super::turn::{self, Call};
use super::{Amp, wire};
use crate::models::request::{Purpose, Request};

pub(super) struct Connection {
    pub(super) amp: Arc<Amp>,
    pub(super) thread: Arc<Thread>,
    frames: mpsc::UnboundedSender<Frame>,
    tools: watch::Sender<Tools>,
    state: Mutex<State>,
}

enum Frame {
    Text(String),
    Cut,
}

/// The tools that the CLI has offered so far.
#[derive(Default)]
struct Tools {
    names: Vec<String>,
    complete: bool,
}

#[derive(Default)]
struct State {
    turn: Option<AbortHandle>,
    /// The messages that came during the turn.
    queue: VecDeque<Value>,
    /// The calls that the CLI runs.
    leases: HashMap<String, oneshot::Sender<Value>>,
}

#[derive(Deserialize)]
struct Incoming {
    id: Option<Value>,
    method: String,
    #[serde(default)]
    params: Value,
}

impl Connection {
    pub(super) async fn serve(amp: Arc<Amp>, thread: Arc<Thread>, mut socket: WebSocket) {
        let (frames, mut outgoing) = mpsc::unbounded_channel();
        let (tools, state) = (watch::Sender::default(), Mutex::default());
        let connection = Arc::new(Self { amp, thread, frames, tools, state });
        // A connection that only watches is ready at its first frame.
        connection.agent_state(connection.thread.state(), None, wire::DEFAULT_MODE);
        loop {
            tokio::select! {
                biased;
                Some(frame) = outgoing.recv() => match frame {
                    Frame::Text(text) => if socket.send(Message::text(text)).await.is_err() { break },
                    Frame::Cut => break,
                },
                incoming = socket.recv() => match incoming {
                    Some(Ok(Message::Text(text))) => connection.receive(&text),
                    Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                    Some(Ok(_)) => {}
                },
            }
        }
        connection.end_turn();
    }

    fn receive(self: &Arc<Self>, text: &str) {
        // The CLI keeps its connection alive with a text of its own.
        if text == "ping" {
            return self.send("pong".to_owned());
        }
        let Ok(incoming) = serde_json::from_str::<Incoming>(text) else { return };
        if let Some(id) = incoming.id {
            let result = match incoming.method.as_str() {
                "client_resume" => json!({"replayThroughSeq": self.thread.seq()}),
                _ => json!({}),
            };
            self.send(json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
        }
        self.take(&incoming.method, incoming.params);
    }

    fn take(self: &Arc<Self>, method: &str, params: Value) {
        match method {
            "executor_connect" => self.accept(&params),
            "executor_tools_register" => self.offer(&params),
            "executor_tools_unregister" => self.withdraw(&params),
            "executor_tools_bootstrap_complete" => self.tools.send_modify(|tools| tools.complete = true),
            "client_resume" => self.replay(&params),
            "client_append_user_msg" => self.append(params),
            "client_cancel" => self.cancel(),
            "executor_tool_result" => self.finish(&params),
            // The rest describes the machine of the CLI, or confirms.
            _ => {}
        }
    }

    fn accept(&self, params: &Value) {
        let executor = &params["clientId"];
        self.event(
            "executor_connected",
            json!({"executorId": executor, "registeredToolCount": 0, "guidanceInventory": []}),
        );
    }

    fn offer(&self, params: &Value) {
        let offered = params["tools"].as_array().into_iter().flatten();
        let names: Vec<_> = offered.filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect();
        self.tools.send_modify(|tools| {
            tools.names.retain(|name| !names.contains(name));
            tools.names.extend(names);
        });
    }

    fn withdraw(&self, params: &Value) {
        let gone: Vec<_> = params["toolNames"].as_array().into_iter().flatten().collect();
        self.tools.send_modify(|tools| tools.names.retain(|name| !gone.iter().any(|gone| *gone == name)));
    }

    /// Waits until the CLI has offered its tools, and returns their names.
    pub(super) async fn tools(&self) -> Vec<String> {
        let mut tools = self.tools.subscribe();
        tools.wait_for(|tools| tools.complete).await.expect("this holds the sender").names.clone()
    }

    /// Repeats what the client has missed while it was not connected.
    fn replay(&self, params: &Value) {
        for event in self.thread.since(params["version"].as_u64().unwrap_or_default()) {
            self.event("message_added", event);
        }
        if let Some(failure) = self.thread.take_failure() {
            self.fail(failure);
        }
    }

    fn append(self: &Arc<Self>, message: Value) {
        let mut state = self.state();
        if state.turn.is_none() {
            state.turn = Some(tokio::spawn(turn::run(self.clone(), message)).abort_handle());
            return;
        }
        let mut request = Request::unread("QUEUE", &self.thread.id, message.clone());
        request.purpose = Purpose::Side;
        let queued =
            json!({"role": "user", "messageId": message["messageId"], "content": message["content"]});
        let entry = json!({"steer": message["steer"] == true, "queuedMessage": queued});
        state.queue.push_back(message);
        drop(state);
        self.amp.play.record(request);
        self.event("queued_message_added", json!({"seq": self.thread.next_seq(), "message": entry}));
    }

    /// Takes a message that is to be heard before the turn goes on.
    pub(super) fn take_steering(&self) -> Option<Value> {
        let mut state = self.state();
        let at = state.queue.iter().position(|message| message["steer"] == true)?;
        let message = state.queue.remove(at)?;
        drop(state);
        Some(self.dequeued(message))
    }

    /// Takes the message of the next turn; without one, no turn is under way any more.
    pub(super) fn take_next(&self) -> Option<Value> {
        let mut state = self.state();
        let Some(message) = state.queue.pop_front() else {
            state.turn = None;
            return None;
        };
        drop(state);
        Some(self.dequeued(message))
    }

    fn dequeued(&self, message: Value) -> Value {
        let params = json!({"queuedMessageId": message["messageId"], "seq": self.thread.next_seq()});
        self.event("queued_message_dequeued", params);
        message
    }

    /// Has the CLI run a call, and returns how it went.
    pub(super) async fn lease(&self, call: &Call, message: &str, parent: Option<&str>) -> Value {
        let (done, run) = oneshot::channel();
        self.state().leases.insert(call.id.clone(), done);
        let mut lease = json!({
            "toolCallId": call.id, "toolName": call.name, "args": call.args, "messageId": message,
        });
        if let Some(parent) = parent {
            lease["parentToolCallId"] = parent.into();
        }
        self.event("tool_lease", lease);
        run.await.unwrap_or_else(|_| wire::cancelled())
    }

    fn finish(&self, params: &Value) {
        let call = params["toolCallId"].as_str().unwrap_or_default();
        let lease = self.state().leases.remove(call);
        self.event("executor_tool_result_ack", json!({"toolCallId": call}));
        if let Some(lease) = lease {
            let _ = lease.send(params["run"].clone());
        }
    }

    fn cancel(&self) {
        if self.end_turn() {
            self.event("cancelled", json!({"seq": self.thread.seq()}));
            self.agent_state("idle", None, wire::DEFAULT_MODE);
        }
    }

    /// Ends the turn where it is, and closes its open calls in the thread. Tells whether there was one.
    fn end_turn(&self) -> bool {
        let State { turn, .. } = std::mem::take(&mut *self.state());
        let Some(turn) = turn else { return false };
        turn.abort();
        let last = self.thread.messages(None).pop().unwrap_or_default();
        let calls = wire::calls(&last);
        let results: Vec<_> = calls.iter().map(|call| wire::result(call, wire::cancelled())).collect();
        if !results.is_empty() {
            self.add(None, wire::user_message(&self.thread.id, &self.amp.id("M"), results.into()));
        }
        true
    }

    /// Stores a message and sends it.
    pub(super) fn add(&self, parent: Option<&str>, message: Value) {
        self.event("message_added", self.thread.add(parent, message));
    }

    pub(super) fn agent_state(&self, state: &str, message: Option<&str>, mode: &str) {
        let mut params = json!({"state": state, "agentMode": mode});
        if let Some(message) = message {
            params["messageId"] = message.into();
        }
        self.event("agent_state", params);
    }

    pub(super) fn fail(&self, failure: &str) {
        let error = json!({"message": failure});
        self.event("error_set", json!({"seq": self.thread.next_seq(), "error": error}));
    }

    /// Breaks the connection; the turn ends with it.
    pub(super) fn cut(&self) {
        self.thread.fail(wire::STALLED);
        let _ = self.frames.send(Frame::Cut);
    }

    pub(super) fn event(&self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    fn send(&self, text: String) {
        // Nobody listens any more when the process has ended.
        let _ = self.frames.send(Frame::Text(text));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with the turn in hand")
    }
}

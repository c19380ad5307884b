//! A small ACP client for the tests: writes lines, reads lines, gives the configured answers.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::path::Path;
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::mock_agent::script_file::ScriptFile;
use crate::mock_agent::store::Store;
use crate::mock_agent::{Streams, serve};

pub(super) struct Client {
    to: PipeWriter,
    from: BufReader<PipeReader>,
    errors: PipeReader,
    agent: JoinHandle<u8>,
    next_id: u64,
    /// Every byte the agent wrote, in order.
    pub(super) seen: Vec<u8>,
}

/// A finished request: the updates before its answer, and the answer.
pub(super) struct Reply {
    pub(super) updates: Vec<Value>,
    pub(super) answer: Value,
}

impl Client {
    pub(super) fn start(state_dir: Option<&Path>) -> Self {
        Self::start_with(state_dir, None)
    }

    /// Starts a client of an agent that plays a script.
    pub(super) fn start_with(state_dir: Option<&Path>, script: Option<ScriptFile>) -> Self {
        let (input, to) = std::io::pipe().unwrap();
        let (from, output) = std::io::pipe().unwrap();
        let (errors, stderr) = std::io::pipe().unwrap();
        let streams = Streams { input: Box::new(input), output: Box::new(output), errors: Box::new(stderr) };
        let store = Store::open(state_dir).unwrap();
        let agent = std::thread::spawn(move || serve(streams, store, script));
        Self { to, from: BufReader::new(from), errors, agent, next_id: 1, seen: Vec::new() }
    }

    /// Returns a client with an open session, and its id.
    pub(super) fn open(state_dir: Option<&Path>, cwd: &Path) -> (Self, String) {
        Self::start(state_dir).opened(cwd)
    }

    pub(super) fn opened(self, cwd: &Path) -> (Self, String) {
        let mut client = self;
        client.call("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }));
        let new = client.call("session/new", json!({ "cwd": cwd, "mcpServers": [] }));
        let id = new.answer["result"]["sessionId"].as_str().unwrap().to_owned();
        (client, id)
    }

    pub(super) fn write(&mut self, line: &str) {
        self.to.write_all(line.as_bytes()).unwrap();
        self.to.write_all(b"\n").unwrap();
    }

    pub(super) fn send(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        id
    }

    pub(super) fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    pub(super) fn answer(&mut self, id: &Value, result: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string());
    }

    /// Returns the next line, or `None` after the agent's last one.
    pub(super) fn line(&mut self) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        self.from.read_until(b'\n', &mut line).unwrap();
        self.seen.extend(&line);
        (!line.is_empty()).then_some(line)
    }

    pub(super) fn read(&mut self) -> Value {
        serde_json::from_slice(&self.line().expect("one more line")).unwrap()
    }

    #[track_caller]
    pub(super) fn call(&mut self, method: &str, params: Value) -> Reply {
        self.call_choosing(method, params, "allow")
    }

    /// Sends a request and reads to its answer; permission requests get the given option.
    #[track_caller]
    pub(super) fn call_choosing(&mut self, method: &str, params: Value, option: &str) -> Reply {
        let id = self.send(method, params);
        self.read_answer(id, option)
    }

    #[track_caller]
    pub(super) fn read_answer(&mut self, id: u64, option: &str) -> Reply {
        let mut updates = Vec::new();
        loop {
            let message = self.read();
            if message["method"] == "session/request_permission" {
                let choice = json!({ "outcome": { "outcome": "selected", "optionId": option } });
                self.answer(&message["id"], choice);
                updates.push(message);
            } else if message.get("method").is_none() && message["id"] == id {
                return Reply { updates, answer: message };
            } else {
                updates.push(message["params"]["update"].clone());
            }
        }
    }

    #[track_caller]
    pub(super) fn prompt(&mut self, session: &str, text: &str) -> Reply {
        self.prompt_choosing(session, text, "allow")
    }

    #[track_caller]
    pub(super) fn prompt_choosing(&mut self, session: &str, text: &str, option: &str) -> Reply {
        self.call_choosing("session/prompt", prompt_params(session, text), option)
    }

    /// Closes stdin; returns the exit code and the output to stderr.
    pub(super) fn finish(self) -> (u8, String) {
        drop(self.to);
        let code = self.agent.join().unwrap();
        let mut errors = String::new();
        let mut pipe = self.errors;
        pipe.read_to_string(&mut errors).unwrap();
        (code, errors)
    }
}

pub(super) fn prompt_params(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

impl Reply {
    pub(super) fn stop_reason(&self) -> &str {
        self.answer["result"]["stopReason"].as_str().unwrap_or("none")
    }

    pub(super) fn error_code(&self) -> i64 {
        self.answer["error"]["code"].as_i64().unwrap_or(0)
    }

    /// Returns all message texts, joined.
    pub(super) fn text(&self) -> String {
        let texts = self.kind("agent_message_chunk");
        texts.filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    pub(super) fn kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.updates.iter().filter(move |update| update["sessionUpdate"] == kind)
    }

    pub(super) fn permissions(&self) -> usize {
        self.updates.iter().filter(|update| update["method"] == "session/request_permission").count()
    }

    /// Returns the last update of a tool call, with its raw output.
    pub(super) fn last_call(&self) -> &Value {
        self.kind("tool_call_update").last().expect("a tool call")
    }
}

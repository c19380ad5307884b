//! A thread as Amp's server keeps it: its messages, and how far its clients have read.

use std::sync::{Mutex, MutexGuard};

use serde_json::{Value, json};

use super::wire;

pub(super) struct Thread {
    pub(super) id: String,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    messages: Vec<Stored>,
    /// The number of the latest event.
    seq: u64,
    archived: bool,
    /// A failure that no client has heard of.
    failure: Option<&'static str>,
}

struct Stored {
    seq: u64,
    /// The call whose subagent says it.
    parent: Option<String>,
    message: Value,
}

impl Thread {
    pub(super) fn new(id: String) -> Self {
        Self { id, log: Mutex::default() }
    }

    pub(super) fn opened(&self, mode: &Value) -> Value {
        json!({
            "threadId": self.id, "wsToken": "scripted", "ownerUserId": wire::USER,
            "threadVersion": self.log().seq, "usesThreadActors": true, "usesDtw": true,
            "executorType": "local-client", "agentMode": mode.as_str().unwrap_or(wire::DEFAULT_MODE),
        })
    }

    pub(super) fn tail(&self) -> Value {
        let messages = self.messages(None);
        let log = self.log();
        let data = json!({
            "id": self.id, "v": log.seq, "created": 1_700_000_000_000_u64,
            "agentMode": wire::DEFAULT_MODE, "archived": log.archived, "messages": [],
        });
        json!({"thread": {"data": data}, "messages": messages, "hasMoreBefore": false})
    }

    pub(super) fn archive(&self, archived: bool) {
        self.log().archived = archived;
    }

    pub(super) fn seq(&self) -> u64 {
        self.log().seq
    }

    pub(super) fn next_seq(&self) -> u64 {
        let mut log = self.log();
        log.seq += 1;
        log.seq
    }

    /// Stores a message and returns its event.
    pub(super) fn add(&self, parent: Option<&str>, message: Value) -> Value {
        let stored = Stored { seq: self.next_seq(), parent: parent.map(str::to_owned), message };
        let event = stored.event();
        self.log().messages.push(stored);
        event
    }

    /// Returns the messages of the thread, or those of the subagent of a call.
    pub(super) fn messages(&self, parent: Option<&str>) -> Vec<Value> {
        let log = self.log();
        let own = log.messages.iter().filter(|stored| stored.parent.as_deref() == parent);
        own.map(|stored| stored.message.clone()).collect()
    }

    /// Returns the events after this number.
    pub(super) fn since(&self, seq: u64) -> Vec<Value> {
        let log = self.log();
        log.messages.iter().filter(|stored| stored.seq > seq).map(Stored::event).collect()
    }

    /// Stores a failure for the next client that resumes.
    pub(super) fn fail(&self, failure: &'static str) {
        self.log().failure = Some(failure);
    }

    /// Returns the state of the agent for a client that connects: a failure of which it has to hear is not over.
    pub(super) fn state(&self) -> &'static str {
        if self.log().failure.is_some() { "working" } else { "idle" }
    }

    pub(super) fn take_failure(&self) -> Option<&'static str> {
        self.log().failure.take()
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().expect("nobody panics with the thread in hand")
    }
}

impl Stored {
    fn event(&self) -> Value {
        let mut params = json!({"message": self.message, "seq": self.seq});
        if let Some(parent) = &self.parent {
            params["parentToolUseId"] = parent.as_str().into();
        }
        params
    }
}

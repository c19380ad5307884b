//! The agent loop that Amp runs on its server: asks the model, has the CLI run the tools, and goes on until an
//! answer calls no tool. A subagent is the same loop below the call that began it.

use std::sync::Arc;

use futures_util::future::{BoxFuture, join_all};
use serde_json::{Value, json};

use super::connection::Connection;
use super::{read, wire};
use crate::models::reply::{Answer, Block, Body, Failure};
use crate::models::request::{Purpose, Request};

/// The tool that runs a subagent on the server.
const SUBAGENT: &str = "Task";

/// A call of a tool by the model.
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) args: Value,
}

/// Runs the turn of a message, then those of the messages that came meanwhile.
pub(super) async fn run(connection: Arc<Connection>, first: Value) {
    let mut next = Some(first);
    while let Some(message) = next {
        let mode = message["agentMode"].as_str().unwrap_or(wire::DEFAULT_MODE).to_owned();
        let agent = Agent { connection: &connection, parent: None, mode };
        agent.hear(&message);
        if let Err(failure) = agent.answer().await {
            connection.fail(wire::failure(failure));
        }
        next = connection.take_next();
        if next.is_none() {
            connection.agent_state("idle", None, &agent.mode);
        }
    }
}

struct Agent<'a> {
    connection: &'a Connection,
    /// The call whose subagent this is.
    parent: Option<&'a str>,
    mode: String,
}

impl Agent<'_> {
    fn hear(&self, message: &Value) {
        let id = message["messageId"].as_str().unwrap_or_default();
        let mut heard = wire::user_message(&self.connection.thread.id, id, message["content"].clone());
        heard["agentMode"] = self.mode.as_str().into();
        self.add(heard);
    }

    /// Asks the model until it calls no more tools, and returns its last words.
    fn answer(&self) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(async {
            loop {
                let message = self.connection.amp.id("M");
                self.state("working", &message);
                let answer = self.ask(&message).await?;
                let calls = self.say(&answer, &message).await;
                if calls.is_empty() {
                    return Ok(wire::text(&answer));
                }
                self.run_tools(&calls, &message).await;
                if let Some(steering) = self.steering() {
                    self.hear(&steering);
                }
            }
        })
    }

    /// Takes the next reply of the script for what has been said so far.
    async fn ask(&self, message: &str) -> Result<Answer, Failure> {
        let tools = self.connection.tools().await;
        let mut offered = json!({"messageId": message, "agentMode": self.mode, "tools": tools});
        if let Some(parent) = self.parent {
            offered["parentToolCallId"] = parent.into();
        }
        let mut request = self.request(tools);
        let play = &self.connection.amp.play;
        let reply = play.take(&request);
        request.purpose = if reply.is_some() { Purpose::Main } else { Purpose::Unexpected };
        play.record(request);
        match reply.map(|reply| reply.body) {
            Some(Body::Answer(answer)) => {
                self.connection.event("inference_tools", offered);
                Ok(answer)
            }
            Some(Body::Failure(failure)) => Err(failure),
            None => Err(Failure::BadRequest),
        }
    }

    fn request(&self, tools: Vec<String>) -> Request {
        let thread = &self.connection.thread;
        let messages = thread.messages(self.parent);
        let mut request = Request::unread("TURN", &thread.id, Value::Null);
        request.model.clone_from(&self.mode);
        request.tools = tools;
        request.messages = messages.iter().map(read::message).collect();
        request.body = messages.into();
        request
    }

    /// Sends the answer, and returns its calls. What stands before a gate is a message of its own, and not complete:
    /// the CLI would take a complete one for the end of the turn.
    async fn say(&self, answer: &Answer, message: &str) -> Vec<Call> {
        let (mut said, mut calls) = (Message::new(message, answer), vec![]);
        for block in &answer.blocks {
            match block {
                Block::Hold(gate) => {
                    self.send(&mut said, "cancelled");
                    gate.pass().await;
                }
                Block::Cut => {
                    self.send(&mut said, "cancelled");
                    self.connection.cut();
                    std::future::pending::<()>().await;
                }
                Block::Tool { name, args } => {
                    let call =
                        Call { id: self.connection.amp.id("TU"), name: name.clone(), args: args.clone() };
                    said.content.push(wire::call(&call));
                    calls.push(call);
                }
                _ => said.content.push(wire::content(block)),
            }
        }
        // The CLI waits for ever for an answer that has no content.
        if said.content.is_empty() {
            said.content.push(json!({"type": "text", "text": ""}));
        }
        self.send(&mut said, "complete");
        calls
    }

    fn send(&self, said: &mut Message<'_>, state: &str) {
        if said.content.is_empty() {
            return;
        }
        // The id of the first message is the one that the model was asked for.
        let id = if said.sent { self.connection.amp.id("M") } else { said.id.to_owned() };
        self.state("streaming", &id);
        let content = std::mem::take(&mut said.content);
        let usage = (!said.sent).then_some(said.answer.usage);
        self.add(wire::assistant_message(&self.connection.thread.id, &id, content, state, usage));
        said.sent = true;
    }

    async fn run_tools(&self, calls: &[Call], message: &str) {
        self.state("running_tools", message);
        let runs = join_all(calls.iter().map(|call| self.perform(call, message))).await;
        let results = calls.iter().zip(runs).map(|(call, run)| wire::result(&call.id, run)).collect();
        let (thread, id) = (&self.connection.thread.id, self.connection.amp.id("M"));
        self.add(wire::user_message(thread, &id, results));
    }

    async fn perform(&self, call: &Call, message: &str) -> Value {
        if call.name != SUBAGENT {
            return self.connection.lease(call, message, self.parent).await;
        }
        let agent = Agent { connection: self.connection, parent: Some(&call.id), mode: self.mode.clone() };
        let prompt = json!([{"type": "text", "text": call.args["prompt"]}]);
        agent.hear(&json!({"messageId": self.connection.amp.id("M"), "content": prompt}));
        match agent.answer().await {
            Ok(report) => json!({"status": "done", "result": report}),
            Err(failure) => json!({"status": "error", "error": {"message": wire::failure(failure)}}),
        }
    }

    fn steering(&self) -> Option<Value> {
        self.parent.is_none().then(|| self.connection.take_steering()).flatten()
    }

    fn add(&self, message: Value) {
        self.connection.add(self.parent, message);
    }

    /// Tells what the agent does; a subagent's steps are not the thread's.
    fn state(&self, state: &str, message: &str) {
        if self.parent.is_none() {
            self.connection.agent_state(state, Some(message), &self.mode);
        }
    }
}

/// An answer on its way.
struct Message<'a> {
    id: &'a str,
    answer: &'a Answer,
    content: Vec<Value>,
    /// Whether a message of this answer is out.
    sent: bool,
}

impl<'a> Message<'a> {
    fn new(id: &'a str, answer: &'a Answer) -> Self {
        Self { id, answer, content: vec![], sent: false }
    }
}

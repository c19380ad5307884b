//! An agent that speaks ACP and does what chance wants: it answers, asks, falls silent, talks nonsense, dies, and does
//! not always hear that it is cancelled.

use std::sync::Arc;
use std::time::Duration;

use omniglot_runtime::process::simulated::Child;
use omniglot_store::simulation::Chance as _;
use serde_json::{Value, json};

use crate::dice::Dice;

pub(crate) async fn run(dice: Arc<Dice>, mut child: Child) {
    let mut agent = Agent { dice, requests: 0 };
    while let Some(line) = child.hear().await {
        agent.dice.pause().await;
        let message = parse(&line);
        let id = message["id"].clone();
        match message["method"].as_str() {
            Some("initialize") => {
                reply(&child, &id, json!({ "protocolVersion": 1, "agentCapabilities": {} })).await;
            }
            Some("session/new") => reply(&child, &id, json!({ "sessionId": "native" })).await,
            Some("session/prompt") => match agent.turn(&mut child, &id).await {
                Life::GoesOn => {}
                Life::Ends => return child.exit(1),
                Life::Killed => return,
            },
            Some(_) if !id.is_null() => reply(&child, &id, json!({})).await,
            _ => {}
        }
    }
    child.exit(0);
}

struct Agent {
    dice: Arc<Dice>,
    requests: u64,
}

enum Life {
    GoesOn,
    Ends,
    Killed,
}

enum Message {
    Nothing,
    Cancel,
    Reply,
    End,
}

impl Agent {
    async fn turn(&mut self, child: &mut Child, prompt: &Value) -> Life {
        let is_deaf = self.dice.one_in(6);
        let mut steps = self.dice.below(12);
        while steps > 0 {
            steps -= 1;
            let message = match self.dice.below(30) {
                0 => return Life::Ends,
                1 => self.hear_for(child, Duration::from_secs(self.dice.below(40))).await,
                2 => {
                    child.say("no JSON at all".to_owned()).await;
                    Message::Nothing
                }
                3..7 => self.ask(child).await,
                _ => {
                    child.say(text(&format!("word {steps} "))).await;
                    self.hear_for(child, Duration::from_millis(self.dice.below(8))).await
                }
            };
            match message {
                Message::End => return Life::Killed,
                Message::Cancel if !is_deaf => {
                    reply(child, prompt, json!({ "stopReason": "cancelled" })).await;
                    return Life::GoesOn;
                }
                Message::Cancel | Message::Reply | Message::Nothing => {}
            }
        }
        reply(child, prompt, json!({ "stopReason": "end_turn" })).await;
        if self.dice.one_in(8) {
            child.say(text("too late")).await;
        }
        Life::GoesOn
    }

    /// Asks for a permission and waits for its answer; mostly, it can be cancelled meanwhile.
    async fn ask(&mut self, child: &mut Child) -> Message {
        self.requests += 1;
        let call =
            json!({ "toolCallId": format!("call-{}", self.requests), "title": "do it", "kind": "execute" });
        let options = json!([{ "optionId": "y", "name": "Yes", "kind": "allow_once" },
            { "optionId": "n", "name": "No", "kind": "reject_once" }]);
        let params = json!({ "sessionId": "native", "toolCall": call, "options": options });
        let request = json!({ "jsonrpc": "2.0", "id": 1000 + self.requests,
            "method": "session/request_permission", "params": params });
        child.say(request.to_string()).await;
        match self.hear_for(child, Duration::from_secs(600)).await {
            Message::Nothing => Message::Reply,
            message => message,
        }
    }

    async fn hear_for(&self, child: &mut Child, time: Duration) -> Message {
        match tokio::time::timeout(time, child.hear()).await {
            Err(_) => Message::Nothing,
            Ok(None) => Message::End,
            Ok(Some(line)) => match parse(&line)["method"].as_str() {
                Some("session/cancel") => Message::Cancel,
                _ => Message::Reply,
            },
        }
    }
}

fn parse(line: &[u8]) -> Value {
    serde_json::from_slice(line).unwrap()
}

fn text(text: &str) -> String {
    let update =
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } });
    let params = json!({ "sessionId": "native", "update": update });
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string()
}

async fn reply(child: &Child, id: &Value, result: Value) {
    child.say(json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()).await;
}

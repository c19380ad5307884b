//! The wire of the OpenAI Responses API.
//!
//! `responses/read.rs` reads its requests.

mod read;

use serde_json::{Value, json};

use super::provider::{Frame, Provider, Route};
use super::reply::{Answer, Block, Failure, Stop, Usage};
use super::request::Request;

pub(crate) struct Responses;

impl Provider for Responses {
    fn route(&self, method: &str, path: &str) -> Option<Route> {
        match (method, path.split('?').next().unwrap_or_default()) {
            ("POST", path) if path.ends_with("/responses") => Some(Route::Generate),
            ("GET", path) if path.ends_with("/models") => {
                Some(Route::Fixed(json!({"models": [], "data": []})))
            }
            _ => None,
        }
    }

    fn is_conversation(&self, request: &Request) -> bool {
        !request.tools.is_empty() && !request.last_says("generate a very short title for a conversation")
    }

    fn read(&self, request: &mut Request) -> Result<(), serde_json::Error> {
        read::request(request)
    }

    fn stream(&self, answer: &Answer, number: usize, request: &Request) -> Vec<Frame> {
        let mut events = Events::default();
        let begun = response(number, request, "in_progress");
        events.push("response.created", json!({"response": begun}));
        for block in &answer.blocks {
            match block {
                Block::Hold(gate) => events.frames.push(Frame::Hold(gate.clone())),
                Block::Cut => {
                    events.frames.push(Frame::Cut);
                    return events.frames;
                }
                _ => events.item(block, number),
            }
        }
        let (kind, response) = ended(answer, number, request, events.items.clone());
        events.push(kind, json!({"response": response}));
        events.frames
    }

    fn whole(&self, answer: &Answer, number: usize, request: &Request) -> Value {
        let solid = answer.blocks.iter().filter(|block| !matches!(block, Block::Hold(_) | Block::Cut));
        let items = solid.enumerate().map(|(at, block)| item(block, number, at)).collect();
        ended(answer, number, request, items).1
    }

    fn failure(&self, failure: Failure) -> (u16, Value) {
        super::openai::failure(failure)
    }
}

fn response(number: usize, request: &Request, status: &str) -> Value {
    let id = format!("resp_{number}");
    json!({"id": id, "object": "response", "status": status, "model": request.model, "output": []})
}

/// Returns the last event, and the response that it carries.
fn ended(answer: &Answer, number: usize, request: &Request, items: Vec<Value>) -> (&'static str, Value) {
    let (kind, status, reason) = match answer.stop {
        None => ("response.completed", "completed", None),
        Some(Stop::MaxTokens) => ("response.incomplete", "incomplete", Some("max_output_tokens")),
        Some(Stop::Refusal) => ("response.incomplete", "incomplete", Some("content_filter")),
    };
    let mut response = response(number, request, status);
    response["output"] = items.into();
    response["usage"] = usage(answer.usage);
    if let Some(reason) = reason {
        response["incomplete_details"] = json!({"reason": reason});
    }
    (kind, response)
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input + usage.cached, "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": usage.thoughts},
        "total_tokens": usage.total(),
    })
}

/// Returns a complete item of the output.
fn item(block: &Block, number: usize, at: usize) -> Value {
    let id = |prefix: &str| format!("{prefix}_{number}_{at}");
    match block {
        Block::Text(chunks) => {
            let part = json!({"type": "output_text", "text": chunks.concat(), "annotations": []});
            json!({"type": "message", "id": id("msg"), "role": "assistant", "status": "completed", "content": [part]})
        }
        Block::Thinking(text) => {
            let summary = json!([{"type": "summary_text", "text": text}]);
            json!({"type": "reasoning", "id": id("rs"), "summary": summary, "encrypted_content": null})
        }
        Block::RedactedThinking => {
            json!({"type": "reasoning", "id": id("rs"), "summary": [], "encrypted_content": "c2NyaXB0ZWQ="})
        }
        Block::Tool { name, args } => {
            let (namespace, name) = name.split_once('/').map_or((None, name.as_str()), |(a, b)| (Some(a), b));
            json!({
                "type": "function_call", "id": id("fc"), "call_id": id("call"), "status": "completed",
                "namespace": namespace, "name": name, "arguments": args.to_string(),
            })
        }
        Block::CustomTool { name, input } => json!({
            "type": "custom_tool_call", "id": id("ctc"), "call_id": id("call"), "status": "completed",
            "name": name, "input": input,
        }),
        Block::Hold(_) | Block::Cut => Value::Null,
    }
}

/// A stream under construction: every event has its number.
#[derive(Default)]
struct Events {
    frames: Vec<Frame>,
    items: Vec<Value>,
    sequence: u64,
}

impl Events {
    fn push(&mut self, kind: &str, mut data: Value) {
        data["type"] = kind.into();
        data["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        self.frames.push(Frame::event(kind, &data));
    }

    fn item(&mut self, block: &Block, number: usize) {
        let at = self.items.len();
        let done = item(block, number, at);
        self.push("response.output_item.added", json!({"output_index": at, "item": begun(&done)}));
        let id = done["id"].clone();
        let grow = |delta: &str| json!({"item_id": id, "output_index": at, "delta": delta});
        match block {
            Block::Text(chunks) => {
                let part = json!({"type": "output_text", "text": "", "annotations": []});
                let place = json!({"item_id": id, "output_index": at, "content_index": 0, "part": part});
                self.push("response.content_part.added", place);
                for chunk in chunks {
                    let mut delta = grow(chunk);
                    delta["content_index"] = 0.into();
                    self.push("response.output_text.delta", delta);
                }
            }
            Block::Thinking(text) => {
                let part = json!({"type": "summary_text", "text": ""});
                let place = json!({"item_id": id, "output_index": at, "summary_index": 0, "part": part});
                self.push("response.reasoning_summary_part.added", place);
                let mut delta = grow(text);
                delta["summary_index"] = 0.into();
                self.push("response.reasoning_summary_text.delta", delta);
            }
            Block::Tool { args, .. } => {
                self.push("response.function_call_arguments.delta", grow(&args.to_string()));
            }
            Block::CustomTool { input, .. } => {
                self.push("response.custom_tool_call_input.delta", grow(input));
            }
            Block::RedactedThinking | Block::Hold(_) | Block::Cut => {}
        }
        self.push("response.output_item.done", json!({"output_index": at, "item": done}));
        self.items.push(done);
    }
}

/// Returns an item as it begins: members that grow are still empty.
fn begun(done: &Value) -> Value {
    let mut item = done.clone();
    for (member, empty) in
        [("content", json!([])), ("summary", json!([])), ("arguments", "".into()), ("input", "".into())]
    {
        if let Some(value) = item.get_mut(member) {
            *value = empty;
        }
    }
    if item.get("status").is_some() {
        item["status"] = "in_progress".into();
    }
    item
}

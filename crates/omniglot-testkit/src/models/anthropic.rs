//! The wire of the Anthropic Messages API, streaming and not, and `count_tokens`.
//!
//! `anthropic/read.rs` reads its requests.

mod read;

use serde_json::{Value, json};

use super::provider::{Frame, Provider, Route};
use super::reply::{Answer, Block, Failure, Stop, Usage};
use super::request::Request;

pub(crate) struct Anthropic;

impl Provider for Anthropic {
    fn route(&self, method: &str, path: &str) -> Option<Route> {
        match (method, path.split('?').next().unwrap_or_default()) {
            ("POST", "/v1/messages") => Some(Route::Generate),
            ("POST", "/v1/messages/count_tokens") => Some(Route::Fixed(json!({"input_tokens": 120}))),
            ("GET", "/v1/models") => Some(Route::Fixed(json!({"data": [], "has_more": false}))),
            // Claude Code probes whether the server exists at all.
            ("HEAD", "/") => Some(Route::Fixed(Value::Null)),
            _ => None,
        }
    }

    fn is_conversation(&self, request: &Request) -> bool {
        !request.tools.is_empty() && !request.last_says("[SUGGESTION MODE:")
    }

    fn read(&self, request: &mut Request) -> Result<(), serde_json::Error> {
        read::request(request)
    }

    fn stream(&self, answer: &Answer, number: usize, request: &Request) -> Vec<Frame> {
        let start = message(answer, number, request, vec![], &Value::Null);
        let mut frames = vec![event("message_start", json!({"message": start})), event("ping", json!({}))];
        let mut index = 0;
        for block in &answer.blocks {
            match block {
                Block::Hold(gate) => frames.push(Frame::Hold(gate.clone())),
                Block::Cut => return [frames, vec![Frame::Cut]].concat(),
                _ => {
                    frames.extend(block_events(block, index, number));
                    index += 1;
                }
            }
        }
        let delta = json!({"stop_reason": stop_reason(answer), "stop_sequence": null});
        frames.push(event("message_delta", json!({"delta": delta, "usage": usage(answer.usage)})));
        frames.push(event("message_stop", json!({})));
        frames
    }

    fn whole(&self, answer: &Answer, number: usize, request: &Request) -> Value {
        let solid = answer.blocks.iter().filter(|block| !matches!(block, Block::Hold(_) | Block::Cut));
        let content = solid.enumerate().map(|(index, block)| content(block, index, number)).collect();
        message(answer, number, request, content, &stop_reason(answer).into())
    }

    fn failure(&self, failure: Failure) -> (u16, Value) {
        let (status, kind) = match failure {
            Failure::BadRequest | Failure::Overflow => (400, "invalid_request_error"),
            Failure::Unauthorized => (401, "authentication_error"),
            Failure::Forbidden => (403, "permission_error"),
            Failure::UnknownModel => (404, "not_found_error"),
            Failure::RateLimit => (429, "rate_limit_error"),
            Failure::Server => (500, "api_error"),
            Failure::Overloaded => (529, "overloaded_error"),
        };
        let message = match failure {
            Failure::Overflow => "prompt is too long: 250000 tokens > 200000 maximum",
            other => other.message(),
        };
        let error = json!({"type": kind, "message": message});
        (status, json!({"type": "error", "error": error, "request_id": "req_scripted"}))
    }
}

fn event(name: &str, mut data: Value) -> Frame {
    if let Some(members) = data.as_object_mut() {
        members.insert("type".to_owned(), name.into());
    }
    Frame::event(name, &data)
}

fn message(answer: &Answer, number: usize, request: &Request, content: Vec<Value>, stop: &Value) -> Value {
    json!({
        "id": format!("msg_{number:04}"), "type": "message", "role": "assistant", "model": request.model,
        "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage(answer.usage),
    })
}

fn stop_reason(answer: &Answer) -> &'static str {
    match answer.stop {
        Some(Stop::MaxTokens) => "max_tokens",
        Some(Stop::Refusal) => "refusal",
        None if answer.has_tools() => "tool_use",
        None => "end_turn",
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached, "output_tokens": usage.output,
    })
}

/// Returns a complete block.
fn content(block: &Block, index: usize, number: usize) -> Value {
    match block {
        Block::Text(chunks) => json!({"type": "text", "text": chunks.concat()}),
        Block::Thinking(text) => json!({"type": "thinking", "thinking": text, "signature": SIGNATURE}),
        Block::RedactedThinking => json!({"type": "redacted_thinking", "data": SIGNATURE}),
        Block::Tool { name, args } => {
            json!({"type": "tool_use", "id": tool_id(number, index), "name": name, "input": args})
        }
        Block::CustomTool { .. } | Block::Hold(_) | Block::Cut => panic!("Anthropic has no {block:?}"),
    }
}

/// The content of a signature is opaque; it only has to be returned unchanged.
const SIGNATURE: &str = "c2NyaXB0ZWQgc2lnbmF0dXJl";

fn tool_id(number: usize, index: usize) -> String {
    format!("toolu_{number:04}_{index}")
}

fn block_events(block: &Block, index: usize, number: usize) -> Vec<Frame> {
    let (empty, deltas) = opened(block, index, number);
    let start = event("content_block_start", json!({"index": index, "content_block": empty}));
    let deltas =
        deltas.into_iter().map(|delta| event("content_block_delta", json!({"index": index, "delta": delta})));
    let stop = event("content_block_stop", json!({"index": index}));
    std::iter::once(start).chain(deltas).chain([stop]).collect()
}

/// Returns the first form of a block, and the deltas that extend it.
fn opened(block: &Block, index: usize, number: usize) -> (Value, Vec<Value>) {
    match block {
        Block::Text(chunks) => {
            let deltas = chunks.iter().map(|text| json!({"type": "text_delta", "text": text}));
            (json!({"type": "text", "text": ""}), deltas.collect())
        }
        Block::Thinking(text) => {
            let thought = json!({"type": "thinking_delta", "thinking": text});
            let signature = json!({"type": "signature_delta", "signature": SIGNATURE});
            (json!({"type": "thinking", "thinking": "", "signature": ""}), vec![thought, signature])
        }
        Block::Tool { name, args } => {
            let start = json!({"type": "tool_use", "id": tool_id(number, index), "name": name, "input": {}});
            (
                start,
                halves(&args.to_string())
                    .map(|half| json!({"type": "input_json_delta", "partial_json": half}))
                    .collect(),
            )
        }
        _ => (content(block, index, number), vec![]),
    }
}

/// Splits arguments in pieces, so that no code relies on receiving them whole.
fn halves(text: &str) -> impl Iterator<Item = &str> {
    let middle = text.floor_char_boundary(text.len() / 2);
    let (first, second) = text.split_at(middle);
    [first, second].into_iter()
}

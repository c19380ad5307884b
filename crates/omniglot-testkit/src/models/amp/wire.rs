//! The JSON of Amp's server: messages with their content, results, errors.

use serde_json::{Value, json};

use super::turn::Call;
use crate::models::reply::{Answer, Block, Failure, Usage};

pub(super) const DEFAULT_MODE: &str = "medium";
pub(super) const USER: &str = "user_scripted";

/// The failure of a turn whose model has fallen silent.
pub(super) const STALLED: &str = "Stream stalled: no data received for 60 seconds";

pub(super) fn user() -> Value {
    json!({
        "id": USER, "email": "dev@example.com", "username": "dev", "emailVerified": true,
        "features": [], "team": null,
    })
}

pub(super) fn unknown_thread() -> Value {
    json!({"ok": false, "error": {"code": "thread-not-found", "message": "The thread does not exist."}})
}

/// Returns the answer to a plain request that is refused.
pub(super) fn refusal(path: &str, failure: Failure) -> (u16, Value) {
    let (status, code) = match failure {
        Failure::BadRequest | Failure::Overflow => (400, "invalid-argument"),
        Failure::Unauthorized => (401, "auth-required"),
        Failure::Forbidden => (402, "out-of-credits"),
        Failure::UnknownModel => (404, "thread-not-found"),
        Failure::RateLimit => (429, "rate-limit-exceeded"),
        Failure::Server => (500, "internal-error"),
        Failure::Overloaded => (503, "overloaded"),
    };
    let message = failure.message();
    if path.starts_with("/api/internal") {
        return (status, json!({"ok": false, "error": {"code": code, "message": message}}));
    }
    (status, json!({"error": message}))
}

/// Returns the text of a failure within a turn. The CLI knows some by their words and rewrites them.
pub(super) fn failure(failure: Failure) -> &'static str {
    match failure {
        Failure::Overflow => "prompt is too long: 250000 tokens > 200000 maximum",
        Failure::Unauthorized => "401 API key not valid. Please pass a valid API key.",
        Failure::RateLimit => "Rate limit exceeded",
        other => other.message(),
    }
}

pub(super) fn user_message(thread: &str, id: &str, content: Value) -> Value {
    json!({"threadId": thread, "role": "user", "messageId": id, "content": content})
}

pub(super) fn assistant_message(
    thread: &str,
    id: &str,
    content: Vec<Value>,
    state: &str,
    used: Option<Usage>,
) -> Value {
    let mut message = json!({
        "threadId": thread, "role": "assistant", "messageId": id, "content": content,
        "state": {"type": state},
    });
    if let Some(used) = used {
        message["usage"] = usage(used);
    }
    message
}

fn usage(usage: Usage) -> Value {
    json!({
        "model": "scripted-model", "maxInputTokens": 200_000, "inputTokens": usage.input,
        "outputTokens": usage.output, "cacheCreationInputTokens": 0, "cacheReadInputTokens": usage.cached,
        "totalInputTokens": usage.input + usage.cached,
    })
}

/// Returns a block that is no call.
pub(super) fn content(block: &Block) -> Value {
    match block {
        Block::Text(chunks) => json!({"type": "text", "text": chunks.concat()}),
        Block::Thinking(text) => json!({"type": "thinking", "thinking": text, "signature": SIGNATURE}),
        Block::RedactedThinking => json!({"type": "redacted_thinking", "data": SIGNATURE}),
        Block::Tool { .. } | Block::CustomTool { .. } | Block::Hold(_) | Block::Cut => {
            panic!("Amp has no such content: {block:?}")
        }
    }
}

/// The content of a signature is opaque.
const SIGNATURE: &str = "c2NyaXB0ZWQgc2lnbmF0dXJl";

pub(super) fn call(call: &Call) -> Value {
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.args, "complete": true})
}

/// Returns the ids of the calls in a message.
pub(super) fn calls(message: &Value) -> Vec<String> {
    let blocks = message["content"].as_array().into_iter().flatten();
    let calls = blocks.filter(|block| block["type"] == "tool_use");
    calls.filter_map(|call| call["id"].as_str()).map(str::to_owned).collect()
}

pub(super) fn result(call: &str, run: Value) -> Value {
    json!({"type": "tool_result", "toolUseID": call, "run": run})
}

/// Returns the outcome of a call that was stopped.
pub(super) fn cancelled() -> Value {
    json!({"status": "cancelled", "reason": "user:interrupted"})
}

/// Returns all text of an answer.
pub(super) fn text(answer: &Answer) -> String {
    let texts = answer.blocks.iter().filter_map(|block| match block {
        Block::Text(chunks) => Some(chunks.concat()),
        _ => None,
    });
    texts.collect()
}

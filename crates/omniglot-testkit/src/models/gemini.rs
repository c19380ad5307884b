//! The wire of the Gemini API: `generateContent` and its streaming form, and `countTokens`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::provider::{Frame, Provider, Route};
use super::reply::{Answer, Block, Failure, Stop, Usage};
use super::request::{Message, Part, Request, Role};

pub(crate) struct Gemini;

impl Provider for Gemini {
    fn route(&self, method: &str, path: &str) -> Option<Route> {
        match (method, verb(path)) {
            ("POST", "generateContent" | "streamGenerateContent") => Some(Route::Generate),
            ("POST", "countTokens") => Some(Route::Fixed(json!({"totalTokens": 120}))),
            _ => None,
        }
    }

    fn read(&self, request: &mut Request) -> Result<(), serde_json::Error> {
        let body = Body::deserialize(&request.body)?;
        request.streaming = verb(&request.path) == "streamGenerateContent";
        request.model = model(&request.path).to_owned();
        request.system = body.system_instruction.map(|system| system.message().text()).unwrap_or_default();
        request.messages = body.contents.into_iter().map(Content::message).collect();
        request.tools =
            body.tools.into_iter().flat_map(|tool| tool.function_declarations).map(|f| f.name).collect();
        Ok(())
    }

    fn stream(&self, answer: &Answer, number: usize, request: &Request) -> Vec<Frame> {
        let mut frames = vec![];
        for (at, block) in answer.blocks.iter().enumerate() {
            match block {
                Block::Hold(gate) => frames.push(Frame::Hold(gate.clone())),
                Block::Cut => return [frames, vec![Frame::Cut]].concat(),
                _ => frames.extend(parts(block, number, at).into_iter().map(|part| chunk(request, part))),
            }
        }
        frames.push(Frame::data(&whole(answer, vec![json!({"text": ""})], request)));
        frames
    }

    fn whole(&self, answer: &Answer, number: usize, request: &Request) -> Value {
        let parts = answer.blocks.iter().enumerate().flat_map(|(at, block)| parts(block, number, at));
        whole(answer, parts.collect(), request)
    }

    fn failure(&self, failure: Failure) -> (u16, Value) {
        let (code, status) = match failure {
            Failure::BadRequest | Failure::Overflow => (400, "INVALID_ARGUMENT"),
            Failure::Unauthorized => (401, "UNAUTHENTICATED"),
            Failure::Forbidden => (403, "PERMISSION_DENIED"),
            Failure::UnknownModel => (404, "NOT_FOUND"),
            Failure::RateLimit => (429, "RESOURCE_EXHAUSTED"),
            Failure::Server => (500, "INTERNAL"),
            Failure::Overloaded => (503, "UNAVAILABLE"),
        };
        (code, json!({"error": {"code": code, "message": failure.message(), "status": status}}))
    }
}

/// Returns `generateContent` of `/v1beta/models/MODEL:generateContent?alt=sse`.
fn verb(path: &str) -> &str {
    let path = path.split('?').next().unwrap_or_default();
    path.rsplit_once(':').map_or("", |(_, verb)| verb)
}

fn model(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.split(':').next().unwrap_or_default()
}

fn chunk(request: &Request, part: Value) -> Frame {
    Frame::data(&json!({
        "candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}],
        "modelVersion": request.model,
    }))
}

/// Returns the last chunk of a stream, or a whole answer.
fn whole(answer: &Answer, parts: Vec<Value>, request: &Request) -> Value {
    let reason = match answer.stop {
        None => "STOP",
        Some(Stop::MaxTokens) => "MAX_TOKENS",
        Some(Stop::Refusal) => "SAFETY",
    };
    json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason, "index": 0}],
        "usageMetadata": usage(answer.usage),
        "modelVersion": request.model,
    })
}

fn usage(usage: Usage) -> Value {
    json!({
        "promptTokenCount": usage.input + usage.cached,
        "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output - usage.thoughts,
        "thoughtsTokenCount": usage.thoughts,
        "totalTokenCount": usage.total(),
    })
}

fn parts(block: &Block, number: usize, at: usize) -> Vec<Value> {
    match block {
        Block::Text(chunks) => chunks.iter().map(|text| json!({"text": text})).collect(),
        Block::Thinking(text) => vec![json!({"text": format!("**Thinking**\n{text}"), "thought": true})],
        Block::Tool { name, args } => {
            vec![json!({"functionCall": {"id": format!("call_{number}_{at}"), "name": name, "args": args}})]
        }
        Block::RedactedThinking | Block::CustomTool { .. } => panic!("Gemini has no {block:?}"),
        Block::Hold(_) | Block::Cut => vec![],
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    contents: Vec<Content>,
    system_instruction: Option<Content>,
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    #[serde(default)]
    function_declarations: Vec<Function>,
}

#[derive(Deserialize)]
struct Function {
    name: String,
}

#[derive(Deserialize)]
struct Content {
    role: Option<String>,
    #[serde(default)]
    parts: Vec<Piece>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Piece {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    inline_data: Option<Blob>,
    function_call: Option<Call>,
    function_response: Option<Outcome>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Blob {
    mime_type: String,
}

#[derive(Deserialize)]
struct Call {
    name: String,
    #[serde(default)]
    args: Value,
}

#[derive(Deserialize)]
struct Outcome {
    #[serde(default)]
    response: Value,
}

impl Content {
    fn message(self) -> Message {
        let role = if self.role.as_deref() == Some("model") { Role::Assistant } else { Role::User };
        Message::new(role, self.parts.into_iter().filter_map(Piece::part).collect())
    }
}

impl Piece {
    fn part(self) -> Option<Part> {
        match self {
            Self { text: Some(text), thought: true, .. } => Some(Part::Thinking(text)),
            Self { text: Some(text), .. } => Some(Part::Text(text)),
            Self { inline_data: Some(blob), .. } => Some(Part::Image { mime: blob.mime_type }),
            Self { function_call: Some(call), .. } => {
                Some(Part::ToolCall { name: call.name, args: call.args })
            }
            Self { function_response: Some(outcome), .. } => Some(result(&outcome.response)),
            _ => None,
        }
    }
}

fn result(response: &Value) -> Part {
    let named = |name: &str| response.get(name).and_then(Value::as_str).map(str::to_owned);
    let error = named("error");
    let is_error = error.is_some();
    let output = error.or_else(|| named("output")).unwrap_or_else(|| response.to_string());
    Part::ToolResult { output, is_error }
}

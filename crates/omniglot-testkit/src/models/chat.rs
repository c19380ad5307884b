//! The wire of the OpenAI chat completions API.

use serde::Deserialize;
use serde_json::{Value, json};

use super::provider::{Frame, Provider, Route};
use super::reply::{Answer, Block, Failure, Stop, Usage};
use super::request::{Message, Part, Request, Role};

pub(crate) struct Chat;

impl Provider for Chat {
    fn route(&self, method: &str, path: &str) -> Option<Route> {
        match (method, path.split('?').next().unwrap_or_default()) {
            ("POST", path) if path.ends_with("/chat/completions") => Some(Route::Generate),
            ("GET", path) if path.ends_with("/models") => {
                Some(Route::Fixed(json!({"object": "list", "data": []})))
            }
            _ => None,
        }
    }

    fn read(&self, request: &mut Request) -> Result<(), serde_json::Error> {
        let body = Body::deserialize(&request.body)?;
        request.streaming = body.stream;
        request.model = body.model;
        request.tools = body.tools.into_iter().map(|tool| tool.function.name).collect();
        request.messages = body.messages.into_iter().map(Turn::message).collect();
        let system = request.messages.iter().filter(|message| message.role == Role::System);
        request.system = system.map(Message::text).collect::<Vec<_>>().join("\n");
        request.messages.retain(|message| message.role != Role::System);
        Ok(())
    }

    fn stream(&self, answer: &Answer, number: usize, request: &Request) -> Vec<Frame> {
        let chunk = |delta: Value| Frame::data(&chunk(number, request, delta, &Value::Null));
        let mut frames = vec![chunk(json!({"role": "assistant", "content": ""}))];
        let mut calls = 0;
        for block in &answer.blocks {
            match block {
                Block::Hold(gate) => frames.push(Frame::Hold(gate.clone())),
                Block::Cut => return [frames, vec![Frame::Cut]].concat(),
                Block::Tool { .. } => {
                    frames.push(chunk(json!({"tool_calls": [call(block, number, calls)]})));
                    calls += 1;
                }
                _ => frames.extend(deltas(block).into_iter().map(chunk)),
            }
        }
        let mut end = self::chunk(number, request, json!({}), &finish_reason(answer).into());
        frames.push(Frame::data(&end));
        end["choices"] = json!([]);
        end["usage"] = usage(answer.usage);
        frames.push(Frame::data(&end));
        frames.push(Frame::Send("data: [DONE]\n\n".into()));
        frames
    }

    fn whole(&self, answer: &Answer, number: usize, request: &Request) -> Value {
        let deltas: Vec<Value> = answer.blocks.iter().flat_map(deltas).collect();
        let joined =
            |name: &str| deltas.iter().filter_map(|delta| delta.get(name)?.as_str()).collect::<String>();
        let mut message = json!({"role": "assistant", "content": joined("content")});
        let tools = answer.blocks.iter().filter(|block| matches!(block, Block::Tool { .. }));
        let calls: Vec<_> = tools.enumerate().map(|(at, block)| call(block, number, at)).collect();
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        json!({
            "id": format!("chatcmpl-{number}"), "object": "chat.completion", "created": 0, "model": request.model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(answer)}],
            "usage": usage(answer.usage),
        })
    }

    fn failure(&self, failure: Failure) -> (u16, Value) {
        super::openai::failure(failure)
    }
}

fn chunk(number: usize, request: &Request, delta: Value, finish: &Value) -> Value {
    json!({
        "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 0,
        "model": request.model, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    })
}

fn finish_reason(answer: &Answer) -> &'static str {
    match answer.stop {
        Some(Stop::MaxTokens) => "length",
        Some(Stop::Refusal) => "content_filter",
        None if answer.has_tools() => "tool_calls",
        None => "stop",
    }
}

fn usage(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.input + usage.cached, "completion_tokens": usage.output,
        "total_tokens": usage.total(), "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.thoughts},
    })
}

fn call(block: &Block, number: usize, index: usize) -> Value {
    let Block::Tool { name, args } = block else { panic!("{block:?} is no call") };
    let function = json!({"name": name, "arguments": args.to_string()});
    json!({"index": index, "id": format!("call_{number}_{index}"), "type": "function", "function": function})
}

/// Thoughts are no part of the API; servers that have them use this member.
fn deltas(block: &Block) -> Vec<Value> {
    match block {
        Block::Text(chunks) => chunks.iter().map(|text| json!({"content": text})).collect(),
        Block::Thinking(text) => vec![json!({"reasoning_content": text})],
        Block::RedactedThinking | Block::CustomTool { .. } => panic!("chat completions have no {block:?}"),
        Block::Tool { .. } | Block::Hold(_) | Block::Cut => vec![],
    }
}

#[derive(Deserialize)]
struct Body {
    model: String,
    #[serde(default)]
    stream: bool,
    messages: Vec<Turn>,
    #[serde(default)]
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
struct Tool {
    function: Named,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(default)]
    arguments: String,
}

#[derive(Deserialize)]
struct Turn {
    role: String,
    content: Option<Content>,
    #[serde(default)]
    tool_calls: Vec<Tool>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Pieces(Vec<Piece>),
}

#[derive(Deserialize)]
struct Piece {
    text: Option<String>,
    image_url: Option<Link>,
}

#[derive(Deserialize)]
struct Link {
    url: String,
}

impl Turn {
    fn message(self) -> Message {
        let mut parts = self.content.map(Content::parts).unwrap_or_default();
        let role = match self.role.as_str() {
            "assistant" => Role::Assistant,
            "system" | "developer" => Role::System,
            "tool" => {
                parts = vec![Part::ToolResult {
                    output: Message::new(Role::Tool, parts).text(),
                    is_error: false,
                }];
                Role::Tool
            }
            _ => Role::User,
        };
        let calls = self.tool_calls.into_iter().map(|call| Part::ToolCall {
            name: call.function.name,
            args: serde_json::from_str(&call.function.arguments).unwrap_or_default(),
        });
        parts.extend(calls);
        Message::new(role, parts)
    }
}

impl Content {
    fn parts(self) -> Vec<Part> {
        match self {
            Self::Text(text) => vec![Part::Text(text)],
            Self::Pieces(pieces) => pieces.into_iter().filter_map(Piece::part).collect(),
        }
    }
}

impl Piece {
    fn part(self) -> Option<Part> {
        let image =
            self.image_url.map(|link| Part::Image { mime: super::openai::mime_of_data_url(&link.url) });
        image.or_else(|| self.text.map(Part::Text))
    }
}

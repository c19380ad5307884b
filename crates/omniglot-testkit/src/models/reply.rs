//! The answers of a scripted model in a provider-neutral form: blocks, numbers, an end; or a failure.
//!
//! Each provider's file encodes them for its wire; `server.rs` serves them.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::gate::Gate;
use super::request::Request;

/// One answer of a model to one request.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(crate) body: Body,
    pub(crate) condition: Option<Condition>,
    /// Stays at the head of the queue until the test pushes another.
    pub(crate) forever: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Answer(Answer),
    Failure(Failure),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) blocks: Vec<Block>,
    pub(crate) usage: Usage,
    pub(crate) stop: Option<Stop>,
}

/// A piece of an answer, in the order of the stream.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    /// Streamed in these chunks.
    Text(Vec<String>),
    /// A thought, or the summary of one where the provider shows only that.
    Thinking(String),
    /// A thought that is encrypted for its provider.
    RedactedThinking,
    Tool {
        name: String,
        args: Value,
    },
    /// A tool whose input is plain text (Responses only).
    CustomTool {
        name: String,
        input: String,
    },
    /// Nothing more is sent until the test opens the gate.
    Hold(Gate),
    /// The connection breaks here.
    Cut,
}

/// The tokens that an answer claims to have cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Without the tokens that were read from the cache.
    pub input: u64,
    pub cached: u64,
    /// Including the thoughts.
    pub output: u64,
    pub thoughts: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input: 120, cached: 0, output: 15, thoughts: 0 }
    }
}

/// The reason why a model stops, other than its end or a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    MaxTokens,
    Refusal,
}

/// The failures of an API, each in the provider's own shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    BadRequest,
    /// The prompt is longer than the model's context.
    Overflow,
    Unauthorized,
    Forbidden,
    UnknownModel,
    RateLimit,
    Server,
    Overloaded,
}

/// The condition that selects the requests for a reply.
#[derive(Clone)]
pub(crate) struct Condition(pub(crate) Arc<dyn Fn(&Request) -> bool + Send + Sync>);

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Condition")
    }
}

impl Reply {
    /// Returns a text, streamed word by word.
    pub fn text(text: &str) -> Self {
        Self::empty().and_text(text)
    }

    pub fn thinking(text: &str) -> Self {
        Self::empty().and_thinking(text)
    }

    /// Returns a call; for Responses, a tool of a namespace is `namespace/tool`.
    pub fn tool(name: &str, args: Value) -> Self {
        Self::empty().and_tool(name, args)
    }

    /// Returns a call whose input is plain text, which only the Responses API has.
    pub fn custom_tool(name: &str, input: &str) -> Self {
        let block = Block::CustomTool { name: name.to_owned(), input: input.to_owned() };
        Self::empty().and(block)
    }

    /// Returns the name of the first tool that it calls.
    pub(crate) fn tool_name(&self) -> Option<&str> {
        let Body::Answer(answer) = &self.body else { return None };
        answer.blocks.iter().find_map(|block| match block {
            Block::Tool { name, .. } | Block::CustomTool { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns an answer without content.
    pub fn empty() -> Self {
        Self { body: Body::Answer(Answer::default()), condition: None, forever: false }
    }

    pub fn fails(failure: Failure) -> Self {
        Self { body: Body::Failure(failure), condition: None, forever: false }
    }

    pub fn and_text(self, text: &str) -> Self {
        let chunks = text.split_inclusive(' ').map(str::to_owned).collect();
        self.and(Block::Text(chunks))
    }

    pub fn and_thinking(self, text: &str) -> Self {
        self.and(Block::Thinking(text.to_owned()))
    }

    pub fn and_redacted_thinking(self) -> Self {
        self.and(Block::RedactedThinking)
    }

    /// Adds a call. Several calls in one answer run in parallel where the agent can.
    pub fn and_tool(self, name: &str, args: Value) -> Self {
        self.and(Block::Tool { name: name.to_owned(), args })
    }

    /// Appends the blocks of another reply.
    pub fn with(mut self, other: Self) -> Self {
        match (&mut self.body, other.body) {
            (Body::Answer(answer), Body::Answer(more)) => answer.blocks.extend(more.blocks),
            (body, more) => panic!("{body:?} cannot go on with {more:?}"),
        }
        self
    }

    /// Sends everything so far, then nothing until the gate is opened.
    pub fn hold(self) -> (Self, Gate) {
        let gate = Gate::default();
        (self.and(Block::Hold(gate.clone())), gate)
    }

    /// Sends everything so far, then breaks the connection.
    pub fn cut(self) -> Self {
        self.and(Block::Cut)
    }

    pub fn usage(mut self, usage: Usage) -> Self {
        if let Body::Answer(answer) = &mut self.body {
            answer.usage = usage;
        }
        self
    }

    pub fn stop(mut self, stop: Stop) -> Self {
        if let Body::Answer(answer) = &mut self.body {
            answer.stop = Some(stop);
        }
        self
    }

    /// Restricts the reply to matching requests. Others take the next reply of the queue.
    pub fn when(mut self, condition: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Self {
        self.condition = Some(Condition(Arc::new(condition)));
        self
    }

    /// Serves any number of requests, for agents that retry, until the test pushes another reply.
    pub fn forever(mut self) -> Self {
        self.forever = true;
        self
    }

    fn and(mut self, block: Block) -> Self {
        match &mut self.body {
            Body::Answer(answer) => answer.blocks.push(block),
            Body::Failure(failure) => panic!("{failure:?} has no content"),
        }
        self
    }

    pub(crate) fn fits(&self, request: &Request) -> bool {
        self.condition.as_ref().is_none_or(|condition| (condition.0)(request))
    }
}

impl Answer {
    pub(crate) fn has_tools(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Tool { .. } | Block::CustomTool { .. }))
    }
}

impl Usage {
    pub(crate) fn total(self) -> u64 {
        self.input + self.cached + self.output
    }
}

impl Failure {
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::BadRequest => "The scripted model refuses this request.",
            Self::Overflow => "The input exceeds the maximum number of tokens allowed.",
            Self::Unauthorized => "API key not valid. Please pass a valid API key.",
            Self::Forbidden => "The key may not use this model.",
            Self::UnknownModel => "The model does not exist.",
            Self::RateLimit => "Too many requests. Please slow down.",
            Self::Server => "An internal error has occurred.",
            Self::Overloaded => "Overloaded",
        }
    }
}

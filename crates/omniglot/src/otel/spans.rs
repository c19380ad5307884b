//! The mapping of a session's events to spans, by OpenTelemetry's conventions for generative AI.
//!
//! | Events | Span |
//! |---|---|
//! | `turn.started` to `turn.ended` | `invoke_agent AGENT`, the root of a trace |
//! | a `step` item | `chat MODEL` |
//! | a `tool_call` item to its `tool_result` | `execute_tool NAME` |
//!
//! The work of a subagent is below the call that started it. Times are those of the events, and ids are made of the
//! session's own, so that an export can be repeated. No words of users, models or tools are exported.

use std::collections::HashMap;

use indexmap::IndexMap;
use jiff::Timestamp;
use omniglot_schema::{
    CallId, ContentPart, EventData, ItemId, ItemKind, ItemStatus, SessionId, StopReason, TurnEndedMetadata,
    TurnId, UniversalEvent, UniversalEventType, UniversalItem, Usage,
};
use sha2::{Digest as _, Sha256};

/// The events that spans are made of.
pub(crate) const EVENT_TYPES: [UniversalEventType; 4] = [
    UniversalEventType::TurnStarted,
    UniversalEventType::TurnEnded,
    UniversalEventType::ItemStarted,
    UniversalEventType::ItemCompleted,
];

/// A turn with more finished spans hands them over before it ends.
const EARLY: usize = 512;

/// One span.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Span {
    pub(crate) trace: [u8; 16],
    pub(crate) id: [u8; 8],
    pub(crate) parent: Option<[u8; 8]>,
    pub(crate) name: String,
    pub(crate) kind: SpanKind,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    pub(crate) attributes: Vec<(&'static str, Value)>,
    /// The message of a span that failed.
    pub(crate) error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanKind {
    Internal,
    /// A call of somebody else's service.
    Client,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Texts(Vec<String>),
    Number(u64),
    Fraction(f64),
}

/// Reads the events of one session in their order.
#[derive(Debug)]
pub(crate) struct SessionSpans {
    session: SessionId,
    agent: String,
    turn: Option<OpenTurn>,
}

#[derive(Debug)]
struct OpenTurn {
    id: TurnId,
    root: Span,
    /// Spans that have not ended, by the item that began them.
    open: IndexMap<ItemId, Span>,
    /// The span of each call, for what belongs to it.
    calls: HashMap<ItemId, [u8; 8]>,
    /// The item of each call, for its result.
    items: HashMap<CallId, ItemId>,
    done: Vec<Span>,
}

impl SessionSpans {
    pub(crate) fn new(session: SessionId, agent: String) -> Self {
        Self { session, agent, turn: None }
    }

    /// Whether a turn is under way.
    pub(crate) fn is_open(&self) -> bool {
        self.turn.is_some()
    }

    /// Returns the spans that are complete, which most events make none of.
    pub(crate) fn read(&mut self, event: &UniversalEvent) -> Vec<Span> {
        // A copy happened in the session that it is a copy of.
        if event.metadata.as_ref().is_some_and(|metadata| metadata.copied_from.is_some()) {
            return vec![];
        }
        match &event.data {
            EventData::TurnStarted(data) => self.turn = Some(self.begin(&data.turn_id, event.time)),
            EventData::ItemStarted(data) => self.item_started(&data.item, event.time),
            EventData::ItemCompleted(data) => return self.item_completed(&data.item, event.time),
            EventData::TurnEnded(data) => return self.ended(&data.turn_id, &data.metadata, event.time),
            _ => {}
        }
        vec![]
    }

    fn begin(&self, turn: &TurnId, start: Timestamp) -> OpenTurn {
        let hash = digest(&[self.session.as_str(), turn.as_str()]);
        let attributes = vec![
            ("gen_ai.operation.name", Value::text("invoke_agent")),
            ("gen_ai.provider.name", Value::text(&self.agent)),
            ("gen_ai.agent.name", Value::text(&self.agent)),
            ("gen_ai.conversation.id", Value::text(self.session.as_str())),
            ("omniglot.turn.id", Value::text(turn.as_str())),
        ];
        let root = Span {
            trace: first(&hash),
            id: last(&hash),
            parent: None,
            name: format!("invoke_agent {}", self.agent),
            kind: SpanKind::Internal,
            start,
            end: start,
            attributes,
            error: None,
        };
        OpenTurn {
            id: turn.clone(),
            root,
            open: IndexMap::new(),
            calls: HashMap::new(),
            items: HashMap::new(),
            done: vec![],
        }
    }

    fn item_started(&mut self, item: &UniversalItem, start: Timestamp) {
        let Some(turn) = &mut self.turn else { return };
        let (name, kind, attributes) = match item.content.first() {
            Some(ContentPart::ToolCall { name, call_id, .. }) => {
                turn.items.insert(call_id.clone(), item.item_id.clone());
                let attributes = vec![
                    ("gen_ai.operation.name", Value::text("execute_tool")),
                    ("gen_ai.tool.name", Value::text(name)),
                    ("gen_ai.tool.call.id", Value::text(call_id.as_str())),
                    ("gen_ai.tool.type", Value::text("function")),
                ];
                (format!("execute_tool {name}"), SpanKind::Internal, attributes)
            }
            Some(ContentPart::Status { label, .. }) if is_step(label) => {
                let attributes = vec![
                    ("gen_ai.operation.name", Value::text("chat")),
                    ("gen_ai.provider.name", Value::text(&self.agent)),
                    ("gen_ai.conversation.id", Value::text(self.session.as_str())),
                ];
                ("chat".to_owned(), SpanKind::Client, attributes)
            }
            _ => return,
        };
        let above = item.parent_id.as_ref().and_then(|parent| turn.calls.get(parent)).copied();
        let id = last(&digest(&[self.session.as_str(), item.item_id.as_str()]));
        if item.kind == ItemKind::ToolCall {
            turn.calls.insert(item.item_id.clone(), id);
        }
        let parent = Some(above.unwrap_or(turn.root.id));
        let trace = turn.root.trace;
        let span = Span { trace, id, parent, name, kind, start, end: start, attributes, error: None };
        turn.open.insert(item.item_id.clone(), span);
    }

    fn item_completed(&mut self, item: &UniversalItem, end: Timestamp) -> Vec<Span> {
        let Some(turn) = &mut self.turn else { return vec![] };
        for part in &item.content {
            match part {
                ContentPart::ToolResult { call_id, is_error, exit_code, .. } => {
                    let call = turn.items.remove(call_id);
                    let Some(mut span) = call.and_then(|call| turn.open.shift_remove(&call)) else {
                        continue;
                    };
                    if *is_error == Some(true) {
                        let code = exit_code.map(|code| format!("exit code {code}"));
                        span.fails("tool_error", code.unwrap_or_else(|| "the tool failed".to_owned()));
                    }
                    turn.done.push(Span { end, ..span });
                }
                ContentPart::Status { label, detail, usage } if is_step(label) => {
                    let Some(mut span) = turn.open.shift_remove(&item.item_id) else { continue };
                    span.attributes.extend(usage.as_ref().into_iter().flat_map(tokens));
                    if let Some(reason) = detail {
                        let reasons = Value::Texts(vec![reason.clone()]);
                        span.attributes.push(("gen_ai.response.finish_reasons", reasons));
                    }
                    if item.status == ItemStatus::Failed {
                        span.fails("model_error", "the call of the model failed".to_owned());
                    }
                    turn.done.push(Span { end, ..span });
                }
                _ => {}
            }
        }
        if turn.done.len() < EARLY { vec![] } else { std::mem::take(&mut turn.done) }
    }

    fn ended(&mut self, id: &TurnId, result: &TurnEndedMetadata, end: Timestamp) -> Vec<Span> {
        let Some(OpenTurn { mut root, open, mut done, .. }) = self.turn.take_if(|turn| turn.id == *id) else {
            return vec![];
        };
        // What the turn has left open ended with it.
        done.extend(open.into_values().map(|span| Span { end, ..span }));
        for span in &mut done {
            if let (SpanKind::Client, Some(model)) = (span.kind, &result.model) {
                span.name = format!("chat {model}");
                span.attributes.push(("gen_ai.request.model", Value::text(model)));
            }
        }
        root.end = end;
        root.attributes
            .extend(result.model.iter().map(|model| ("gen_ai.response.model", Value::text(model))));
        root.attributes.extend(result.usage.as_ref().into_iter().flat_map(tokens));
        root.attributes.extend(result.cost_usd.map(|cost| ("omniglot.cost_usd", Value::Fraction(cost))));
        let reason = wire_word(result.stop_reason);
        root.attributes.push(("omniglot.stop_reason", Value::Text(reason.clone())));
        if result.stop_reason == StopReason::Error {
            root.fails(&reason, "the turn failed".to_owned());
        }
        done.push(root);
        done
    }
}

impl Span {
    fn fails(&mut self, kind: &str, message: String) {
        self.attributes.push(("error.type", Value::text(kind)));
        self.error = Some(message);
    }
}

impl Value {
    fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

fn is_step(label: &str) -> bool {
    label.ends_with(".step")
}

/// The tokens by their conventional names; there the input has the cache in it.
fn tokens(usage: &Usage) -> impl Iterator<Item = (&'static str, Value)> + use<> {
    let Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, .. } = usage;
    let cache = cache_read_tokens.unwrap_or(0).saturating_add(cache_write_tokens.unwrap_or(0));
    let told = [
        ("gen_ai.usage.input_tokens", input_tokens.map(|input| input.saturating_add(cache))),
        ("gen_ai.usage.output_tokens", *output_tokens),
        ("gen_ai.usage.cache_read.input_tokens", *cache_read_tokens),
        ("gen_ai.usage.cache_creation.input_tokens", *cache_write_tokens),
    ];
    told.into_iter().filter_map(|(name, count)| Some((name, Value::Number(count?))))
}

fn wire_word(reason: StopReason) -> String {
    serde_json::to_value(reason).ok().and_then(|word| Some(word.as_str()?.to_owned())).unwrap_or_default()
}

fn digest(words: &[&str]) -> [u8; 32] {
    Sha256::digest(words.join("\n").as_bytes()).into()
}

fn first(hash: &[u8; 32]) -> [u8; 16] {
    std::array::from_fn(|place| hash.get(place).copied().unwrap_or_default())
}

fn last(hash: &[u8; 32]) -> [u8; 8] {
    std::array::from_fn(|place| hash.get(place + 24).copied().unwrap_or_default())
}

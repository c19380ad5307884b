//! Messages and thoughts of the model: from stream events and whole lines to items (T5, T6, T8).
//!
//! A block is streamed first, and then told whole in a line of its own, before its stream ends. The line is
//! the truth: a block that never gets one was cut or void, and what was streamed of it fails. Calls of tools
//! are handed on to `tool`.

use std::collections::{BTreeMap, HashMap};

use omniglot_schema::ReasoningVisibility;
use omniglot_timeline::{Body, ItemEnd, ItemKey, ItemStart, Outcome};

use super::step::Step;
use super::wire::{self, Assistant, Block, Delta, Event, Started, StartedBlock, StreamEvent, Tokens};
use super::{Claude, dropped};
use crate::contract::{Draft, DropReason, Output};
use crate::fault::unparsed;

#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// How many messages there were: keys stay unique when ids repeat.
    made: u64,
    /// The message that is being told, of the main thread (`None`) and of each subagent.
    threads: HashMap<Option<String>, Telling>,
}

#[derive(Debug)]
struct Telling {
    id: String,
    number: u64,
    /// How many items the message has.
    items: u32,
    /// Blocks of the stream that no line has told yet, by index.
    streamed: BTreeMap<u32, Streamed>,
    /// The last text of the message, to which its calls belong.
    text: Option<ItemKey>,
    /// The call of the model, while it goes on.
    step: Option<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Streamed {
    Text(ItemKey),
    Thought(ItemKey),
    Call(String),
}

impl Blocks {
    /// The message of this id; another one that was being told before is over.
    fn telling(&mut self, thread: Option<&str>, id: &str, out: &mut Vec<Output>) -> &mut Telling {
        let thread = thread.map(str::to_owned);
        if self.threads.get(&thread).is_some_and(|telling| telling.id != id) {
            self.leave(&thread, out);
        }
        let made = &mut self.made;
        self.threads.entry(thread).or_insert_with(|| {
            *made += 1;
            Telling {
                id: id.to_owned(),
                number: *made,
                items: 0,
                streamed: BTreeMap::new(),
                text: None,
                step: None,
            }
        })
    }

    /// A message is over: what was streamed and never told is void.
    fn leave(&mut self, thread: &Option<String>, out: &mut Vec<Output>) {
        let Some(telling) = self.threads.remove(thread) else { return };
        for block in telling.streamed.into_values() {
            block.fail(out);
        }
        if let Some(step) = telling.step {
            step.fail(out);
        }
    }

    /// The main thread says no more, but the turn goes on for others.
    pub(crate) fn main_thread_ended(&mut self, out: &mut Vec<Output>) {
        self.leave(&None, out);
    }

    /// The turn is over: the Timeline closes what is open.
    pub(crate) fn turn_ended(&mut self) {
        self.threads.clear();
    }
}

impl Telling {
    fn next_key(&mut self) -> ItemKey {
        self.items += 1;
        ItemKey(format!("message:{}:{}", self.number, self.items))
    }

    fn start(&mut self, parent: Option<ItemKey>, body: Body, out: &mut Vec<Output>) -> ItemKey {
        let key = self.next_key();
        if let Body::Message { .. } = body {
            self.text = Some(key.clone());
        }
        let native_id = Some(self.id.clone());
        out.push(Draft::ItemStarted(ItemStart { key: key.clone(), native_id, parent, body }).into());
        key
    }

    /// The item of the next streamed block of this kind, or a new one for a block that was not streamed.
    fn claim(
        &mut self,
        kind: fn(ItemKey) -> Streamed,
        parent: Option<ItemKey>,
        body: Body,
        out: &mut Vec<Output>,
    ) -> ItemKey {
        let is_kind = |block: &Streamed| block.key().is_some_and(|key| kind(key.clone()) == *block);
        let place = self.streamed.iter().find(|(_, block)| is_kind(block)).map(|(index, _)| *index);
        let found = place.and_then(|index| self.streamed.remove(&index));
        match found.as_ref().and_then(Streamed::key) {
            Some(key) => key.clone(),
            None => self.start(parent, body, out),
        }
    }
}

impl Streamed {
    fn key(&self) -> Option<&ItemKey> {
        match self {
            Self::Text(key) | Self::Thought(key) => Some(key),
            Self::Call(_) => None,
        }
    }

    /// A call that was never made is left to the end of the turn.
    fn fail(self, out: &mut Vec<Output>) {
        if let Self::Text(key) | Self::Thought(key) = self {
            out.push(Draft::ItemCompleted(ItemEnd { key, outcome: Outcome::Failed, body: None }).into());
        }
    }
}

impl Claude {
    pub(crate) fn stream(&mut self, event: &StreamEvent<'_>, out: &mut Vec<Output>) {
        let thread = event.parent_tool_use_id.clone();
        match event.event() {
            Ok(Event::MessageStart(started)) => self.message_starts(thread, started, out),
            Ok(Event::BlockStart { index, block }) => self.block_starts(thread, index, block, out),
            Ok(Event::BlockDelta { index, delta }) => self.block_grows(thread, index, delta, out),
            Ok(Event::MessageDelta { usage, stop_reason }) => self.message_grows(&thread, usage, stop_reason),
            Ok(Event::MessageStop) => self.message_stops(thread, event, out),
            Ok(Event::BlockStop) => dropped(DropReason::Internal, out),
            Ok(Event::Ping) => dropped(DropReason::Heartbeat, out),
            Ok(Event::Unknown { kind }) => {
                out.push(Output::unparsed(unparsed("stream_event", format!("unknown event {kind}"))));
            }
            Err(fault) => out.push(Output::unparsed(fault)),
        }
    }

    fn message_starts(&mut self, thread: Option<String>, started: Started, out: &mut Vec<Output>) {
        self.model_speaks(out);
        self.turns.model_is(thread.is_none(), started.model.as_deref());
        self.turns.uses(thread.is_none(), started.usage);
        let parent = thread.as_deref().and_then(|id| self.tools.call_of(id));
        let telling = self.blocks.telling(thread.as_deref(), &started.id, out);
        if self.turns.is_running() && telling.step.is_none() {
            telling.step = Some(Step::start(telling.number, started.id, parent, started.usage, out));
        }
    }

    fn message_grows(&mut self, thread: &Option<String>, usage: Option<Tokens>, stop_reason: Option<String>) {
        let step = self.blocks.threads.get_mut(thread).and_then(|telling| telling.step.as_mut());
        if let Some(step) = step {
            step.add(usage, stop_reason);
            self.turns.uses(thread.is_none(), Some(step.tokens()));
        }
    }

    fn block_starts(
        &mut self,
        thread: Option<String>,
        index: u32,
        block: StartedBlock,
        out: &mut Vec<Output>,
    ) {
        let parent = thread.as_deref().and_then(|id| self.tools.call_of(id));
        let Some(telling) = self.blocks.threads.get_mut(&thread) else {
            return out.push(Output::unparsed(unparsed("stream_event", "a block outside of a message")));
        };
        let streamed = match block {
            StartedBlock::Text => Streamed::Text(telling.start(parent, Body::assistant_text(""), out)),
            StartedBlock::Thinking => {
                Streamed::Thought(telling.start(parent, thought("", ReasoningVisibility::Public), out))
            }
            StartedBlock::RedactedThinking => {
                Streamed::Thought(telling.start(parent, thought("", ReasoningVisibility::Private), out))
            }
            StartedBlock::ToolUse { id, name } => {
                let parent = telling.text.clone().or(parent);
                self.tools.announce(&id, &name, parent, out);
                Streamed::Call(id)
            }
            StartedBlock::Unknown { kind } => {
                let fault = unparsed("stream_event", format!("unknown kind of block: {kind}"));
                return out.push(Output::unparsed(fault));
            }
        };
        telling.streamed.insert(index, streamed);
    }

    fn block_grows(&mut self, thread: Option<String>, index: u32, delta: Delta, out: &mut Vec<Output>) {
        let block = self.blocks.threads.get(&thread).and_then(|telling| telling.streamed.get(&index));
        let (key, delta) = match (delta, block) {
            (Delta::Text(text), Some(Streamed::Text(key)))
            | (Delta::Thinking(text), Some(Streamed::Thought(key))) => (key.clone(), text),
            (Delta::InputJson(delta), Some(Streamed::Call(id))) => {
                let key = self.tools.call_of(id).filter(|_| !delta.is_empty());
                return match key {
                    Some(key) => out.push(Draft::CallInput { key, delta }.into()),
                    None => dropped(DropReason::Internal, out),
                };
            }
            (Delta::Silent, _) => return dropped(DropReason::Internal, out),
            (Delta::Unknown { kind }, _) => {
                let fault = unparsed("stream_event", format!("unknown kind of delta: {kind}"));
                return out.push(Output::unparsed(fault));
            }
            // More of a block whose line has been there.
            (Delta::Text(_) | Delta::Thinking(_) | Delta::InputJson(_), _) => {
                return dropped(DropReason::Superseded, out);
            }
        };
        if delta.is_empty() {
            return dropped(DropReason::Internal, out);
        }
        out.push(Draft::ItemDelta { key, delta }.into());
    }

    /// The end of a stream does not say that its blocks are whole: `abandoned_blocks` does say which are not.
    fn message_stops(&mut self, thread: Option<String>, event: &StreamEvent<'_>, out: &mut Vec<Output>) {
        let Some(telling) = self.blocks.threads.get_mut(&thread) else { return };
        let void_from = event.abandoned_blocks.as_ref().map(|abandoned| abandoned.from_block_index);
        for (index, block) in std::mem::take(&mut telling.streamed) {
            if void_from.is_some_and(|from| index >= from) {
                block.fail(out);
            } else if let Streamed::Text(key) | Streamed::Thought(key) = block {
                let end = ItemEnd { key, outcome: Outcome::Completed, body: None };
                out.push(Draft::ItemCompleted(end).into());
            }
        }
        match telling.step.take() {
            Some(step) if void_from.is_some() => step.fail(out),
            Some(step) => step.complete(out),
            None => {}
        }
    }

    /// One whole block of a reply.
    pub(crate) fn assistant(&mut self, line: Assistant<'_>, out: &mut Vec<Output>) {
        self.model_speaks(out);
        if let Some(kind) = &line.error {
            return self.api_failed(kind, &line, out);
        }
        let mut faults = Vec::new();
        let blocks = wire::blocks(line.message.content, &mut faults);
        match &line.parent_tool_use_id {
            None => self.tell(&line, blocks, None, out),
            Some(parent) => {
                self.turns.has_subagents();
                self.subagent_says(parent, |claude, key, said| claude.tell(&line, blocks, key, said), out);
            }
        }
        out.extend(faults.into_iter().map(Output::unparsed));
    }

    fn tell(
        &mut self,
        line: &Assistant<'_>,
        blocks: Vec<Block<'_>>,
        parent: Option<ItemKey>,
        out: &mut Vec<Output>,
    ) {
        let thread = line.parent_tool_use_id.as_deref();
        self.turns.model_is(thread.is_none(), line.message.model.as_deref());
        // 2.1.197 does not say that a reply was cut, but only an interrupt cuts one.
        let cut = line.aborted || (thread.is_none() && self.turns.is_cancelled());
        let outcome = if cut { Outcome::Failed } else { Outcome::Completed };
        for block in blocks {
            let telling = self.blocks.telling(thread, &line.message.id, out);
            match block {
                // What 2.1.197 writes for a command that says nothing.
                Block::Text(text) if text == NO_CONTENT => dropped(DropReason::Internal, out),
                Block::Text(text) => {
                    let key = telling.claim(Streamed::Text, parent.clone(), Body::assistant_text(""), out);
                    complete(key, outcome, Body::assistant_text(text), out);
                }
                Block::Thinking(text) => {
                    let visibility = visibility(&text);
                    let begun = thought("", visibility);
                    let key = telling.claim(Streamed::Thought, parent.clone(), begun, out);
                    complete(key, outcome, thought(&text, visibility), out);
                }
                Block::RedactedThinking => {
                    let body = thought("", ReasoningVisibility::Private);
                    let key = telling.claim(Streamed::Thought, parent.clone(), body.clone(), out);
                    complete(key, outcome, body, out);
                }
                Block::ToolUse(call) => {
                    telling.streamed.retain(|_, block| *block != Streamed::Call(call.id.clone()));
                    let parent = telling.text.clone().or_else(|| parent.clone());
                    self.tool_called(call, parent, thread.is_none(), out);
                }
                Block::Image(source) => {
                    let parts = super::output::image(source).into_iter().collect();
                    let body = Body::Message { role: omniglot_schema::ItemRole::Assistant, parts };
                    let key = telling.start(parent.clone(), body, out);
                    out.push(Draft::ItemCompleted(ItemEnd { key, outcome, body: None }).into());
                }
                Block::ToolResult(_) | Block::ToolReference(_) | Block::Unknown { .. } => {
                    let fault = unparsed("assistant.content", "a block that no assistant writes");
                    out.push(Output::unparsed(fault));
                }
            }
        }
    }
}

const NO_CONTENT: &str = "(no content)";

fn complete(key: ItemKey, outcome: Outcome, body: Body, out: &mut Vec<Output>) {
    out.push(Draft::ItemCompleted(ItemEnd { key, outcome, body: Some(body) }).into());
}

fn thought(text: &str, visibility: ReasoningVisibility) -> Body {
    Body::Reasoning { text: text.to_owned(), visibility }
}

/// A thought that was had but is not shown has a signature and no text.
fn visibility(text: &str) -> ReasoningVisibility {
    if text.is_empty() { ReasoningVisibility::Private } else { ReasoningVisibility::Public }
}

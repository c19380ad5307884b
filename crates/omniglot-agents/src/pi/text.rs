//! Messages and thoughts of the model, block by block, from updates to items (T5, T6, T8), and its calls as steps.
//!
//! A message is over with `message_end`, which also ends the blocks that a failure has left open.

use std::collections::BTreeMap;

use omniglot_schema::{ItemRole, ReasoningVisibility};
use omniglot_timeline::{Body, CallStart, ItemEnd, ItemKey, ItemStart, Outcome};

use super::wire::{Block, Change, Message, Named, Update};
use super::{Pi, dropped, tool_kinds, usage};
use crate::about::About;
use crate::contract::{Draft, DropReason, Output};

/// The message that the model is writing.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// How many messages there were: items of Pi have no ids.
    messages: u64,
    is_open: bool,
    native_id: Option<String>,
    blocks: BTreeMap<u64, Written>,
}

/// A block as far as it is told.
#[derive(Debug)]
struct Written {
    key: ItemKey,
    kind: Kind,
    is_closed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thought,
    Call,
}

impl Blocks {
    fn key(&self, index: u64) -> ItemKey {
        ItemKey(format!("message:{}:{index}", self.messages))
    }

    fn step(&self) -> ItemKey {
        ItemKey(format!("step:{}", self.messages))
    }

    /// Returns the block, which begins if nobody has heard of it.
    fn begin(&mut self, index: u64, kind: Kind, out: &mut Vec<Output>) -> &mut Written {
        let (key, native_id) = (self.key(index), self.native_id.clone());
        self.blocks.entry(index).or_insert_with(|| {
            let body = match kind {
                Kind::Thought => thought(String::new()),
                Kind::Text | Kind::Call => Body::Message { role: ItemRole::Assistant, parts: vec![] },
            };
            let start = ItemStart { key: key.clone(), native_id, parent: None, body };
            out.push(Draft::ItemStarted(start).into());
            Written { key, kind, is_closed: false }
        })
    }

    /// Ends a message that its turn did not wait for.
    pub(crate) fn abandon(&mut self, out: &mut Vec<Output>) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        for block in std::mem::take(&mut self.blocks).into_values().filter(|block| !block.is_closed) {
            block.close(None, Outcome::Failed, out);
        }
        out.push(ended(self.step(), Outcome::Failed, None));
    }
}

impl Written {
    fn close(self, text: Option<String>, outcome: Outcome, out: &mut Vec<Output>) {
        let body = text.map(|text| match self.kind {
            Kind::Thought => thought(text),
            Kind::Text | Kind::Call => Body::assistant_text(text),
        });
        match self.kind {
            Kind::Text | Kind::Thought => out.push(ended(self.key, outcome, body)),
            // The arguments were not finished, so the call never runs.
            Kind::Call => out.push(Draft::CallReady { key: self.key, call: None }.into()),
        }
    }
}

fn ended(key: ItemKey, outcome: Outcome, body: Option<Body>) -> Output {
    Draft::ItemCompleted(ItemEnd { key, outcome, body }).into()
}

fn thought(text: String) -> Body {
    Body::Reasoning { text, visibility: ReasoningVisibility::Public }
}

impl Pi {
    /// The model is called.
    pub(crate) fn answer_started(&mut self, out: &mut Vec<Output>) {
        self.blocks.abandon(out);
        self.blocks.messages += 1;
        (self.blocks.is_open, self.blocks.native_id) = (true, None);
        let body = Body::Step { detail: None, usage: None };
        let start = ItemStart { key: self.blocks.step(), native_id: None, parent: None, body };
        out.push(Draft::ItemStarted(start).into());
    }

    pub(crate) fn message_updated(&mut self, update: Update, out: &mut Vec<Output>) {
        let Update { assistant_message_event: change, message } = update;
        if let Some(Named { response_id: Some(id) }) = message {
            self.blocks.native_id = Some(id);
        }
        let index = change.content_index;
        match change.r#type.as_str() {
            "text_start" => drop(self.blocks.begin(index, Kind::Text, out)),
            "thinking_start" => drop(self.blocks.begin(index, Kind::Thought, out)),
            "text_delta" => self.grows(index, Kind::Text, change.delta, out),
            "thinking_delta" => self.grows(index, Kind::Thought, change.delta, out),
            "text_end" => self.block_ends(index, Kind::Text, change.content, Outcome::Completed, out),
            "thinking_end" => self.block_ends(index, Kind::Thought, change.content, Outcome::Completed, out),
            "toolcall_start" => self.call_begins(&change, out),
            "toolcall_delta" => self.arguments_grow(index, change.delta, out),
            "toolcall_end" => self.call_is_ready(change, out),
            other => {
                let fault = crate::fault::unparsed(format!("message_update.{other}"), "unknown change");
                out.push(Output::unparsed(fault));
            }
        }
    }

    fn grows(&mut self, index: u64, kind: Kind, delta: String, out: &mut Vec<Output>) {
        let key = self.blocks.begin(index, kind, out).key.clone();
        if !delta.is_empty() {
            out.push(Draft::ItemDelta { key, delta }.into());
        }
    }

    fn block_ends(
        &mut self,
        index: u64,
        kind: Kind,
        text: Option<String>,
        outcome: Outcome,
        out: &mut Vec<Output>,
    ) {
        let block = self.blocks.begin(index, kind, out);
        if std::mem::replace(&mut block.is_closed, true) {
            return dropped(DropReason::Duplicate, out);
        }
        let closed = Written { key: block.key.clone(), kind: block.kind, is_closed: true };
        closed.close(text, outcome, out);
    }

    fn call_begins(&mut self, change: &Change, out: &mut Vec<Output>) {
        let index = change.content_index;
        if self.blocks.blocks.contains_key(&index) {
            return dropped(DropReason::Duplicate, out);
        }
        let (native_id, name) = change.call();
        let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".to_owned());
        let key = self.blocks.key(index);
        let written = Written { key: key.clone(), kind: Kind::Call, is_closed: false };
        self.blocks.blocks.insert(index, written);
        let parent = self.message_of_call(index);
        let call = About::of(tool_kinds::kind(&name)).call(name, "");
        out.push(Draft::CallStarted(CallStart { key, native_id, parent, call }).into());
    }

    /// A call belongs to the text that stands before it in the same message.
    fn message_of_call(&self, index: u64) -> Option<ItemKey> {
        let before = self.blocks.blocks.range(..index).rev();
        before.map(|(_, block)| block).find(|block| block.kind == Kind::Text).map(|block| block.key.clone())
    }

    fn arguments_grow(&mut self, index: u64, delta: String, out: &mut Vec<Output>) {
        match self.blocks.blocks.get(&index) {
            Some(block) if block.kind == Kind::Call && !delta.is_empty() => {
                out.push(Draft::CallInput { key: block.key.clone(), delta }.into());
            }
            _ => dropped(DropReason::Internal, out),
        }
    }

    fn call_is_ready(&mut self, change: Change, out: &mut Vec<Output>) {
        let index = change.content_index;
        if !self.blocks.blocks.contains_key(&index) {
            self.call_begins(&change, out);
        }
        let Some(call) = change.tool_call else { return dropped(DropReason::Internal, out) };
        if let Some(block) = self.blocks.blocks.get_mut(&index) {
            block.is_closed = true;
            self.tools.called(block.key.clone(), call.id, call.name, call.arguments.as_deref(), out);
        }
    }

    /// The whole message: what was not told of it yet, how it ended, and what it has used.
    pub(crate) fn answer_ended(&mut self, message: &Message<'_>, out: &mut Vec<Output>) {
        if !self.blocks.is_open {
            self.answer_started(out);
        }
        let has_failed = matches!(message.stop_reason.as_deref(), Some("error" | "aborted"));
        let outcome = if has_failed { Outcome::Failed } else { Outcome::Completed };
        let mut faults = Vec::new();
        for (index, block) in (0..).zip(message.blocks(&mut faults)) {
            self.block_is(index, block, outcome, out);
        }
        out.extend(faults.into_iter().map(Output::unparsed));
        for (_, block) in
            std::mem::take(&mut self.blocks.blocks).into_iter().filter(|(_, block)| !block.is_closed)
        {
            block.close(None, Outcome::Failed, out);
        }
        self.blocks.is_open = false;
        let usage = message.usage.and_then(usage::of_tokens);
        out.push(ended(self.blocks.step(), outcome, Some(Body::Step { detail: None, usage })));
        if let (Some(turn), Some(model)) = (self.turns.running_mut(), &message.model) {
            let provider = message.provider.as_ref().map(|provider| format!("{provider}/"));
            turn.model = Some(format!("{}{model}", provider.unwrap_or_default()));
        }
        if let Some(turn) = self.turns.running_mut() {
            turn.answered(message.stop_reason.as_deref(), message.error_message.as_deref());
        }
        self.used(message.usage, out);
    }

    fn block_is(&mut self, index: u64, block: Block<'_>, outcome: Outcome, out: &mut Vec<Output>) {
        if self.blocks.blocks.get(&index).is_some_and(|block| block.is_closed) {
            return;
        }
        match block {
            Block::Text { text } => self.block_ends(index, Kind::Text, Some(text), outcome, out),
            Block::Thinking { text } => self.block_ends(index, Kind::Thought, Some(text), outcome, out),
            Block::Call(call) => {
                let key = self.blocks.key(index);
                let begun = self
                    .blocks
                    .blocks
                    .insert(index, Written { key: key.clone(), kind: Kind::Call, is_closed: true });
                if begun.is_none() {
                    let parent = self.message_of_call(index);
                    let begun = About::of(tool_kinds::kind(&call.name)).call(call.name.clone(), "");
                    let native_id = Some(call.id.clone());
                    out.push(
                        Draft::CallStarted(CallStart { key: key.clone(), native_id, parent, call: begun })
                            .into(),
                    );
                }
                self.tools.called(key, call.id, call.name, call.arguments, out);
            }
            Block::Image(_) | Block::Unknown => {}
        }
    }
}

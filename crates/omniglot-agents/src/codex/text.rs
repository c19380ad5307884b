//! What Codex says and thinks: messages, plans and reasoning, each an item of its own (T6, T8).

use std::collections::HashMap;

use omniglot_schema::{ContentPart, ReasoningVisibility};
use omniglot_timeline::{Body, ItemEnd, ItemKey, ItemStart, Outcome};

use super::wire::{AgentMessage, Reasoning};
use crate::contract::{Draft, DropReason, Output};

#[derive(Debug, Default)]
pub(crate) struct Texts {
    /// By thread and native id.
    open: HashMap<(String, String), Text>,
    /// How many there were: keys stay unique when a model repeats its ids.
    made: u64,
}

#[derive(Debug)]
struct Text {
    number: u64,
    /// The turn that it began in.
    turn: u64,
    parent: Option<ItemKey>,
    /// Whether its item was started; a thought has one for its summary and one for itself.
    told: [bool; 2],
}

/// Where something is said.
#[derive(Debug, Clone)]
pub(crate) struct Spot {
    pub(crate) thread: String,
    pub(crate) id: String,
    /// The call that started the child agent that says it.
    pub(crate) parent: Option<ItemKey>,
    /// The number of the turn that runs; without one, only what is complete is told.
    pub(crate) turn: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    Answer,
    Summary,
    Thought,
}

impl Voice {
    fn key(self, text: &Text, id: &str) -> ItemKey {
        let kind = match self {
            Self::Answer => "text",
            Self::Summary => "summary",
            Self::Thought => "thought",
        };
        ItemKey(format!("{kind}:{}:{id}", text.number))
    }

    fn slot(self, text: &mut Text) -> &mut bool {
        let [first, second] = &mut text.told;
        match self {
            Self::Answer | Self::Summary => first,
            Self::Thought => second,
        }
    }

    fn body(self, text: String) -> Body {
        match self {
            Self::Answer => Body::assistant_text(text),
            Self::Summary => Body::Reasoning { text, visibility: ReasoningVisibility::Public },
            Self::Thought => Body::Reasoning { text, visibility: ReasoningVisibility::Private },
        }
    }
}

impl Texts {
    pub(crate) fn turn_started(&mut self, turn: u64) {
        self.open.retain(|_, text| text.turn + 1 >= turn);
    }

    /// A message or plan begins, perhaps with text already.
    pub(crate) fn begin(&mut self, spot: &Spot, text: &str, out: &mut Vec<Output>) {
        self.add(spot);
        self.start(spot, Voice::Answer, out);
        if !text.is_empty() && spot.turn.is_some() {
            self.extend(spot, Voice::Answer, text.to_owned(), out);
        }
    }

    /// A thought begins; which of its items there will be is not known yet.
    pub(crate) fn begin_thought(&mut self, spot: &Spot, out: &mut Vec<Output>) {
        self.add(spot);
        out.push(superseded());
    }

    /// Another part of a thought's summary; all of them are one text.
    pub(crate) fn part(&mut self, spot: &Spot, index: u64, out: &mut Vec<Output>) {
        if index == 0 {
            self.start(spot, Voice::Summary, out);
        } else {
            self.extend(spot, Voice::Summary, BREAK.to_owned(), out);
        }
    }

    pub(crate) fn extend(&mut self, spot: &Spot, voice: Voice, delta: String, out: &mut Vec<Output>) {
        self.start(spot, voice, out);
        let known = self.open.get_mut(&spot.name());
        match known.filter(|text| spot.turn == Some(text.turn)) {
            Some(text) => {
                let key = voice.key(text, &spot.id);
                out.push(Draft::ItemDelta { key, delta }.into());
            }
            None => out.push(superseded()),
        }
    }

    pub(crate) fn message_done(&mut self, spot: &Spot, message: AgentMessage, out: &mut Vec<Output>) {
        let mut body = Body::assistant_text(message.text);
        if let (Some(json), Body::Message { parts, .. }) = (message.questions, &mut body) {
            parts.push(ContentPart::Json { json });
        }
        self.done(spot, Voice::Answer, body, out);
        self.open.remove(&spot.name());
    }

    pub(crate) fn plan_done(&mut self, spot: &Spot, text: String, out: &mut Vec<Output>) {
        self.done(spot, Voice::Answer, Voice::Answer.body(text), out);
        self.open.remove(&spot.name());
    }

    /// Without a word of it, the thought is hidden: one private part that is empty.
    pub(crate) fn thought_done(&mut self, spot: &Spot, thought: &Reasoning, out: &mut Vec<Output>) {
        let summary = thought.summary.join(BREAK);
        let content = thought.content.join(BREAK);
        let hidden = summary.is_empty() && content.is_empty();
        if !summary.is_empty() {
            self.done(spot, Voice::Summary, Voice::Summary.body(summary), out);
        }
        if !content.is_empty() || hidden {
            self.done(spot, Voice::Thought, Voice::Thought.body(content), out);
        }
        self.open.remove(&spot.name());
    }

    fn done(&mut self, spot: &Spot, voice: Voice, body: Body, out: &mut Vec<Output>) {
        self.start(spot, voice, out);
        let Some(text) = self.open.get(&spot.name()) else { return };
        let key = voice.key(text, &spot.id);
        let end = ItemEnd { key, outcome: Outcome::Completed, body: Some(body) };
        out.push(Draft::ItemCompleted(end).into());
    }

    fn add(&mut self, spot: &Spot) {
        self.made += 1;
        let turn = spot.turn.unwrap_or(0);
        let text = Text { number: self.made, turn, parent: spot.parent.clone(), told: [false; 2] };
        self.open.insert(spot.name(), text);
    }

    /// Starts the item, unless that was done, or no turn is there for it.
    fn start(&mut self, spot: &Spot, voice: Voice, out: &mut Vec<Output>) {
        if !self.open.contains_key(&spot.name()) {
            self.add(spot);
        }
        let Some(text) = self.open.get_mut(&spot.name()) else { return };
        if spot.turn != Some(text.turn) || std::mem::replace(voice.slot(text), true) {
            return;
        }
        let start = ItemStart {
            key: voice.key(text, &spot.id),
            native_id: Some(spot.id.clone()),
            parent: text.parent.clone(),
            body: voice.body(String::new()),
        };
        out.push(Draft::ItemStarted(start).into());
    }
}

impl Spot {
    pub(crate) fn name(&self) -> (String, String) {
        (self.thread.clone(), self.id.clone())
    }
}

fn superseded() -> Output {
    Output::Dropped { reason: DropReason::Superseded }
}

/// Between two parts of one text.
const BREAK: &str = "\n\n";

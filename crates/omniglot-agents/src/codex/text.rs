//! Messages, plans and reasoning of Codex, each an item of its own (T6, T8).

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
    /// The items that were started; a thought may have one for its summary and one for itself.
    told: Vec<Voice>,
}

/// Where something is said.
#[derive(Debug, Clone)]
pub(crate) struct Spot {
    pub(crate) thread: String,
    pub(crate) id: String,
    /// Codex's own id.
    pub(crate) native: Option<String>,
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

    /// A message, plan or thought begins, perhaps with text already. Its item begins with its first words: the
    /// first message of a review has none, and never ends.
    pub(crate) fn begin(&mut self, spot: &Spot, text: &str, out: &mut Vec<Output>) {
        self.add(spot);
        if text.is_empty() {
            return out.push(superseded());
        }
        self.extend(spot, Voice::Answer, text.to_owned(), out);
    }

    /// Another part of a thought's summary; all of them are one text.
    pub(crate) fn part(&mut self, spot: &Spot, index: u64, out: &mut Vec<Output>) {
        if index == 0 {
            return out.push(superseded());
        }
        self.extend(spot, Voice::Summary, BREAK.to_owned(), out);
    }

    /// The stream of the model broke off: Codex leaves what was being said, and begins anew.
    pub(crate) fn abandon(&mut self, thread: &str, out: &mut Vec<Output>) {
        let mut left: Vec<_> = self.open.extract_if(|(of, _), _| of == thread).collect();
        left.sort_by_key(|(_, text)| text.number);
        for ((_, id), text) in left {
            for voice in &text.told {
                let key = voice.key(&text, &id);
                out.push(Draft::ItemCompleted(ItemEnd { key, outcome: Outcome::Failed, body: None }).into());
            }
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
        let text = Text { number: self.made, turn, parent: spot.parent.clone(), told: vec![] };
        self.open.insert(spot.name(), text);
    }

    /// Starts the item, unless that was done, or no turn is there for it.
    fn start(&mut self, spot: &Spot, voice: Voice, out: &mut Vec<Output>) {
        if !self.open.contains_key(&spot.name()) {
            self.add(spot);
        }
        let Some(text) = self.open.get_mut(&spot.name()) else { return };
        if spot.turn != Some(text.turn) || text.told.contains(&voice) {
            return;
        }
        text.told.push(voice);
        let start = ItemStart {
            key: voice.key(text, &spot.id),
            native_id: spot.native.clone(),
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
    Output::dropped(DropReason::Superseded)
}

/// Between two parts of one text.
const BREAK: &str = "\n\n";

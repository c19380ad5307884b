//! Turns: begun by the prompt that was sent, ended by the `result` line (T4, T9).
//!
//! ```text
//!          prompt sent                 stop_reason end_turn               result
//!   none ─────────────▶ running ────────────────────────▶ answered ─────────────────▶ none
//!                          ▲                                  │
//!                          └──────────────────────────────────┘
//!                 the next of several prompts begins a turn of its own
//! ```
//!
//! We send one prompt to each process; recordings have processes with several.

use std::collections::VecDeque;

use omniglot_schema::{ContentPart, ItemRole, MessageId, StderrOutput, StopReason, Usage};
use omniglot_timeline::{Body, Origin, TurnEnd};

use super::outgoing::Sent;
use super::wire::{Tokens, TurnResult};
use super::{Amp, dropped, failure};
use crate::contract::{Draft, DropReason, Output};

#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Messages whose prompts were built but not seen on the wire yet.
    pub(crate) commanded: VecDeque<Option<MessageId>>,
    running: Option<Running>,
    /// Prompts that Amp has and has not repeated yet.
    unrepeated: VecDeque<Prompt>,
}

#[derive(Debug)]
struct Prompt {
    message_id: Option<MessageId>,
    content: Vec<ContentPart>,
    text: String,
    /// Its turn has begun.
    begun: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Running {
    cancelled: bool,
    /// The model has said all that it will say.
    answered: bool,
    usage: Option<Usage>,
}

impl Turns {
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Whether a turn runs that nobody has cancelled.
    pub(crate) fn goes_on(&self) -> bool {
        self.running.as_ref().is_some_and(|turn| !turn.cancelled)
    }

    pub(crate) fn cancelled(&mut self) {
        if let Some(turn) = &mut self.running {
            turn.cancelled = true;
        }
    }

    fn is_answered(&self) -> bool {
        self.running.as_ref().is_some_and(|turn| turn.answered)
    }
}

impl Amp {
    pub(crate) fn prompt_was_argument(&mut self, text: &str, out: &mut Vec<Output>) {
        self.prompted(None, vec![ContentPart::text(text)], text.to_owned(), out);
    }

    pub(crate) fn prompt_sent(&mut self, sent: &Sent, out: &mut Vec<Output>) {
        self.tell_session(out);
        let message_id = self.turns.commanded.pop_front().flatten();
        self.prompted(message_id, sent.content(), sent.text(), out);
    }

    fn prompted(
        &mut self,
        message_id: Option<MessageId>,
        content: Vec<ContentPart>,
        text: String,
        out: &mut Vec<Output>,
    ) {
        let begun = !self.turns.is_running() || self.turns.is_answered();
        if begun {
            self.begin(message_id.clone(), content.clone(), out);
        }
        self.turns.unrepeated.push_back(Prompt { message_id, content, text, begun });
    }

    fn begin(&mut self, message_id: Option<MessageId>, content: Vec<ContentPart>, out: &mut Vec<Output>) {
        self.finish(TurnEnd::new(StopReason::EndTurn), out);
        self.turns.running = Some(Running::default());
        out.push(Draft::TurnStarted(Origin::User { message_id, content }).into());
    }

    /// Amp repeats every prompt when it turns to it. Words that nobody sent here come from another client.
    pub(crate) fn user_repeated(&mut self, text: String, out: &mut Vec<Output>) {
        let place = self.turns.unrepeated.iter().position(|prompt| prompt.text == text);
        match place.and_then(|place| self.turns.unrepeated.remove(place)) {
            Some(prompt) if prompt.begun => dropped(DropReason::Echo, out),
            Some(prompt) if self.turns.is_running() && !self.turns.is_answered() => {
                self.note(Body::Message { role: ItemRole::User, parts: prompt.content }, out);
            }
            Some(prompt) => self.begin(prompt.message_id, prompt.content, out),
            None if self.turns.is_running() && !self.turns.is_answered() => {
                self.note(Body::message(ItemRole::User, text), out);
            }
            None => self.begin(None, vec![ContentPart::text(text)], out),
        }
    }

    /// One call of the model is over.
    pub(crate) fn answered(&mut self, stop: Option<&str>, tokens: Option<Tokens>, out: &mut Vec<Output>) {
        let usage = tokens.map(used);
        if usage.is_some() {
            self.note(Body::Step { detail: None, usage: usage.clone() }, out);
        }
        if let Some(turn) = &mut self.turns.running {
            turn.answered = stop == Some("end_turn");
            turn.usage = Usage::sum(turn.usage.take(), usage);
        }
    }

    pub(crate) fn result(&mut self, result: TurnResult, out: &mut Vec<Output>) {
        let cancelled = self.turns.running.as_ref().is_some_and(|turn| turn.cancelled);
        let end = match result.error.filter(|_| result.is_error) {
            None => TurnEnd::new(StopReason::EndTurn),
            Some(words) if failure::is_cancel(&words) && cancelled => TurnEnd::new(StopReason::Cancelled),
            Some(words) => TurnEnd::failed(failure::of_turn(&words)),
        };
        match (self.turns.is_running(), end.error) {
            (true, error) => self.finish(TurnEnd { error, ..end }, out),
            // A process that got no prompt says so when it is stopped.
            (false, Some(error)) if !failure::is_no_prompt(&error.message) => {
                out.push(Draft::Error(error).into());
            }
            (false, _) => dropped(DropReason::Internal, out),
        }
    }

    /// The process is gone and has not said how its turn ended; its stderr may tell.
    pub(crate) fn ended_without_result(
        &mut self,
        code: Option<i32>,
        stderr: &StderrOutput,
        out: &mut Vec<Output>,
    ) {
        let cancelled = self.turns.running.as_ref().is_some_and(|turn| turn.cancelled);
        if self.turns.is_answered() {
            return self.finish(TurnEnd::new(StopReason::EndTurn), out);
        }
        let words = stderr.tail.as_deref().or(stderr.head.as_deref()).unwrap_or_default();
        // A cancelled turn is ended by the runtime, and one that was killed has no last words.
        if cancelled || !self.turns.is_running() || code == Some(0) || code.is_none() || words.is_empty() {
            return;
        }
        if failure::is_unknown_thread(words) {
            out.push(Draft::SessionForgotten.into());
        }
        self.finish(TurnEnd::failed(failure::of_exit(words)), out);
    }

    fn finish(&mut self, end: TurnEnd, out: &mut Vec<Output>) {
        let Some(turn) = self.turns.running.take() else { return };
        out.push(Draft::TurnEnded(TurnEnd { usage: turn.usage, ..end }).into());
    }
}

fn used(tokens: Tokens) -> Usage {
    let usage = Usage {
        input_tokens: Some(tokens.input_tokens),
        output_tokens: Some(tokens.output_tokens),
        reasoning_tokens: None,
        cache_read_tokens: Some(tokens.cache_read_input_tokens),
        cache_write_tokens: Some(tokens.cache_creation_input_tokens),
        total_tokens: None,
    };
    usage.with_total()
}

//! Turns: begun by a prompt that was really sent or by Pi itself; how their end is found (T4, T9).
//!
//! ```text
//!            prompt sent,                agent_end              agent_settled (1.5)
//!   none ── or agent_start ──▶ running ───────────▶ ending ── or the proof (0.73) ──▶ none
//!                                 ▲                    │
//!                                 └────────────────────┘
//!                       a retry, a compaction, or what steered too late
//! ```
//!
//! In versions without `agent_settled` whatever goes on is the very next line after `agent_end`, so the next answer
//! to any command proves the end; `get_state` is sent to get one. Dialogs prove nothing: extensions act at any time.

use std::collections::VecDeque;

use omniglot_schema::{
    Activity, ContentPart, ErrorCode, ItemRole, MessageId, StatePatch, StatusLabel, StopReason, Usage,
};
use omniglot_timeline::{Body, Failure, Origin, TurnEnd, inline_image};

use super::outgoing::{Image, Outgoing};
use super::translate::parts;
use super::wire::{Accepted, CompactionEnd, CompactionStart, Line, Message, Response, RetryEnd, RetryStart};
use super::{COMPACT, Pi, dropped, failure, usage};
use crate::contract::{Draft, DropReason, Output};
use crate::conversation::cost::rounded;
use crate::conversation::items::completed;

const ABORTED: &str = "something else than the person aborted the turn";

#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// How many have begun.
    pub(crate) begun: u64,
    /// Messages whose prompts were built but not seen on the wire yet.
    pub(crate) commanded: VecDeque<Option<MessageId>>,
    running: Option<Running>,
    /// This version says when a turn is over.
    settles: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Running {
    /// Pi works on it.
    started: bool,
    ending: bool,
    cancelled: bool,
    /// It is a compaction that somebody asked for, which ends with its answer.
    compacts: bool,
    /// Messages that were sent to Pi and not repeated by it yet.
    unrepeated: VecDeque<Vec<ContentPart>>,
    pub(crate) model: Option<String>,
    pub(crate) usage: Option<Usage>,
    pub(crate) cost: Option<f64>,
    /// How the last answer of the model ended, and why.
    last: Option<(String, Option<String>)>,
}

impl Turns {
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.running.as_ref().is_some_and(|turn| turn.ending)
    }

    pub(crate) fn running_mut(&mut self) -> Option<&mut Running> {
        self.running.as_mut()
    }

    /// Whether messages that wait in Pi itself can be taken back.
    pub(crate) fn clears_queue(&self) -> bool {
        self.settles
    }

    pub(crate) fn cancel_sent(&mut self) {
        if let Some(turn) = &mut self.running {
            turn.cancelled = true;
        }
    }
}

impl Running {
    pub(crate) fn answered(&mut self, stop: Option<&str>, error: Option<&str>) {
        self.last = stop.map(|stop| (stop.to_owned(), error.map(str::to_owned)));
    }
}

impl Pi {
    /// Ends a turn whose end the next line proves.
    pub(crate) fn before_line(&mut self, line: &Line<'_>, out: &mut Vec<Output>) {
        let Some(turn) = self.turns.running.as_ref().filter(|turn| turn.ending) else { return };
        let begins_anew = matches!(line, Line::AgentStart) && turn.started && turn.unrepeated.is_empty();
        let is_over = begins_anew || matches!(line, Line::Response(_));
        if is_over {
            self.finish_turn(None, out);
        }
    }

    /// A message went to Pi: a turn begins, or the running one is steered.
    pub(crate) fn prompt_sent(&mut self, message: &str, images: &[Image], out: &mut Vec<Output>) {
        let message_id = self.turns.commanded.pop_front().flatten();
        let text = Some(message).filter(|text| !text.is_empty()).map(ContentPart::text);
        let images = images.iter().map(|image| inline_image(&image.mime_type, &image.data));
        let content: Vec<_> = text.into_iter().chain(images).collect();
        if self.turns.is_ending() {
            self.finish_turn(None, out);
        }
        match &mut self.turns.running {
            Some(turn) => {
                turn.unrepeated.push_back(content.clone());
                let start = self.notes.item("note", Body::Message { role: ItemRole::User, parts: content });
                let key = start.key.clone();
                out.extend([Draft::Steered { message_id, start }.into(), completed(key)]);
            }
            None => {
                let unrepeated = VecDeque::from([content.clone()]);
                self.begin(Running { unrepeated, ..Running::default() });
                out.push(Draft::TurnStarted(Origin::User { message_id, content }).into());
            }
        }
    }

    fn begin(&mut self, turn: Running) {
        self.turns.begun += 1;
        self.turns.running = Some(turn);
    }

    pub(crate) fn compact_sent(&mut self, instructions: Option<&str>, out: &mut Vec<Output>) {
        let message_id = self.turns.commanded.pop_front().flatten();
        if self.turns.is_ending() {
            self.finish_turn(None, out);
        }
        if self.turns.is_running() {
            return;
        }
        let words = instructions.map_or_else(|| COMPACT.to_owned(), |words| format!("{COMPACT} {words}"));
        let content = vec![ContentPart::text(words)];
        self.begin(Running { compacts: true, ..Running::default() });
        out.push(Draft::TurnStarted(Origin::User { message_id, content }).into());
    }

    /// Pi repeats what it was sent. Words that nobody sent here come from an extension or another queue.
    pub(crate) fn user_repeated(&mut self, message: &Message<'_>, out: &mut Vec<Output>) {
        let mut faults = Vec::new();
        let said = parts(message.blocks(&mut faults));
        out.extend(faults.into_iter().map(Output::unparsed));
        let known = self.turns.running.as_mut().and_then(|turn| {
            let place = turn.unrepeated.iter().position(|sent| text_of(sent) == text_of(&said))?;
            turn.unrepeated.remove(place)
        });
        match known {
            Some(_) => dropped(DropReason::Echo, out),
            // A prompt may be changed on its way, by a template or an extension.
            None if self.turns.running.as_mut().is_some_and(|turn| turn.unrepeated.pop_front().is_some()) => {
                self.note(Body::System { parts: said }, out);
            }
            None => self.note(Body::Message { role: ItemRole::User, parts: said }, out),
        }
    }

    pub(crate) fn prompt_answered(&mut self, message: &str, response: &Response<'_>, out: &mut Vec<Output>) {
        let Some(turn) = &mut self.turns.running else { return dropped(DropReason::Internal, out) };
        if !response.success {
            if turn.started {
                return self.status(StatusLabel::Warning, response.words(), out);
            }
            let failure = failure::of_refusal(&response.words());
            return self.end_turn(TurnEnd::failed(failure), out);
        }
        let told = response.data.and_then(|data| serde_json::from_str::<Accepted>(data.get()).ok());
        match told.and_then(|told| told.disposition) {
            Some(disposition) if disposition == "handled" => self.finish_turn(None, out),
            Some(_) => dropped(DropReason::Internal, out),
            // An extension's command is over with its answer, and older versions do not say so.
            None if message.starts_with('/') && !turn.started => {
                turn.ending = true;
                self.send(Outgoing::GetState, out);
            }
            None => dropped(DropReason::Internal, out),
        }
    }

    pub(crate) fn agent_started(&mut self, out: &mut Vec<Output>) {
        match &mut self.turns.running {
            Some(turn) => {
                (turn.started, turn.ending) = (true, false);
                dropped(DropReason::Internal, out);
            }
            None => {
                self.begin(Running { started: true, ..Running::default() });
                out.push(Draft::TurnStarted(Origin::Agent).into());
            }
        }
    }

    /// The loop has ended, and may begin again at once.
    pub(crate) fn agent_ended(&mut self, will_retry: Option<bool>, out: &mut Vec<Output>) {
        self.turns.settles |= will_retry.is_some();
        if self.turns.settles {
            return dropped(DropReason::Internal, out);
        }
        self.ask_whether_over(out);
    }

    fn ask_whether_over(&mut self, out: &mut Vec<Output>) {
        let Some(turn) = self.turns.running.as_mut().filter(|turn| turn.started && !turn.compacts) else {
            return dropped(DropReason::Internal, out);
        };
        turn.ending = true;
        self.send(Outgoing::GetState, out);
    }

    pub(crate) fn settled(&mut self, aborted: bool, out: &mut Vec<Output>) {
        self.turns.settles = true;
        match &self.turns.running {
            Some(turn) if !turn.compacts => self.finish_turn(Some(aborted), out),
            _ => dropped(DropReason::Internal, out),
        }
    }

    pub(crate) fn finish_turn(&mut self, aborted: Option<bool>, out: &mut Vec<Output>) {
        let Some(turn) = &mut self.turns.running else { return };
        let (stop, words) = turn.last.take().unwrap_or_default();
        let has_stopped = aborted == Some(true) || matches!(stop.as_str(), "aborted" | "error" | "");
        let end = match stop.as_str() {
            _ if turn.cancelled && has_stopped => TurnEnd::new(StopReason::Cancelled),
            _ if aborted == Some(true) => TurnEnd::failed(Failure::new(ErrorCode::Aborted, ABORTED)),
            "error" => TurnEnd::failed(failure::of_model(words.as_deref().unwrap_or("the model failed"))),
            "aborted" => TurnEnd::failed(Failure::new(ErrorCode::Aborted, ABORTED)),
            "length" => TurnEnd::new(StopReason::MaxTokens),
            _ => TurnEnd::new(StopReason::EndTurn),
        };
        self.end_turn(end, out);
    }

    fn end_turn(&mut self, end: TurnEnd, out: &mut Vec<Output>) {
        let Some(turn) = self.turns.running.take() else { return };
        self.blocks.abandon(out);
        let (model, usage, cost_usd) = (turn.model, turn.usage, turn.cost.map(rounded));
        out.push(Draft::TurnEnded(TurnEnd { model, usage, cost_usd, ..end }).into());
    }

    pub(crate) fn compaction_started(&mut self, start: &CompactionStart, out: &mut Vec<Output>) {
        self.goes_on();
        self.activity(Some(Activity::Compacting), out);
        if start.reason == "overflow" {
            self.status(StatusLabel::Compaction, "the context is full", out);
        }
    }

    pub(crate) fn compaction_ended(&mut self, end: CompactionEnd, out: &mut Vec<Output>) {
        self.activity(None, out);
        match end.result {
            Some(done) => {
                let before = done.tokens_before.map(|tokens| format!("{tokens} tokens before"));
                let after = done.estimated_tokens_after.map(|tokens| format!("about {tokens} after"));
                let sizes: Vec<_> = before.into_iter().chain(after).collect();
                self.status(StatusLabel::Compaction, format!("{}: {}", end.reason, sizes.join(", ")), out);
                self.note(Body::System { parts: vec![ContentPart::text(done.summary)] }, out);
                if let Some(usage) = done.usage.and_then(usage::of_tokens) {
                    // The summary is a call of the model, too.
                    self.note(Body::Step { detail: Some("compaction".to_owned()), usage: Some(usage) }, out);
                }
                self.compacted(done.usage, done.estimated_tokens_after, out);
            }
            None if end.aborted => self.status(StatusLabel::Compaction, "the compaction was cancelled", out),
            None => {
                let words = end.error_message.unwrap_or_else(|| "the compaction failed".to_owned());
                self.status(StatusLabel::Warning, words, out);
            }
        }
        if !end.will_retry && !self.turns.settles {
            self.ask_whether_over(out);
        }
    }

    pub(crate) fn compact_answered(&mut self, response: &Response<'_>, out: &mut Vec<Output>) {
        let Some(turn) = self.turns.running.as_ref().filter(|turn| turn.compacts) else {
            return dropped(DropReason::Internal, out);
        };
        let end = match (response.success, turn.cancelled) {
            (true, _) => TurnEnd::new(StopReason::EndTurn),
            (false, true) => TurnEnd::new(StopReason::Cancelled),
            (false, false) => TurnEnd::failed(Failure::new(ErrorCode::ExecutionError, response.words())),
        };
        self.end_turn(end, out);
    }

    pub(crate) fn retry_started(&mut self, retry: &RetryStart, out: &mut Vec<Output>) {
        self.goes_on();
        self.activity(Some(Activity::Retrying), out);
        let RetryStart { attempt, max_attempts, delay_ms, error_message } = retry;
        let words = format!("attempt {attempt} of {max_attempts} in {delay_ms} ms: {error_message}");
        self.status(StatusLabel::Retry, words, out);
    }

    pub(crate) fn retry_ended(&mut self, retry: &RetryEnd, out: &mut Vec<Output>) {
        self.activity(None, out);
        if retry.success {
            return;
        }
        if let Some(turn) = self.turns.running.as_mut().filter(|turn| turn.last.is_none()) {
            turn.last = Some(("error".to_owned(), retry.final_error.clone()));
        }
        if !self.turns.settles {
            self.ask_whether_over(out);
        }
    }

    /// Another session of Pi's own takes the place of this one. Older versions end the turn without a word.
    pub(crate) fn session_changed(&mut self, remembers: bool, out: &mut Vec<Output>) {
        self.session.changes(remembers);
        if self.turns.is_running() && !self.turns.settles {
            self.end_turn(TurnEnd::new(StopReason::Cancelled), out);
        }
    }

    /// Takes back what seemed to be the end.
    fn goes_on(&mut self) {
        if let Some(turn) = &mut self.turns.running {
            turn.ending = false;
        }
    }

    fn activity(&mut self, activity: Option<Activity>, out: &mut Vec<Output>) {
        self.state(StatePatch { activity: Some(activity), ..StatePatch::default() }, out);
    }
}

fn text_of(parts: &[ContentPart]) -> String {
    let text = |part: &ContentPart| {
        if let ContentPart::Text { text } = part { Some(text.clone()) } else { None }
    };
    parts.iter().filter_map(text).collect()
}

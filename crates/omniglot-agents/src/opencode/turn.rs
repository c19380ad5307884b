//! Turns: begun by a prompt that was really sent, ended by the first `idle` after it was `busy` (T4).

use std::collections::HashSet;

use indexmap::IndexMap;
use omniglot_schema::{Activity, ContentPart, StopReason, Usage};
use omniglot_timeline::{Failure, Origin, TurnEnd};
use serde::Deserialize;

use super::failure::{ABORTED, failure, refused};
use super::part::file_part;
use super::translate::Whose;
use super::wire::{Assistant, PromptBody, PromptPart, SessionError, Status, Tokens};
use super::{OpenCode, dropped};
use crate::contract::{Draft, DropReason, Output};
use crate::http::{Answer, Request};

#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// The prompt that began it.
    request: Option<String>,
    /// The server has said that it works on it.
    pub(crate) busy: bool,
    pub(crate) failure: Option<Failure>,
    /// Why the last message ended.
    pub(crate) finish: Option<String>,
    closing: Closing,
    /// What each message used; a message tells its sum again and again.
    accounts: IndexMap<String, Account>,
    /// The requests for messages of subagents that were not answered yet.
    reading: HashSet<String>,
}

/// How far the end of an aborted turn has come.
#[derive(Debug, Default, PartialEq, Eq)]
enum Closing {
    #[default]
    No,
    /// The abort was sent.
    Asked,
    /// The abort was answered, and the messages are about to be read; this is the request.
    AboutToRead(String),
    Reading(String),
}

#[derive(Debug)]
pub(crate) struct Account {
    tokens: Option<Tokens>,
    cost: Option<f64>,
    model: Option<String>,
    of_subagent: bool,
}

impl Account {
    pub(crate) fn of(message: &Assistant, of_subagent: bool) -> Self {
        let model = message.provider.as_ref().zip(message.model.as_ref());
        Self {
            tokens: message.tokens,
            cost: message.cost,
            model: model.map(|(provider, model)| format!("{provider}/{model}")),
            of_subagent,
        }
    }
}

impl Turn {
    /// One that nobody asked for: the server is at it already.
    pub(crate) fn unasked() -> Self {
        Self { busy: true, ..Self::default() }
    }

    pub(crate) fn account(&mut self, message: &str, account: Account) {
        self.accounts.insert(message.to_owned(), account);
    }

    pub(crate) fn reads(&mut self, request: String) {
        self.reading.insert(request);
    }

    /// Whether this was the last of what had to be read.
    pub(crate) fn all_read(&mut self, request: &str) -> bool {
        self.reading.remove(request);
        self.reading.is_empty()
    }

    fn is_aborted(&self) -> bool {
        self.closing != Closing::No
    }

    fn usage(&self, of_subagents: bool) -> Option<Usage> {
        let told = self.accounts.values().filter(|account| account.of_subagent == of_subagents);
        let mut sum = Tokens::default();
        for tokens in told.filter_map(|account| account.tokens) {
            sum.input += tokens.input;
            sum.output += tokens.output;
            sum.reasoning += tokens.reasoning;
            sum.cache.read += tokens.cache.read;
            sum.cache.write += tokens.cache.write;
        }
        let usage = Usage {
            input_tokens: Some(sum.input),
            output_tokens: Some(sum.output + sum.reasoning),
            reasoning_tokens: Some(sum.reasoning),
            cache_read_tokens: Some(sum.cache.read),
            cache_write_tokens: Some(sum.cache.write),
            total_tokens: None,
        }
        .with_total();
        usage.total_tokens.is_some_and(|total| total > 0).then_some(usage)
    }

    fn end(self) -> TurnEnd {
        let stop = match self.finish.as_deref() {
            Some("length") => StopReason::MaxTokens,
            Some("content-filter") => StopReason::Refusal,
            _ => StopReason::EndTurn,
        };
        let mut end = if self.is_aborted() {
            TurnEnd::new(StopReason::Cancelled)
        } else if let Some(failure) = self.failure.clone() {
            TurnEnd::failed(failure)
        } else {
            TurnEnd::new(stop)
        };
        let mine = self.accounts.values().rev().find(|account| !account.of_subagent);
        end.model = mine.and_then(|account| account.model.clone());
        end.usage = self.usage(false);
        end.usage_subagents = self.usage(true);
        let cost: f64 = self.accounts.values().filter_map(|account| account.cost).sum();
        end.cost_usd = price(cost);
        end
    }
}

/// Sums of small prices carry noise far below a cent.
pub(crate) fn price(cost: f64) -> Option<f64> {
    (cost > 0.0).then(|| (cost * 1e9).round() / 1e9)
}

/// What makes a turn beside a prompt: a command, or a line for the shell.
#[derive(Deserialize)]
#[serde(untagged)]
enum Other {
    Command { command: String, arguments: String },
    Shell { command: String },
}

impl OpenCode {
    pub(crate) fn prompt_sent(&mut self, request: &Request, out: &mut Vec<Output>) {
        let message_id = self.commanded.remove(&request.id);
        let content = user_content(request);
        if self.turn.as_ref().is_some_and(|turn| !turn.is_aborted()) {
            // The running turn takes it up after its next step.
            return self.user_item(content, out);
        }
        self.end_turn(out);
        out.push(Draft::TurnStarted(Origin::User { message_id, content }).into());
        self.turn = Some(Turn { request: Some(request.id.clone()), ..Turn::default() });
    }

    /// A compaction that somebody asked for is a turn without words.
    pub(crate) fn compact_sent(&mut self, request: &Request, out: &mut Vec<Output>) {
        self.end_turn(out);
        let message_id = self.commanded.remove(&request.id);
        let content = vec![ContentPart::text("/compact".to_owned())];
        out.push(Draft::TurnStarted(Origin::User { message_id, content }).into());
        self.turn = Some(Turn { request: Some(request.id.clone()), ..Turn::default() });
    }

    /// Accepted, or over: the events tell. Only a refusal is told here.
    pub(crate) fn prompt_answered(&mut self, answer: &Answer, out: &mut Vec<Output>) {
        if answer.is_success() {
            return out.push(dropped(DropReason::Echo));
        }
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.request.as_ref() == Some(&answer.id)) {
            turn.failure.get_or_insert_with(|| refused(answer));
            self.end_turn(out);
        }
    }

    pub(crate) fn abort_sent(&mut self) {
        if let Some(turn) = &mut self.turn
            && turn.closing == Closing::No
        {
            turn.closing = Closing::Asked;
        }
    }

    /// The last words of an aborted turn may come after the answer, or have been missed: they are read.
    pub(crate) fn abort_answered(&mut self, out: &mut Vec<Output>) {
        if self.turn.as_ref().is_some_and(|turn| turn.closing == Closing::Asked) {
            let id = self.read_messages(out);
            if let (Some(turn), Some(id)) = (&mut self.turn, id) {
                turn.closing = Closing::AboutToRead(id);
            }
        }
    }

    pub(crate) fn read_sent(&mut self, id: &str) {
        if let Some(turn) = &mut self.turn
            && turn.closing == Closing::AboutToRead(id.to_owned())
        {
            turn.closing = Closing::Reading(id.to_owned());
        }
    }

    /// Nobody has sent the request for the messages, because this is a recording: the turn ends without it.
    pub(crate) fn read_did_not_happen(&mut self, out: &mut Vec<Output>) {
        if self.turn.as_ref().is_some_and(|turn| matches!(turn.closing, Closing::AboutToRead(_))) {
            self.end_turn(out);
        }
    }

    /// Whether this was the read that an aborted turn waits for.
    pub(crate) fn closes_with(&self, request: &str) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.closing == Closing::Reading(request.to_owned()))
    }

    pub(crate) fn status(&mut self, session: &str, status: Status, out: &mut Vec<Output>) {
        if self.whose(session) != Whose::Mine {
            return;
        }
        match status {
            Status::Busy => {
                if let Some(turn) = &mut self.turn {
                    turn.busy = true;
                }
                if self.activity == Some(Activity::Retrying) {
                    self.show(None, out);
                }
            }
            Status::Retry { attempt, message } => self.retry(attempt, message, out),
            Status::Idle => self.idle(out),
        }
    }

    fn idle(&mut self, out: &mut Vec<Output>) {
        match &self.turn {
            None => out.push(dropped(DropReason::Duplicate)),
            // An idle before this turn was busy is an echo of the one before; an abort has its own end.
            Some(turn) if turn.is_aborted() || !(turn.busy || turn.failure.is_some()) => {
                out.push(dropped(DropReason::Superseded));
            }
            // What was missed belongs to the turn: it ends when that is read, which also asks whether it is idle.
            Some(turn) if self.rereads && turn.busy => out.push(dropped(DropReason::Superseded)),
            Some(_) => self.end_turn(out),
        }
    }

    pub(crate) fn end_turn(&mut self, out: &mut Vec<Output>) {
        let Some(turn) = self.turn.take() else { return };
        if self.activity.is_some() {
            self.show(None, out);
        }
        out.push(Draft::TurnEnded(turn.end()).into());
        if let Some(newest) = self.authors.keys().max() {
            self.floor.clone_from(newest);
        }
        self.requests.turn_ended();
    }

    pub(crate) fn error(&mut self, event: SessionError, out: &mut Vec<Output>) {
        let Some(error) = event.error else { return };
        let mine = event.session.as_deref().map(|session| self.whose(session));
        match (mine, &mut self.turn) {
            (Some(Whose::Mine), Some(turn)) => {
                // An abort of ours is no error; one of somebody else's is.
                if !(turn.is_aborted() && error.name == ABORTED) {
                    turn.failure = Some(failure(&error));
                }
                out.push(dropped(DropReason::Superseded));
            }
            // The same once more, with its stack.
            (Some(Whose::Mine), None) => out.push(dropped(DropReason::Duplicate)),
            (Some(Whose::Child(_) | Whose::Other), _) => {}
            (None, _) => out.push(Draft::Error(failure(&error)).into()),
        }
    }

    pub(crate) fn turn_is_busy(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.busy && !turn.is_aborted())
    }
}

fn user_content(request: &Request) -> Vec<ContentPart> {
    let Some(body) = request.body.as_deref() else { return vec![] };
    if let Ok(other) = serde_json::from_str::<Other>(body.get()) {
        let text = match other {
            Other::Command { command, arguments } => format!("/{command} {arguments}").trim_end().to_owned(),
            Other::Shell { command } => format!("!{command}"),
        };
        return vec![ContentPart::text(text)];
    }
    let parts = serde_json::from_str::<PromptBody<'_>>(body.get()).map(|body| body.parts).unwrap_or_default();
    let known = parts.iter().filter_map(|part| serde_json::from_str::<PromptPart>(part.get()).ok());
    known
        .map(|part| match part {
            PromptPart::Text { text } => ContentPart::text(text),
            PromptPart::File(file) => file_part(&file),
            PromptPart::Agent { name } => ContentPart::text(format!("@{name}")),
            PromptPart::Subtask { prompt } => ContentPart::text(prompt),
        })
        .collect()
}

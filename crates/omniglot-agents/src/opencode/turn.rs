//! Turns: begun by a prompt that was really sent, ended by an `idle` after it was `busy` (T4). Which `idle`
//! that is, `idle` says.

use std::collections::{HashSet, VecDeque};

use omniglot_schema::{ContentPart, ItemRole, StatusLabel, StopReason};
use omniglot_timeline::{Body, Failure, ItemKey, Origin, TurnEnd};

use super::failure::{failure, refused, unheard};
use super::said::user_content;
use super::usage::{Accounts, Spender};
use super::wire::{Assistant, NamedError};
use super::{OpenCode, dropped};
use crate::contract::{Draft, DropReason, Output};
use crate::http::{Answer, Request};

#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// The prompt that began it.
    request: Option<String>,
    /// That prompt was a command with settings of its own.
    of_command: bool,
    /// The server has said that it works on it.
    pub(crate) busy: bool,
    pub(crate) failure: Option<Failure>,
    /// A filter of the provider has withheld the answer.
    filtered: bool,
    /// Why the last message ended.
    pub(crate) finish: Option<String>,
    /// The newest message of it: what an older one says about errors and ends is over.
    newest: String,
    /// The server has taken the prompt.
    accepted: bool,
    /// The question whether the server still works on it, after a cut.
    pub(crate) doubted: Option<String>,
    /// The messages that hold words of the user's.
    of_user: HashSet<String>,
    /// The items of messages that were sent into it and have no id yet, by their requests.
    steered: VecDeque<(String, ItemKey)>,
    /// The agent that has it.
    mode: Option<String>,
    /// The newest message is whole.
    pub(crate) complete: bool,
    /// OpenCode has called itself idle once while the message that failed was still open.
    pub(crate) halted: bool,
    /// We have asked the server to stop.
    aborted: bool,
    /// It has stopped, and nothing comes any more.
    pub(crate) stopped: bool,
    closing: Closing,
    accounts: Accounts,
}

/// How a turn ended, as far as it matters to what comes after it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    #[default]
    Well,
    Aborted,
    Failed,
}

/// How far a turn has come that ends with a last look at its messages.
#[derive(Debug, Default, PartialEq, Eq)]
enum Closing {
    #[default]
    No,
    /// They are about to be read; this is the request.
    AboutToRead(String),
    Reading(String),
}

impl Turn {
    /// One that nobody asked for: the server is at it already.
    pub(crate) fn unasked() -> Self {
        Self { busy: true, ..Self::default() }
    }

    pub(crate) fn account(&mut self, message: &str, told: &Assistant, spender: Spender) {
        self.accounts.note(message, told, spender);
    }

    /// Whether this message is the newest; a newer one begins another attempt.
    pub(crate) fn is_newest(&mut self, message: &str) -> bool {
        let newest = message >= self.newest.as_str();
        if newest {
            message.clone_into(&mut self.newest);
        }
        newest
    }

    /// Returns whether this message is the prompt: the first message of the user in a turn that was asked for,
    /// whatever it holds.
    pub(crate) fn was_prompted_by(&mut self, message: &str) -> bool {
        let is_prompt = self.request.is_some() && self.of_user.is_empty();
        if is_prompt {
            self.is_told_by(message);
        }
        is_prompt
    }

    /// Takes the item of the next message that was sent into the turn: the server tells them in their order.
    pub(crate) fn next_steered(&mut self) -> Option<ItemKey> {
        self.steered.pop_front().map(|(_, item)| item)
    }

    pub(crate) fn is_told_by(&mut self, message: &str) {
        self.of_user.insert(message.to_owned());
    }

    /// Notes an error of the turn. A content filter is a refusal of the model and no failure.
    pub(crate) fn fails(&mut self, error: &NamedError) {
        if error.name == "ContentFilterError" {
            self.filtered = true;
        } else {
            self.failure = Some(failure(error));
        }
    }

    /// Begins another attempt: the errors before were not the end.
    pub(crate) fn begins_again(&mut self) {
        (self.failure, self.filtered) = (None, false);
    }

    pub(crate) fn is_of_user(&self, message: &str) -> bool {
        self.of_user.contains(message)
    }

    /// Whether another agent had it until now.
    pub(crate) fn leaves_its_mode(&mut self, mode: &str) -> bool {
        self.mode.replace(mode.to_owned()).is_some_and(|before| before != mode)
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted
    }

    /// Whether OpenCode has told an error, be it a failure or a filter of the provider.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some() || self.filtered
    }

    /// Whether its last message has failed and OpenCode has not closed it yet: then OpenCode still works.
    pub(crate) fn has_failed_message_open(&self) -> bool {
        self.has_failed() && !self.newest.is_empty() && !self.complete
    }

    /// Whether its last messages are to be read, and nobody has asked for them.
    pub(crate) fn is_about_to_read(&self) -> bool {
        matches!(self.closing, Closing::AboutToRead(_))
    }

    /// Whether it waits for this read, and ends with it.
    pub(crate) fn is_closed_by(&self, request: &str) -> bool {
        self.closing == Closing::Reading(request.to_owned())
    }

    fn ending(&self) -> Ending {
        match self.has_failed() {
            _ if self.aborted => Ending::Aborted,
            true => Ending::Failed,
            false => Ending::Well,
        }
    }

    pub(crate) fn is_of_command(&self) -> bool {
        self.of_command
    }

    /// Whether idleness means that it is over.
    pub(crate) fn has_begun(&self) -> bool {
        self.busy || self.accepted
    }

    fn end(self) -> TurnEnd {
        let stop = match self.finish.as_deref() {
            Some("length") => StopReason::MaxTokens,
            Some("content-filter") => StopReason::Refusal,
            _ if self.filtered => StopReason::Refusal,
            _ => StopReason::EndTurn,
        };
        let mut end = if self.is_aborted() {
            TurnEnd::new(StopReason::Cancelled)
        } else if let Some(failure) = self.failure.clone() {
            TurnEnd::failed(failure)
        } else {
            TurnEnd::new(stop)
        };
        end.model = self.accounts.model();
        end.usage = self.accounts.usage(Spender::Itself);
        end.usage_subagents = self.accounts.usage(Spender::Subagents);
        end.cost_usd = self.accounts.cost();
        end
    }
}

impl OpenCode {
    pub(crate) fn prompt_sent(&mut self, request: &Request, out: &mut Vec<Output>) {
        let message_id = self.commanded.remove(&request.id);
        let content = user_content(request);
        if let Some(turn) = self.turn.as_mut().filter(|turn| !turn.is_aborted()) {
            // The running turn takes it up after its next step.
            let body = Body::Message { role: ItemRole::User, parts: content };
            let start = self.statuses.item("steer", body);
            turn.steered.push_back((request.id.clone(), start.key.clone()));
            return out.push(Draft::Steered { message_id, start }.into());
        }
        self.end_turn(out);
        out.push(Draft::TurnStarted(Origin::Echoed { message_id, content }).into());
        let of_command = request.path.split('?').next().is_some_and(|path| path.ends_with("/command"));
        self.turn = Some(Turn { request: Some(request.id.clone()), of_command, ..Turn::default() });
        self.tell_background(out);
    }

    /// A compaction that somebody asked for is a turn without words.
    pub(crate) fn compact_sent(&mut self, request: &Request, out: &mut Vec<Output>) {
        self.end_turn(out);
        let message_id = self.commanded.remove(&request.id);
        let content = vec![ContentPart::text("/compact".to_owned())];
        out.push(Draft::TurnStarted(Origin::Echoed { message_id, content }).into());
        self.turn = Some(Turn { request: Some(request.id.clone()), ..Turn::default() });
    }

    /// Accepted, or over: the events tell. Only a refusal is told here.
    pub(crate) fn prompt_answered(&mut self, answer: &Answer, out: &mut Vec<Output>) {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.request.as_ref() == Some(&answer.id)) else {
            return self.added_words_answered(answer, out);
        };
        if !answer.is_success() {
            turn.failure.get_or_insert_with(|| refused(answer));
            return self.end_turn(out);
        }
        turn.accepted = true;
        out.push(dropped(DropReason::Echo));
        if turn.doubted.is_some() {
            self.ask_whether_it_works(out);
        }
    }

    /// Handles the answer to a message that was sent into a running turn; a refusal is a warning.
    fn added_words_answered(&mut self, answer: &Answer, out: &mut Vec<Output>) {
        if answer.is_success() {
            return out.push(dropped(DropReason::Echo));
        }
        if let Some(turn) = &mut self.turn {
            turn.steered.retain(|(request, _)| *request != answer.id);
        }
        let why = format!("the message did not reach the running turn: {}", refused(answer).message);
        self.told(StatusLabel::Warning, why, None, out);
    }

    /// Rejects the open requests of a turn that is being stopped (T10).
    pub(crate) fn abort_sent(&mut self, out: &mut Vec<Output>) {
        if let Some(turn) = &mut self.turn {
            turn.aborted = true;
            self.cancel_requests(out);
        }
    }

    /// The last words of an aborted turn may come after the answer, or have been missed: unless its end was
    /// heard, they are read.
    pub(crate) fn abort_answered(&mut self, out: &mut Vec<Output>) {
        match &self.turn {
            Some(turn) if turn.stopped && self.rereads.is_none() => self.end_turn(out),
            Some(turn) if turn.aborted && turn.closing == Closing::No => self.close_after_reading(out),
            Some(_) | None => {}
        }
    }

    pub(crate) fn close_after_reading(&mut self, out: &mut Vec<Output>) {
        let id = self.read_messages(out);
        if let (Some(turn), Some(id)) = (&mut self.turn, id) {
            turn.closing = Closing::AboutToRead(id);
        }
    }

    pub(crate) fn read_sent(&mut self, id: &str) {
        if let Some(turn) = &mut self.turn
            && turn.closing == Closing::AboutToRead(id.to_owned())
        {
            turn.closing = Closing::Reading(id.to_owned());
        }
    }

    /// Ends the turn if this was the read that it waits for.
    pub(crate) fn closes_with(&mut self, request: &str, out: &mut Vec<Output>) {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.is_closed_by(request)) else { return };
        if turn.has_failed_message_open() && !turn.aborted {
            // The list of the sessions that work does not have it any more, but its own `idle` is yet to come.
            turn.closing = Closing::No;
            return;
        }
        if turn.accounts.is_empty() {
            // An error before the first answer is told by one event, and stored nowhere.
            turn.failure.get_or_insert_with(unheard);
        }
        self.end_turn(out);
    }

    pub(crate) fn end_turn(&mut self, out: &mut Vec<Output>) {
        let Some(turn) = self.turn.take() else { return };
        if self.activity.is_some() {
            self.show(None, out);
        }
        let in_background: Vec<String> =
            self.children.keys().filter(|child| self.is_in_background(child)).cloned().collect();
        self.only_work(|child| in_background.iter().any(|known| known == child), out);
        self.ended_so = turn.ending();
        out.push(Draft::TurnEnded(turn.end()).into());
        if let Some(newest) = self.authors.keys().max() {
            self.floor.clone_from(newest);
        }
        // The server forgets to take back what an abort has left.
        self.requests.open.clear();
    }
}

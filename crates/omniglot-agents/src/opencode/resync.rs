//! What a broken event stream has missed: read from the server and passed through the same functions as
//! events, which tell everything once.

use std::collections::HashMap;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::translate::Whose;
use super::wire::{PartUpdated, PermissionAsked, QuestionAsked, Stored};
use super::{OpenCode, unparsed};
use crate::contract::Output;
use crate::http::{Answer, Method};

impl OpenCode {
    /// Reads the messages first, and whether the turn still runs only after them: a turn must not end
    /// before its last words.
    pub(crate) fn read_what_was_missed(&mut self, out: &mut Vec<Output>) {
        if self.opening.is_some() || self.session.is_none() {
            return;
        }
        self.rereads = true;
        self.parts_have_holes();
        self.read_messages(out);
        self.ask(Method::Get, "/permission", None, out);
        self.ask(Method::Get, "/question", None, out);
    }

    pub(crate) fn read_messages(&mut self, out: &mut Vec<Output>) -> Option<String> {
        self.ask_session(Method::Get, "/message", None, out)
    }

    pub(crate) fn messages_read(&mut self, session: &str, answer: &Answer, out: &mut Vec<Output>) {
        let whose = self.whose(session);
        if whose != Whose::Other && self.turn.is_some() && answer.is_success() {
            match serde_json::from_str::<Vec<&RawValue>>(answer.body.get()) {
                Ok(messages) => {
                    let before = std::mem::replace(&mut self.rereads, true);
                    messages.into_iter().for_each(|message| self.stored(message, out));
                    self.rereads = before;
                }
                Err(error) => out.push(Output::Unparsed(unparsed("GET message", error.to_string()))),
            }
        }
        if self.closes_with(&answer.id) {
            return self.end_turn(out);
        }
        if whose == Whose::Mine {
            self.read_children(out);
        }
        if self.turn.as_mut().is_none_or(|turn| turn.all_read(&answer.id)) {
            self.rereads = false;
            if self.turn_is_busy() {
                self.ask(Method::Get, "/session/status", None, out);
            }
        }
    }

    /// Subagents of this turn; those that began unheard are known by now.
    fn read_children(&mut self, out: &mut Vec<Output>) {
        let floor = time_of(&self.floor).to_owned();
        let begun =
            |part: &Option<String>| part.as_deref().is_some_and(|part| time_of(part) > floor.as_str());
        let children: Vec<String> =
            self.children.iter().filter(|(_, part)| begun(part)).map(|(child, _)| child.clone()).collect();
        for child in children {
            let id = self.ask(Method::Get, &format!("/session/{child}/message"), None, out);
            if let Some(turn) = &mut self.turn {
                turn.reads(id);
            }
        }
    }

    /// What is older than the turn was told before.
    fn stored(&mut self, message: &RawValue, out: &mut Vec<Output>) {
        let stored: Stored<'_> = match serde_json::from_str(message.get()) {
            Ok(stored) => stored,
            Err(error) => return out.push(Output::Unparsed(unparsed("GET message", error.to_string()))),
        };
        if stored.info.id <= self.floor {
            return;
        }
        self.message(stored.info, out);
        for part in stored.parts {
            match PartUpdated::of_part(part) {
                Ok(part) => self.part(part, out),
                Err(fault) => out.push(Output::Unparsed(fault)),
            }
        }
    }

    /// A session that is not in the list is idle.
    pub(crate) fn status_read(&mut self, answer: &Answer, out: &mut Vec<Output>) {
        let busy: Option<HashMap<String, IgnoredAny>> = serde_json::from_str(answer.body.get()).ok();
        if let (Some(busy), Some(session)) = (busy, &self.session)
            && answer.is_success()
            && !busy.contains_key(session)
            && self.turn_is_busy()
        {
            self.end_turn(out);
        }
    }

    pub(crate) fn permissions_read(&mut self, answer: &Answer, out: &mut Vec<Output>) {
        // An abort leaves dead requests in the list; without a turn nobody waits for an answer.
        if self.turn.is_none() {
            return;
        }
        for asked in serde_json::from_str::<Vec<PermissionAsked>>(answer.body.get()).unwrap_or_default() {
            self.permission_asked(asked, out);
        }
    }

    pub(crate) fn questions_read(&mut self, answer: &Answer, out: &mut Vec<Output>) {
        if self.turn.is_none() {
            return;
        }
        for asked in serde_json::from_str::<Vec<QuestionAsked>>(answer.body.get()).unwrap_or_default() {
            self.question_asked(asked, out);
        }
    }
}

/// What ids of all kinds are ordered by.
fn time_of(id: &str) -> &str {
    id.split_once('_').map_or(id, |(_, time)| time)
}

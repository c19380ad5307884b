//! What a broken event stream has missed: read from the server and passed through the same functions as
//! events, which tell everything once. Events that come meanwhile wait, so that all is told in its order.
//!
//! A turn whose end was missed is ended here: OpenCode is asked whether it still works on it, and its last
//! words are read before it closes.

use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;

use super::translate::Whose;
use super::wire::{Event, PartUpdated, PermissionAsked, QuestionAsked, Status, Stored, Todo};
use super::{OpenCode, dropped, unparsed};
use crate::contract::{DropReason, Output};
use crate::http::{Answer, Method};

/// What is read after a cut.
#[derive(Debug, Default)]
pub(crate) struct Reread {
    /// The requests without an answer.
    waits_for: HashSet<String>,
    /// Subagents whose messages were asked for.
    children: HashSet<String>,
    held: Vec<Event>,
}

/// A server that answers nothing must not fill our memory: with so many events in wait they are told all the
/// same, be it before what they follow.
pub(crate) const HELD: usize = 16_384;

impl OpenCode {
    pub(crate) fn read_what_was_missed(&mut self, out: &mut Vec<Output>) {
        if self.opening.is_some() || self.session.is_none() {
            return;
        }
        let mut held = self.rereads.take().map(|before| before.held).unwrap_or_default();
        // Cut again: what was heard of a part has holes by now, and the server keeps it whole.
        held.retain(|event| !matches!(event, Event::PartDelta(_) | Event::PartUpdated(_)));
        self.rereads = Some(Reread { held, ..Reread::default() });
        self.parts_have_holes();
        let about_it = ["", "/todo"].map(|what| self.ask_session(Method::Get, what, None, out));
        let words = self.turn.is_some().then(|| self.read_messages(out)).flatten();
        self.wait_for(about_it.into_iter().flatten().chain(words));
    }

    fn wait_for(&mut self, requests: impl IntoIterator<Item = String>) {
        if let Some(reread) = &mut self.rereads {
            reread.waits_for.extend(requests);
        }
    }

    /// Keeps an event until all that happened before it was read.
    pub(crate) fn hold(&mut self, event: Event, out: &mut Vec<Output>) {
        let Some(reread) = &mut self.rereads else { return };
        reread.held.push(event);
        let full = reread.held.len() >= HELD;
        out.push(dropped(DropReason::Superseded));
        if full {
            self.release(out);
        }
    }

    /// After each answer: with the last one, what was heard meanwhile is told.
    pub(crate) fn read_on(&mut self, answer: &str, out: &mut Vec<Output>) {
        let Some(reread) = &mut self.rereads else { return };
        if reread.waits_for.remove(answer) && reread.waits_for.is_empty() {
            self.release(out);
            self.ask_whether_it_works(out);
        }
    }

    fn release(&mut self, out: &mut Vec<Output>) {
        let held = self.rereads.take().map(|reread| reread.held).unwrap_or_default();
        for event in held {
            self.event(event, out);
        }
    }

    pub(crate) fn read_messages(&mut self, out: &mut Vec<Output>) -> Option<String> {
        self.ask_session(Method::Get, "/message", None, out)
    }

    pub(crate) fn messages_read(&mut self, session: &str, answer: &Answer, out: &mut Vec<Output>) {
        let whose = self.whose(session);
        if whose != Whose::Other && self.turn.is_some() && answer.is_success() {
            match serde_json::from_str::<Vec<&RawValue>>(answer.body.get()) {
                Ok(messages) => messages.into_iter().for_each(|message| self.stored(message, out)),
                Err(error) => out.push(Output::Unparsed(unparsed("GET message", error.to_string()))),
            }
        }
        if self.closes_with(&answer.id, out) {
            return;
        }
        let expected = self.rereads.as_ref().is_some_and(|reread| reread.waits_for.contains(&answer.id));
        if expected && whose != Whose::Other {
            self.read_further(&whose, out);
        }
    }

    /// With the messages the subagents are known, and the calls that requests are about.
    fn read_further(&mut self, whose: &Whose, out: &mut Vec<Output>) {
        let children = self.unread_children();
        let mut asked: Vec<String> = Vec::new();
        for child in children {
            asked.push(self.ask(Method::Get, &format!("/session/{child}/message"), None, out));
        }
        if *whose == Whose::Mine {
            asked.extend(["/permission", "/question"].map(|list| self.ask(Method::Get, list, None, out)));
        }
        self.wait_for(asked);
    }

    /// Subagents of this turn; those that began unheard are known by now.
    fn unread_children(&mut self) -> Vec<String> {
        let floor = time_of(&self.floor);
        let Some(reread) = &mut self.rereads else { return vec![] };
        let begun = |part: &Option<String>| part.as_deref().is_some_and(|part| time_of(part) > floor);
        let of_turn = self.children.iter().filter(|(_, part)| begun(part)).map(|(child, _)| child.clone());
        let mut unread: Vec<String> = of_turn.filter(|child| reread.children.insert(child.clone())).collect();
        unread.sort_unstable();
        unread
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
        self.stored = true;
        self.message(stored.info, out);
        for part in stored.parts {
            match PartUpdated::of_part(part) {
                Ok(part) => self.part(part, out),
                Err(fault) => out.push(Output::Unparsed(fault)),
            }
        }
        self.stored = false;
    }

    pub(crate) fn ask_whether_it_works(&mut self, out: &mut Vec<Output>) {
        if self.turn.as_ref().is_some_and(|turn| !turn.is_aborted()) {
            let id = self.ask(Method::Get, "/session/status", None, out);
            if let Some(turn) = &mut self.turn {
                turn.doubted = Some(id);
            }
        }
    }

    /// A session that is not in the list is idle. The last words of its turn may still be on their way.
    pub(crate) fn status_read(&mut self, answer: &Answer, out: &mut Vec<Output>) {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.doubted.as_ref() == Some(&answer.id)) else {
            return;
        };
        let listed: Option<HashMap<String, Status>> =
            answer.is_success().then(|| serde_json::from_str(answer.body.get()).ok()).flatten();
        let (Some(mut listed), Some(session)) = (listed, self.session.clone()) else { return };
        match listed.remove(&session) {
            Some(Status::Retry { .. }) if self.activity.is_some() => {}
            Some(status @ (Status::Busy | Status::Retry { .. })) => self.status(&session, status, out),
            Some(Status::Idle) | None if turn.has_begun() => {
                turn.doubted = None;
                self.close_after_reading(out);
            }
            // The prompt is on its way: with its answer this is asked again.
            Some(Status::Idle) | None => {}
        }
    }

    pub(crate) fn todos_read(&mut self, answer: &Answer, out: &mut Vec<Output>) {
        if answer.is_success()
            && let Ok(todos) = serde_json::from_str::<Vec<Todo>>(answer.body.get())
        {
            self.todos(todos, out);
        }
    }

    pub(crate) fn permissions_read(&mut self, answer: &Answer, out: &mut Vec<Output>) {
        // Without a turn nobody waits for an answer.
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

//! Events that a broken stream has missed: they are read from the server and passed through the same functions as
//! events, which tell everything once. Events that come meanwhile wait, so that all is told in its order.
//!
//! A turn whose end was missed is ended here: OpenCode is asked whether it still works on it, and its last
//! words are read before it closes. In which order what was read is told, `merge` says.

use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;

use super::OpenCode;
use super::merge::Read;
use super::requests::Kind;
use super::translate::Whose;
use super::wire::{Event, PermissionAsked, QuestionAsked, Status, Todo};
use super::{dropped, unparsed};
use crate::contract::{DropReason, Output};
use crate::http::{Answer, Method};

/// The reading after a cut.
#[derive(Debug, Default)]
pub(crate) struct Reread {
    /// The requests without an answer.
    waits_for: HashSet<String>,
    /// Subagents whose messages were asked for.
    children: HashSet<String>,
    /// The messages that were read.
    messages: Vec<Read>,
    permissions: Vec<PermissionAsked>,
    questions: Vec<QuestionAsked>,
    held: Vec<Event>,
    /// The read that ends the turn, once that was answered.
    closes: Option<String>,
}

/// A server that answers nothing must not fill our memory: with so many events in wait they are told all the
/// same, be it before what they follow.
pub(crate) const HELD: usize = 16_384;

impl OpenCode {
    pub(crate) fn read_what_was_missed(&mut self, out: &mut Vec<Output>) {
        if self.opening.is_some() || self.session.is_none() {
            return;
        }
        let Reread { mut held, closes, .. } = self.rereads.take().unwrap_or_default();
        // Cut again: what was heard of a part has holes by now, and the server keeps it whole.
        held.retain(|event| !matches!(event, Event::PartDelta(_) | Event::PartUpdated(_)));
        self.rereads = Some(Reread { held, closes, ..Reread::default() });
        self.parts_have_holes();
        let about_it = ["", "/todo", "/children"].map(|what| self.ask_session(Method::Get, what, None, out));
        let words = self.turn.is_some().then(|| self.read_messages(out)).flatten();
        self.wait_for(about_it.into_iter().flatten().chain(words));
    }

    fn wait_for(&mut self, requests: impl IntoIterator<Item = String>) {
        if let Some(reread) = &mut self.rereads {
            reread.waits_for.extend(requests);
        }
    }

    /// Returns the reading that waits for this answer.
    fn waiting(&mut self, answer: &Answer) -> Option<&mut Reread> {
        self.rereads.as_mut().filter(|reread| reread.waits_for.contains(&answer.id))
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

    /// After each answer: with the last one, all is told.
    pub(crate) fn read_on(&mut self, answer: &str, out: &mut Vec<Output>) {
        let Some(reread) = &mut self.rereads else { return };
        if reread.waits_for.remove(answer) && reread.waits_for.is_empty() {
            self.release(out);
            self.ask_whether_it_works(out);
        }
    }

    /// The words, then what is asked about them, then what was heard meanwhile.
    fn release(&mut self, out: &mut Vec<Output>) {
        let Some(reread) = self.rereads.take() else { return };
        self.tell_read(reread.messages, out);
        // Without a turn nobody waits for an answer.
        if self.turn.is_some() {
            reread.permissions.into_iter().for_each(|asked| self.permission_asked(asked, out));
            reread.questions.into_iter().for_each(|asked| self.question_asked(asked, out));
        }
        for event in reread.held {
            self.event(event, out);
        }
        self.resolve_gone(None, out);
        if let Some(read) = reread.closes {
            self.closes_with(&read, out);
        }
    }

    pub(crate) fn read_messages(&mut self, out: &mut Vec<Output>) -> Option<String> {
        self.ask_session(Method::Get, "/message", None, out)
    }

    pub(crate) fn messages_read(&mut self, session: &str, answer: &Answer, out: &mut Vec<Output>) {
        if self.opening.is_some() {
            return self.newest_read(answer, out);
        }
        let whose = self.whose(session);
        if whose == Whose::Other {
            return;
        }
        let mut messages = Vec::new();
        if self.turn.is_some() && answer.is_success() {
            match serde_json::from_str::<Vec<&RawValue>>(answer.body.get()) {
                Ok(read) => messages.extend(read.into_iter().filter_map(|message| self.stored(message, out))),
                Err(error) => out.push(Output::unparsed(unparsed("GET message", error.to_string()))),
            }
        }
        match self.waiting(answer) {
            Some(reread) => {
                reread.messages.extend(messages);
                self.read_further(&whose, out);
            }
            None => self.read_beside(messages, answer, out),
        }
    }

    /// The last words of a turn, told when all is known that came before them. What else was asked for before
    /// the stream was cut once more is old.
    fn read_beside(&mut self, messages: Vec<Read>, answer: &Answer, out: &mut Vec<Output>) {
        let closes = self.turn.as_ref().is_some_and(|turn| turn.is_closed_by(&answer.id));
        match &mut self.rereads {
            Some(reread) if closes => {
                reread.messages.extend(messages);
                reread.closes = Some(answer.id.clone());
            }
            Some(_) => out.push(dropped(DropReason::Superseded)),
            None => {
                self.tell_read(messages, out);
                self.closes_with(&answer.id, out);
            }
        }
    }

    /// With the messages the subagents are known.
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
        let of_turn = self.children.iter().filter(|(_, child)| begun(&child.part));
        let of_turn = of_turn.map(|(session, _)| session.clone());
        let mut unread: Vec<String> = of_turn.filter(|child| reread.children.insert(child.clone())).collect();
        unread.sort_unstable();
        unread
    }

    pub(crate) fn ask_whether_it_works(&mut self, out: &mut Vec<Output>) {
        if self.turn.as_ref().is_some_and(|turn| !turn.is_aborted()) || self.has_children_at_work() {
            let id = self.ask(Method::Get, "/session/status", None, out);
            if let Some(turn) = &mut self.turn {
                turn.doubted = Some(id);
            }
        }
    }

    /// A session that is not in the list is idle. The last words of its turn may still be on their way.
    pub(crate) fn status_read(&mut self, answer: &Answer, out: &mut Vec<Output>) {
        let listed: Option<HashMap<String, Status>> =
            answer.is_success().then(|| serde_json::from_str(answer.body.get()).ok()).flatten();
        let (Some(mut listed), Some(session)) = (listed, self.session.clone()) else { return };
        self.only_work(|child| listed.get(child).is_some_and(|status| !matches!(status, Status::Idle)), out);
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.doubted.as_ref() == Some(&answer.id)) else {
            return;
        };
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

    pub(crate) fn permissions_read(&mut self, answer: &Answer) {
        let Some(asked) = listed::<PermissionAsked>(answer) else { return };
        if let Some(reread) = self.waiting(answer) {
            let ids = asked.iter().map(|asked| asked.id.clone()).collect();
            reread.permissions = asked;
            self.only_open(Kind::Permission, &ids);
        }
    }

    pub(crate) fn questions_read(&mut self, answer: &Answer) {
        let Some(asked) = listed::<QuestionAsked>(answer) else { return };
        if let Some(reread) = self.waiting(answer) {
            let ids = asked.iter().map(|asked| asked.id.clone()).collect();
            reread.questions = asked;
            self.only_open(Kind::Question, &ids);
        }
    }
}

fn listed<T: serde::de::DeserializeOwned>(answer: &Answer) -> Option<Vec<T>> {
    answer.is_success().then(|| serde_json::from_str(answer.body.get()).ok()).flatten()
}

/// Returns the part of an id by which ids of all kinds are ordered.
fn time_of(id: &str) -> &str {
    id.split_once('_').map_or(id, |(_, time)| time)
}

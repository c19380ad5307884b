//! Reverted and removed parts of a conversation (T13). Items are named as the stream
//! names them natively; the status hangs on the first of them.

use omniglot_schema::StatusLabel;
use omniglot_timeline::ItemKey;

use super::open::session_in;
use super::translate::Whose;
use super::wire::{MessageRemoved, PartRemoved, Revert, Session};
use super::{OpenCode, dropped};
use crate::contract::{DropReason, Output};
use crate::http::Answer;

/// A point that the conversation was taken back to.
#[derive(Debug)]
pub(crate) struct Reverted {
    to: Revert,
    /// The messages after it are removed for good.
    removed: bool,
}

/// An item that the stream knows: its part, its key, and its native id.
struct Known<'a> {
    part: &'a str,
    key: &'a str,
    native: &'a str,
}

impl OpenCode {
    /// The answer comes before anything that is done next, its event may come after.
    pub(crate) fn revert_answered(&mut self, answer: &Answer, out: &mut Vec<Output>) {
        if let Some(session) = session_in(answer) {
            self.my_session(session, out);
        }
    }

    /// Records a revert that is older than our connection and therefore not reported.
    pub(crate) fn reverted_before(&mut self, info: &Session) {
        self.reverted = info.revert.clone().map(|to| Reverted { to, removed: false });
        self.revert_known = info.time.updated.unwrap_or_default();
    }

    /// Handles a revert, which can be undone until the next message. An answer overtakes
    /// events, which then tell what was before it.
    pub(crate) fn reverted(&mut self, info: &Session, out: &mut Vec<Output>) {
        let updated = info.time.updated.unwrap_or(f64::MAX);
        if updated < self.revert_known {
            return;
        }
        self.revert_known = info.time.updated.unwrap_or(self.revert_known);
        let same = self.reverted.as_ref().map(|reverted| &reverted.to) == info.revert.as_ref();
        if same {
            return;
        }
        let now = info.revert.clone().map(|to| Reverted { to, removed: false });
        match (std::mem::replace(&mut self.reverted, now), &info.revert) {
            (_, Some(to)) => self.tell_taken_back(to, out),
            (Some(before), None) if !before.removed => {
                let (items, parent) = self.after(&before.to);
                let detail = format!("what was taken back is there again: {items}");
                self.told(StatusLabel::Removed, detail, parent, out);
            }
            (_, None) => {}
        }
    }

    fn tell_taken_back(&mut self, to: &Revert, out: &mut Vec<Output>) {
        let (items, parent) = self.after(to);
        let point = match &to.part {
            Some(part) => format!("the part {part} of {}", self.message_name(&to.message)),
            None => self.message_name(&to.message),
        };
        let mut detail = format!(
            "the conversation was taken back to before {point}; the next message removes what follows: {items}"
        );
        if let Some(diff) = to.diff.as_deref().filter(|diff| !diff.is_empty()) {
            detail.push_str(&format!("\nfiles were changed with it:\n{diff}"));
        }
        self.told(StatusLabel::Removed, detail, parent, out);
    }

    pub(crate) fn message_removed(&mut self, event: &MessageRemoved, out: &mut Vec<Output>) {
        if self.whose(&event.session) != Whose::Mine || !self.once.insert(event.message.clone()) {
            return;
        }
        self.removal_begins(&event.message);
        let (items, parent) = named(self.items_of(|message, _| message == event.message));
        let message = self.message_name(&event.message);
        let detail = format!("{message} was removed{}{items}", if items.is_empty() { "" } else { ": " });
        self.told(StatusLabel::Removed, detail, parent, out);
    }

    /// Handles a removed part; one that the stream never had is ignored.
    pub(crate) fn part_removed(&mut self, event: &PartRemoved, out: &mut Vec<Output>) {
        if self.whose(&event.session) != Whose::Mine {
            return;
        }
        self.removal_begins(&event.message);
        let (items, parent) = named(self.items_of(|_, part| part == event.part));
        if parent.is_none() {
            return out.push(dropped(DropReason::Internal));
        }
        self.told(StatusLabel::Removed, format!("a part of a message was removed: {items}"), parent, out);
    }

    fn removal_begins(&mut self, message: &str) {
        if let Some(reverted) = &mut self.reverted {
            reverted.removed |= message >= reverted.to.message.as_str();
        }
    }

    /// Quotes how a message of the user begins, so that a person recognizes it.
    fn message_name(&self, message: &str) -> String {
        match self.words.get(message) {
            Some(words) => format!("the message {message} (“{words}”)"),
            None => format!("the message {message}"),
        }
    }

    fn after(&self, point: &Revert) -> (String, Option<ItemKey>) {
        let from_part = point.part.as_deref().unwrap_or_default();
        named(self.items_of(|message, part| {
            message > point.message.as_str() || (message == point.message && part >= from_part)
        }))
    }

    /// The items whose message and part are wanted, in their order.
    fn items_of(&self, wanted: impl Fn(&str, &str) -> bool) -> Vec<Known<'_>> {
        let texts =
            self.parts.iter().map(|(part, text)| (&text.message, Known { part, key: part, native: part }));
        let calls = self
            .calls
            .iter()
            .map(|(part, call)| (&call.message, Known { part, key: &call.key.0, native: &call.native }));
        let mut items: Vec<_> =
            texts.chain(calls).filter(|(message, item)| wanted(message, item.part)).collect();
        items.sort_unstable_by_key(|(_, item)| item.part);
        items.into_iter().map(|(_, item)| item).collect()
    }
}

fn named(items: Vec<Known<'_>>) -> (String, Option<ItemKey>) {
    let first = items.first().map(|item| ItemKey(item.key.to_owned()));
    (items.iter().map(|item| item.native).collect::<Vec<_>>().join(", "), first)
}

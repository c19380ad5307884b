//! Subagents: the sessions below ours, the calls that began them, what they cost, and which are at work.

use omniglot_schema::StatePatch;
use serde::Serialize;

use super::OpenCode;
use super::translate::state;
use super::usage::price;
use super::wire::{Session, Status};
use crate::contract::Output;
use crate::http::Answer;

/// A session of a subagent.
#[derive(Debug, Default)]
pub(crate) struct Child {
    /// The part of the call that began it.
    pub(crate) part: Option<String>,
    title: Option<String>,
    agent: Option<String>,
    cost: f64,
    works: bool,
}

/// An entry of the state's `subagents`: one that is at work now.
#[derive(Serialize)]
struct AtWork<'a> {
    native_session_id: &'a str,
    /// Of the call that began it.
    #[serde(skip_serializing_if = "Option::is_none")]
    native_item_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
}

impl OpenCode {
    /// A call has told which session it began.
    pub(crate) fn began(&mut self, session: String, part: &str) {
        self.children.entry(session).or_default().part = Some(part.to_owned());
    }

    /// The record of a session below ours.
    pub(crate) fn child_session(&mut self, info: Session, out: &mut Vec<Output>) {
        if !self.children.contains_key(&info.id) {
            let part = self.spawning_part();
            self.children.insert(info.id.clone(), Child { part, ..Child::default() });
        }
        let Some(child) = self.children.get_mut(&info.id) else { return };
        child.title = info.title.or(child.title.take());
        child.agent = info.agent.or(child.agent.take());
        child.cost = info.cost.unwrap_or(child.cost);
        if self.opening.is_none() {
            state(self.cost_of_all(), out);
        }
    }

    /// The sessions that subagents had before we listened.
    pub(crate) fn children_read(&mut self, answer: &Answer, out: &mut Vec<Output>) {
        let listed = answer.is_success().then(|| serde_json::from_str::<Vec<Session>>(answer.body.get()));
        for child in listed.and_then(Result::ok).unwrap_or_default() {
            self.child_session(child, out);
        }
        if self.opening.is_some() {
            self.list_read(out);
        }
    }

    /// A session's record counts its own messages only.
    pub(crate) fn cost_of_all(&self) -> StatePatch {
        let all = self.cost + self.children.values().map(|child| child.cost).sum::<f64>();
        StatePatch { cost_usd: price(all).map(Some), ..StatePatch::default() }
    }

    pub(crate) fn child_status(&mut self, session: &str, status: &Status, out: &mut Vec<Output>) {
        let works = !matches!(status, Status::Idle);
        if let Some(child) = self.children.get_mut(session)
            && child.works != works
        {
            child.works = works;
            self.tell_at_work(out);
        }
    }

    pub(crate) fn has_children_at_work(&self) -> bool {
        self.children.values().any(|child| child.works)
    }

    /// Those for which this does not hold have ended unheard.
    pub(crate) fn only_work(&mut self, still: impl Fn(&str) -> bool, out: &mut Vec<Output>) {
        let before = self.children.values().filter(|child| child.works).count();
        self.children.iter_mut().for_each(|(session, child)| child.works &= still(session));
        if self.children.values().filter(|child| child.works).count() != before {
            self.tell_at_work(out);
        }
    }

    fn tell_at_work(&self, out: &mut Vec<Output>) {
        let at_work = self.children.iter().filter(|(_, child)| child.works).map(|(session, child)| AtWork {
            native_session_id: session,
            native_item_id: child
                .part
                .as_ref()
                .and_then(|part| self.calls.get(part))
                .map(|call| call.native.as_str()),
            agent: child.agent.as_deref(),
            title: child.title.as_deref(),
        });
        let at_work: Vec<_> = at_work.filter_map(|child| serde_json::to_value(child).ok()).collect();
        state(StatePatch { subagents: Some(Some(at_work.into())), ..StatePatch::default() }, out);
    }
}

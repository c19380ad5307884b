//! Holds the words of background subagents until they may be told.
//!
//! Such a subagent goes on when the turn that began it has ended. Nothing may be said outside of a turn, so its
//! words wait for the next one, and its calls wait for their results: a turn that ends would fail them. The next
//! turn is sure to come, because the CLI begins one when a subagent is done. A call about which a person is asked
//! cannot wait: it is told at once, and its turn waits for it (`ending`).

use std::collections::{HashMap, HashSet};

use omniglot_timeline::{CallStart, ItemKey, ItemStart};

use super::{Claude, dropped};
use crate::contract::{Draft, DropReason, Output, StreamOutput};

#[derive(Debug, Default)]
pub(crate) struct EarlyFrames {
    /// The outputs that the next turn begins with.
    later: Vec<Output>,
    /// Calls of subagents that wait for their results, by native id.
    held: HashMap<String, Held>,
    /// Calls that were told before their results, each with the call that spawned its subagent.
    released: HashMap<String, String>,
}

#[derive(Debug)]
struct Held {
    /// The call that spawned the subagent.
    spawned_by: String,
    /// The turn that would have told it.
    turn: u64,
    said: Vec<Output>,
    /// Calls of a subagent that this call spawned, as long as they have no results.
    inside: HashSet<String>,
}

impl EarlyFrames {
    pub(crate) fn take_later(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.later)
    }

    /// Whether the turn has calls whose results are still to come.
    pub(crate) fn has_released(&self) -> bool {
        !self.released.is_empty()
    }

    /// All that waits, as the process has ended.
    pub(crate) fn take_all(&mut self) -> Vec<Output> {
        let mut held: Vec<_> = std::mem::take(&mut self.held).into_iter().collect();
        held.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.take_later().into_iter().chain(held.into_iter().flat_map(|(_, held)| held.said)).collect()
    }

    /// A call is over, and with it what its subagent had called, and theirs.
    fn over(&mut self, call: &str) {
        let mut over = vec![call.to_owned()];
        while let Some(call) = over.pop() {
            over.extend(self.released.extract_if(|_, spawner| *spawner == call).map(|(inner, _)| inner));
        }
    }

    pub(crate) fn turn_ended(&mut self) {
        self.released.clear();
    }

    /// The call with which this one waits: itself, or the one that spawned its subagent.
    pub(crate) fn holder_of(&self, call: &str) -> Option<String> {
        if self.held.contains_key(call) {
            return Some(call.to_owned());
        }
        let holder = self.held.iter().find(|(_, held)| held.inside.contains(call));
        holder.map(|(id, _)| id.clone())
    }

    fn add(&mut self, holder: &str, said: &mut Vec<Output>) {
        if let Some(held) = self.held.get_mut(holder) {
            held.inside.extend(said.iter().filter_map(call_in));
            held.said.append(said);
        }
    }
}

impl Claude {
    /// Lets `tell` say something of a subagent, given the call that it belongs to.
    pub(crate) fn subagent_says(
        &mut self,
        spawned_by: &str,
        tell: impl FnOnce(&mut Self, Option<ItemKey>, &mut Vec<Output>),
        out: &mut Vec<Output>,
    ) {
        let parent = self.tools.call_of(spawned_by);
        let holder = self.backlog.holder_of(spawned_by);
        if holder.is_none() && !self.tools.is_done(spawned_by) {
            return tell(self, parent, out);
        }
        let mut said = Vec::new();
        tell(self, parent, &mut said);
        match (holder, said.iter().find_map(call_in)) {
            (Some(holder), _) => self.backlog.add(&holder, &mut said),
            (None, Some(id)) => {
                let (spawned_by, turn) = (spawned_by.to_owned(), self.turns.telling());
                self.backlog.held.insert(id, Held { spawned_by, turn, said, inside: HashSet::new() });
            }
            (None, None) => return self.tell_or_keep(said, out),
        }
        dropped(DropReason::Superseded, out);
    }

    /// The result of a subagent's call.
    pub(crate) fn subagent_done(
        &mut self,
        spawned_by: &str,
        call: &str,
        mut said: Vec<Output>,
        out: &mut Vec<Output>,
    ) {
        self.backlog.released.remove(call);
        self.backlog.over(call);
        match self.backlog.holder_of(call) {
            Some(holder) if holder == call => {
                let mut held = self.release(call);
                held.append(&mut said);
                self.tell_or_keep(held, out);
            }
            Some(holder) => {
                self.backlog.add(&holder, &mut said);
                if let Some(held) = self.backlog.held.get_mut(&holder) {
                    held.inside.remove(call);
                }
                dropped(DropReason::Superseded, out);
            }
            None if self.tools.is_done(spawned_by) => self.tell_or_keep(said, out),
            None => out.append(&mut said),
        }
        self.end_if_done(out);
    }

    /// A sign that a call runs.
    pub(crate) fn call_runs(&mut self, call: &str, out: &mut Vec<Output>) {
        let mut said = Vec::new();
        self.tools.runs(call, &mut said);
        match self.backlog.holder_of(call) {
            Some(holder) => self.backlog.add(&holder, &mut said),
            None => out.append(&mut said),
        }
    }

    /// Tells a call that waits, because a person is asked about it.
    pub(crate) fn release_for_person(&mut self, call: &str, out: &mut Vec<Output>) {
        let Some(holder) = self.backlog.holder_of(call) else { return };
        if let Some(held) = self.backlog.held.get(&holder) {
            let inside = held.inside.iter().map(|inner| (inner.clone(), holder.clone()));
            self.backlog.released.extend(inside);
            self.backlog.released.insert(holder.clone(), held.spawned_by.clone());
        }
        out.append(&mut self.release(&holder));
    }

    /// A subagent has ended: calls without a result will get none.
    pub(crate) fn abandon(&mut self, spawned_by: &str, out: &mut Vec<Output>) {
        self.backlog.over(spawned_by);
        let held = self.backlog.held.iter().filter(|(_, held)| held.spawned_by == spawned_by);
        let ids: Vec<String> = held.map(|(id, _)| id.clone()).collect();
        let abandoned: Vec<Output> = ids.iter().flat_map(|id| self.release(id)).collect();
        if !abandoned.is_empty() {
            self.tell_or_keep(abandoned, out);
        }
    }

    /// Returns the held outputs of a call that waited. The text before it may be forgotten by now; the call
    /// that spawned the subagent never is.
    fn release(&mut self, call: &str) -> Vec<Output> {
        let Some(mut held) = self.backlog.held.remove(call) else { return Vec::new() };
        if self.turns.telling() > held.turn + 1
            && let Some(Output::Stream(StreamOutput::Draft(
                Draft::ItemStarted(ItemStart { parent, .. }) | Draft::CallStarted(CallStart { parent, .. }),
            ))) = held.said.first_mut()
        {
            *parent = self.tools.call_of(&held.spawned_by);
        }
        held.said
    }

    /// Says something of a subagent in a turn: in this one, or else in the next.
    pub(crate) fn tell_or_keep(&mut self, mut said: Vec<Output>, out: &mut Vec<Output>) {
        if self.turns.is_running() {
            out.append(&mut self.backlog.later);
            out.append(&mut said);
        } else {
            self.backlog.later.append(&mut said);
            dropped(DropReason::Superseded, out);
        }
    }

    /// Says something that needs no turn, but not before what was said earlier.
    pub(crate) fn tell_in_order(&mut self, mut said: Vec<Output>, out: &mut Vec<Output>) {
        if self.backlog.later.is_empty() {
            out.append(&mut said);
        } else {
            self.tell_or_keep(said, out);
        }
    }
}

/// The native id of the call that begins here.
fn call_in(output: &Output) -> Option<String> {
    let Output::Stream(StreamOutput::Draft(Draft::CallStarted(start))) = output else { return None };
    start.native_id.clone()
}

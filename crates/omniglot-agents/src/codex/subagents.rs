//! Child agents: threads of their own, whose words stand below the call that started them.
//!
//! Codex does not announce such a thread: the item that starts one names it, and everything else it says is told
//! like the session's own words. Its turns are no turns of the session.

use indexmap::IndexMap;
use omniglot_schema::StatePatch;
use omniglot_timeline::ItemKey;
use serde::Serialize;

use super::Codex;
use super::text::Spot;
use super::usage::Meter;
use super::wire::{CollabAgentToolCall, SubAgentActivity, TokenUsage, Turn};
use crate::contract::Output;

#[derive(Debug, Default)]
pub(crate) struct Agents {
    children: IndexMap<String, Child>,
}

#[derive(Debug)]
struct Child {
    parent: Option<ItemKey>,
    name: Option<String>,
    status: String,
    /// The turn that it works on.
    turn: Option<String>,
    meter: Meter,
}

/// As the state lists it.
#[derive(Serialize)]
struct Listed<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    status: &'a str,
}

impl Agents {
    fn child(&mut self, thread: &str) -> &mut Child {
        self.children.entry(thread.to_owned()).or_insert_with(|| Child {
            parent: None,
            name: None,
            status: "starting".to_owned(),
            turn: None,
            meter: Meter::of_new_thread(),
        })
    }

    fn belongs_to(&mut self, thread: &str, call: ItemKey) -> &mut Child {
        let child = self.child(thread);
        child.parent.get_or_insert(call);
        child
    }

    pub(crate) fn threads(&self) -> impl Iterator<Item = String> {
        self.children.keys().cloned()
    }

    /// The children in the middle of a turn, and which.
    pub(crate) fn working(&self) -> Vec<(String, String)> {
        self.children
            .iter()
            .filter_map(|(thread, child)| Some((thread.clone(), child.turn.clone()?)))
            .collect()
    }

    fn listed(&self) -> Vec<serde_json::Value> {
        let listed = |(id, child): (&String, &Child)| {
            serde_json::to_value(Listed { id, name: child.name.as_deref(), status: &child.status }).ok()
        };
        self.children.iter().filter_map(listed).collect()
    }
}

impl Codex {
    pub(crate) fn is_child(&self, thread: &str) -> bool {
        self.thread.id.as_deref().is_some_and(|own| own != thread)
    }

    /// Where an item of a thread stands.
    pub(crate) fn spot(&self, thread: &str, id: &str) -> Spot {
        let child = self.agents.children.get(thread).filter(|_| self.is_child(thread));
        Spot {
            thread: thread.to_owned(),
            id: id.to_owned(),
            native: Some(id.to_owned()),
            parent: child.and_then(|child| child.parent.clone()),
            turn: self.turns.is_running().then_some(self.turns.begun),
        }
    }

    pub(crate) fn child_turn_started(&mut self, thread: &str, turn: Turn, out: &mut Vec<Output>) {
        let child = self.agents.child(thread);
        child.turn = Some(turn.id);
        child.status = "running".to_owned();
        self.tell_agents(out);
    }

    pub(crate) fn child_turn_completed(&mut self, thread: &str, turn: Turn, out: &mut Vec<Output>) {
        let child = self.agents.child(thread);
        child.turn = None;
        child.status = turn.status;
        if let Some(tokens) = child.meter.of_turn() {
            self.turns.add_subagent_tokens(tokens);
        }
        self.tell_agents(out);
    }

    pub(crate) fn child_usage(&mut self, thread: &str, usage: &TokenUsage, out: &mut Vec<Output>) {
        let child = self.agents.child(thread);
        let (call, parent) = (child.meter.count(usage, true), child.parent.clone());
        self.step(call, parent, out);
    }

    /// The item of the older kind of child agents: it starts them, waits for them, ends them.
    pub(crate) fn collab_agents(
        &mut self,
        call: &ItemKey,
        item: &CollabAgentToolCall,
        out: &mut Vec<Output>,
    ) {
        for thread in &item.receiver_thread_ids {
            self.agents.belongs_to(thread, call.clone());
        }
        for (thread, state) in &item.agents_states {
            self.agents.child(thread).status.clone_from(&state.status);
        }
        if !item.receiver_thread_ids.is_empty() {
            self.tell_agents(out);
        }
    }

    /// The item of the newer kind; `call` is the item itself when it starts the agent.
    pub(crate) fn subagent(&mut self, call: Option<ItemKey>, item: &SubAgentActivity, out: &mut Vec<Output>) {
        let child = match call {
            Some(call) => self.agents.belongs_to(&item.agent_thread_id, call),
            None => self.agents.child(&item.agent_thread_id),
        };
        child.name = Some(item.agent_path.clone());
        if matches!(item.kind.as_str(), "completed" | "interrupted") {
            child.status.clone_from(&item.kind);
        }
        self.tell_agents(out);
    }

    fn tell_agents(&mut self, out: &mut Vec<Output>) {
        let subagents = Some(Some(self.agents.listed().into()));
        self.state(StatePatch { subagents, ..StatePatch::default() }, out);
    }
}

//! What runs beside the conversation: background commands and subagents, and when their words are told.
//!
//! A subagent in the background goes on when the turn that began it has ended. Nothing may be said outside of
//! a turn, so its words wait for the next one, and its calls wait for their results: a turn that ends would
//! fail them. The next turn is sure to come, because the CLI begins one when a subagent is done.

use std::collections::HashMap;

use indexmap::IndexMap;
use omniglot_schema::{ContentPart, StatePatch};
use omniglot_timeline::{Body, ItemKey, ItemStart};
use serde::Serialize;

use super::wire::TaskLine;
use super::{Claude, dropped};
use crate::contract::{Draft, DropReason, Output};

#[derive(Debug, Default)]
pub(crate) struct Background {
    /// What runs, by the CLI's id.
    tasks: IndexMap<String, Task>,
    /// What the next turn begins with.
    later: Vec<Output>,
    /// Calls of subagents that wait for their results, by native id.
    held: HashMap<String, Held>,
}

#[derive(Debug)]
struct Task {
    /// The native id of the call that began it.
    call: Option<String>,
    is_agent: bool,
    shown: Subagent,
}

#[derive(Debug)]
struct Held {
    /// The call that spawned the subagent.
    spawned_by: String,
    said: Vec<Output>,
}

/// A subagent as the state shows it.
#[derive(Debug, Clone, Default, Serialize)]
struct Subagent {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// What it does now.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_tool: Option<String>,
}

impl Background {
    pub(crate) fn take_later(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.later)
    }

    /// Whether something that this call began still runs.
    pub(crate) fn is_running(&self, call: &str) -> bool {
        self.tasks.values().any(|task| task.call.as_deref() == Some(call))
    }

    pub(crate) fn release(&mut self, call: &str) -> Vec<Output> {
        self.held.remove(call).map(|held| held.said).unwrap_or_default()
    }

    /// The calls of a subagent that has ended: their results will not come.
    fn release_all(&mut self, spawned_by: &str) -> Vec<Output> {
        let ids: Vec<String> = self
            .held
            .iter()
            .filter(|(_, held)| held.spawned_by == spawned_by)
            .map(|(id, _)| id.clone())
            .collect();
        ids.iter().flat_map(|id| self.release(id)).collect()
    }

    fn subagents(&self) -> Option<omniglot_schema::Listed<serde_json::Value>> {
        let agents = self.tasks.values().filter(|task| task.is_agent);
        let list: Vec<_> = agents.filter_map(|task| serde_json::to_value(&task.shown).ok()).collect();
        (!list.is_empty()).then(|| list.into())
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
        if !self.tools.is_done(spawned_by) {
            return tell(self, parent, out);
        }
        let mut said = Vec::new();
        tell(self, parent, &mut said);
        match said.iter().find_map(call_in) {
            Some(id) => {
                self.background.held.insert(id, Held { spawned_by: spawned_by.to_owned(), said });
                dropped(DropReason::Superseded, out);
            }
            None => self.tell_or_keep(said, out),
        }
    }

    /// The result of a subagent's call.
    pub(crate) fn subagent_done(
        &mut self,
        spawned_by: &str,
        call: &str,
        mut said: Vec<Output>,
        out: &mut Vec<Output>,
    ) {
        let mut held = self.background.release(call);
        held.append(&mut said);
        if self.tools.is_done(spawned_by) {
            self.tell_or_keep(held, out);
        } else {
            out.append(&mut held);
        }
    }

    fn tell_or_keep(&mut self, mut said: Vec<Output>, out: &mut Vec<Output>) {
        if self.turns.is_running() {
            out.append(&mut said);
        } else {
            self.background.later.append(&mut said);
            dropped(DropReason::Superseded, out);
        }
    }

    pub(crate) fn task_started(&mut self, line: TaskLine, out: &mut Vec<Output>) {
        if let Some(call) = &line.tool_use_id {
            self.tools.runs(call, out);
        }
        let is_agent = line.task_type.as_deref() == Some("local_agent");
        if is_agent {
            self.turns.has_subagents();
        }
        let shown = Subagent {
            id: line.task_id.clone(),
            r#type: line.subagent_type,
            description: line.description,
            ..Subagent::default()
        };
        self.background.tasks.insert(line.task_id, Task { call: line.tool_use_id, is_agent, shown });
        self.show_subagents(is_agent, out);
    }

    pub(crate) fn task_progress(&mut self, line: TaskLine, out: &mut Vec<Output>) {
        let Some(task) = self.background.tasks.get_mut(&line.task_id) else {
            return dropped(DropReason::Superseded, out);
        };
        task.shown.progress = line.description;
        task.shown.last_tool = line.last_tool_name;
        let is_agent = task.is_agent;
        self.show_subagents(is_agent, out);
    }

    pub(crate) fn task_updated(&mut self, line: &TaskLine, out: &mut Vec<Output>) {
        let status = line.patch.as_ref().and_then(|patch| patch.status.as_deref());
        if matches!(status, None | Some("running" | "pending")) {
            return dropped(DropReason::Internal, out);
        }
        let ended = self.background.tasks.shift_remove(&line.task_id);
        self.show_subagents(ended.is_some_and(|task| task.is_agent), out);
    }

    /// The end of a task that ran in the background is news for the model, and for whoever reads along.
    pub(crate) fn task_notified(&mut self, line: TaskLine, out: &mut Vec<Output>) {
        let ended = self.background.tasks.shift_remove(&line.task_id);
        self.show_subagents(ended.is_some_and(|task| task.is_agent), out);
        let Some(call) = line.tool_use_id.filter(|call| self.tools.is_done(call)) else { return };
        let abandoned = self.background.release_all(&call);
        if !abandoned.is_empty() {
            self.tell_or_keep(abandoned, out);
        }
        let words = line.summary.or(line.status).unwrap_or_else(|| "a background task has ended".to_owned());
        let parent = self.tools.call_of(&call);
        self.note(Body::System { parts: vec![ContentPart::Text { text: words }] }, parent, out);
    }

    fn show_subagents(&self, changed: bool, out: &mut Vec<Output>) {
        if changed {
            let subagents = Some(self.background.subagents());
            self.state(StatePatch { subagents, ..StatePatch::default() }, out);
        } else {
            dropped(DropReason::Internal, out);
        }
    }
}

/// The native id of the call that begins here.
fn call_in(output: &Output) -> Option<String> {
    let Output::Draft(Draft::ItemStarted(ItemStart { body: Body::ToolCall { .. }, native_id, .. })) = output
    else {
        return None;
    };
    native_id.clone()
}

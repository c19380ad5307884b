//! Background commands and subagents, from their start to their end.
//!
//! `backlog` decides when a subagent's words are told.

use indexmap::IndexMap;
use omniglot_schema::{ContentPart, StatePatch};
use omniglot_timeline::Body;
use serde::Serialize;

use super::wire::TaskLine;
use super::{Claude, dropped};
use crate::contract::{DropReason, Output};

#[derive(Debug, Default)]
pub(crate) struct Background {
    /// The running tasks, by the CLI's id.
    tasks: IndexMap<String, Task>,
}

#[derive(Debug)]
struct Task {
    /// The native id of the call that began it.
    call: Option<String>,
    is_agent: bool,
    shown: Subagent,
}

/// A subagent as the state shows it.
#[derive(Debug, Clone, Default, Serialize)]
struct Subagent {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// The present step of the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_tool: Option<String>,
}

impl Background {
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(crate) fn has_subagents(&self) -> bool {
        self.tasks.values().any(|task| task.is_agent)
    }

    /// Whether something that this call began still runs.
    pub(crate) fn is_running(&self, call: &str) -> bool {
        self.tasks.values().any(|task| task.call.as_deref() == Some(call))
    }

    fn subagents(&self) -> Option<omniglot_schema::Listed<serde_json::Value>> {
        let agents = self.tasks.values().filter(|task| task.is_agent);
        let list: Vec<_> = agents.filter_map(|task| serde_json::to_value(&task.shown).ok()).collect();
        (!list.is_empty()).then(|| list.into())
    }
}

impl Claude {
    pub(crate) fn task_started(&mut self, line: TaskLine, out: &mut Vec<Output>) {
        if let Some(call) = &line.tool_use_id {
            self.call_runs(call, out);
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
        if is_agent {
            self.member_works(&line.task_id, line.tool_use_id.as_deref(), out);
        }
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
        self.member_rests(&line.task_id, status, out);
        let call = self.task_ended(&line.task_id, out);
        if let Some(call) = call {
            self.abandon(&call, out);
        }
        self.end_if_done(out);
    }

    /// The end of a task that ran in the background is news for the model, and for whoever reads along.
    pub(crate) fn task_notified(&mut self, line: TaskLine, out: &mut Vec<Output>) {
        self.member_rests(&line.task_id, line.status.as_deref(), out);
        self.task_ended(&line.task_id, out);
        if let Some(call) = line.tool_use_id.filter(|call| self.tools.is_done(call)) {
            self.abandon(&call, out);
            let words = line.summary.or(line.status);
            let text = words.unwrap_or_else(|| "a background task has ended".to_owned());
            let parent = self.tools.call_of(&call);
            let mut said = Vec::new();
            self.note(Body::System { parts: vec![ContentPart::Text { text }] }, parent, &mut said);
            self.tell_in_order(said, out);
        }
        self.end_if_done(out);
    }

    /// Takes a task off the list, and tells which call began it.
    fn task_ended(&mut self, id: &str, out: &mut Vec<Output>) -> Option<String> {
        let ended = self.background.tasks.shift_remove(id);
        self.show_subagents(ended.as_ref().is_some_and(|task| task.is_agent), out);
        ended?.call
    }

    /// The turn is over, and with it what it waited for: a task of a call that has no result was cut.
    pub(crate) fn tasks_cut(&mut self, out: &mut Vec<Output>) {
        let Self { background, tools, backlog, .. } = self;
        let cut = |call: &String| tools.is_open(call) && backlog.holder_of(call).is_none();
        let before = background.subagents();
        background.tasks.retain(|_, task| !task.call.as_ref().is_some_and(cut));
        let now = background.subagents();
        if now != before {
            self.state(StatePatch { subagents: Some(now), ..StatePatch::default() }, out);
        }
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

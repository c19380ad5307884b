//! The present state: the session's record, its todos and its queue, and how a retry ends.

use jiff::Timestamp;
use omniglot_schema::{Activity, StatePatch, TodoStatus};

use super::{DEFAULT_MODE, DEFAULT_MODEL, Projector};
use crate::faces::opencode::wire::{
    MessageModel, Payload, Session, SessionModel, SessionSummary, SessionTime, Status, Todo,
};

/// The version of OpenCode whose server this face is like.
pub const VERSION: &str = "1.18.33";

impl Projector {
    pub(super) fn patched(&mut self, patch: &StatePatch) {
        let changed = self.state.apply(patch.clone());
        let (compacting, hidden_from) = (self.compacting, self.hidden_from.clone());
        if let Some(activity) = changed.activity {
            self.activity_is(activity);
        }
        if let Some(queue) = &changed.queue {
            self.queue_is(queue.as_ref());
        }
        if changed.todos.is_some() {
            self.todos_changed();
        }
        if let Some(turn) = &changed.reverted_from {
            self.reverted_from_is(turn.as_ref());
        }
        let of_record = changed.title.is_some()
            || changed.model.is_some()
            || changed.variant.is_some()
            || changed.agent_mode.is_some()
            || self.hidden_from != hidden_from
            || self.compacting != compacting;
        // In a turn, what it costs is told at its end.
        if of_record || (changed.cost_usd.is_some() && self.turn.is_none()) {
            self.say_session();
        }
    }

    fn activity_is(&mut self, activity: Option<Activity>) {
        self.compacting = (activity == Some(Activity::Compacting)).then_some(self.now);
        if activity != Some(Activity::Retrying) {
            self.no_retry();
        }
    }

    /// The agent goes on: it does not wait for another try any more.
    pub(super) fn no_retry(&mut self) {
        if matches!(self.status, Status::Retry { .. }) {
            self.say_status(Status::Busy);
        }
    }

    fn todos_changed(&mut self) {
        // A list too long to stand in the event is shown as far as it was known.
        let todos = match &self.state.todos {
            None => vec![],
            Some(listed) => match listed.inline() {
                Some(todos) => todos.iter().map(todo).collect(),
                None => return,
            },
        };
        self.todos.clone_from(&todos);
        self.say(Payload::TodoUpdated { session_id: self.id.clone(), todos });
    }

    pub(super) fn model(&self) -> MessageModel {
        MessageModel {
            provider_id: self.summary.agent.clone(),
            model_id: self.state.model.clone().unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
            variant: self.state.variant.clone(),
        }
    }

    pub(super) fn mode(&self) -> String {
        self.state.agent_mode.clone().unwrap_or_else(|| DEFAULT_MODE.to_owned())
    }
}

pub(super) fn session(of: &Projector) -> Session {
    let MessageModel { provider_id, model_id, variant } = of.model();
    let (additions, deletions) = of.diffs.lines();
    let summary = SessionSummary { additions, deletions, files: of.diffs.len() };
    Session {
        id: of.id.clone(),
        slug: of.summary.session.to_string(),
        project_id: of.summary.project.clone(),
        directory: of.summary.directory.clone(),
        path: Some(String::new()),
        parent_id: None,
        summary: (summary.files > 0).then_some(summary),
        cost: of.state.cost_usd.unwrap_or(0.0),
        tokens: of.tokens.clone(),
        title: title(of),
        agent: Some(of.mode()),
        model: Some(SessionModel { id: model_id, provider_id, variant }),
        version: VERSION.to_owned(),
        revert: of.revert(),
        time: SessionTime { created: of.summary.created, updated: of.now, compacting: of.compacting },
    }
}

fn title(of: &Projector) -> String {
    let title = of.state.title.clone().or_else(|| of.first_prompt.clone());
    title.unwrap_or_else(|| untitled(of.summary.created))
}

/// Clients know a session without a title by these words.
fn untitled(created: i64) -> String {
    let created = Timestamp::from_millisecond(created).unwrap_or_default();
    format!("New session - {created:.3}")
}

fn todo(todo: &omniglot_schema::Todo) -> Todo {
    let status = match todo.status {
        TodoStatus::Pending => "pending",
        TodoStatus::InProgress => "in_progress",
        TodoStatus::Completed => "completed",
    };
    Todo { content: todo.text.clone(), status, priority: "medium" }
}

//! `session.updated`: what is now, key by key.

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, ConfigOptionUpdate, Cost,
    CurrentModeUpdate, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionInfoUpdate, SessionUpdate,
    UnstructuredCommandInput, UsageUpdate,
};
use omniglot_schema::{CommandInfo, Listed, StatePatch, Todo, TodoStatus};
use serde::de::DeserializeOwned;

use super::blocks::Blobs;
use super::{Out, Projector, status};
use crate::faces::acp::project::settings;
use crate::faces::acp::wire::meta::{self, Notes};

impl Projector {
    pub(super) fn state_changed(&mut self, patch: &StatePatch, blobs: &Blobs, out: &mut Out<'_>) {
        let mut patch = patch.clone();
        fill(&mut patch.todos, blobs);
        fill(&mut patch.commands, blobs);
        fill(&mut patch.modes, blobs);
        fill(&mut patch.models, blobs);
        let changed = self.state.apply(patch);
        self.titled(&changed, out);
        self.set_otherwise(&changed, out);
        self.used(&changed, out);
        listed(&changed, out);
        unsaid(changed, out);
    }

    fn titled(&self, changed: &StatePatch, out: &mut Out<'_>) {
        if let Some(title) = &changed.title {
            let info = SessionInfoUpdate::new().title(title.clone()).updated_at(out.event.time.to_string());
            out.update(SessionUpdate::SessionInfoUpdate(info));
        }
    }

    /// Modes, models and the like: the mode in its old form as well, for clients without options.
    fn set_otherwise(&self, changed: &StatePatch, out: &mut Out<'_>) {
        if let Some(Some(mode)) = &changed.agent_mode {
            out.update(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode.clone())));
        }
        let touched = changed.agent_mode.is_some()
            || changed.model.is_some()
            || changed.variant.is_some()
            || changed.permission_mode.is_some()
            || changed.modes.is_some()
            || changed.models.is_some();
        let options = settings::options(&self.state);
        if touched && !options.is_empty() {
            out.update(SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options)));
        }
    }

    /// ACP tells the cost beside the context, so it waits until that is known.
    fn used(&self, changed: &StatePatch, out: &mut Out<'_>) {
        let touched = changed.context.is_some() || changed.cost_usd.is_some();
        if let Some(context) = self.state.context.filter(|_| touched) {
            let cost = self.state.cost_usd.map(|amount| Cost::new(amount, "USD"));
            out.update(SessionUpdate::UsageUpdate(UsageUpdate::new(context.used, context.window).cost(cost)));
        }
    }
}

fn fill<T: DeserializeOwned>(list: &mut Option<Option<Listed<T>>>, blobs: &Blobs) {
    if let Some(Some(list)) = list {
        blobs.fill(list);
    }
}

fn listed(changed: &StatePatch, out: &mut Out<'_>) {
    if let Some(entries) = inline(changed.todos.as_ref()) {
        let plan = Plan::new(entries.iter().map(entry).collect());
        out.update(SessionUpdate::Plan(plan));
    }
    if let Some(commands) = inline(changed.commands.as_ref()) {
        let update = AvailableCommandsUpdate::new(commands.iter().map(command).collect());
        out.update(SessionUpdate::AvailableCommandsUpdate(update));
    }
}

/// A list that was taken away is empty; one whose blob is not here cannot be told.
fn inline<T>(list: Option<&Option<Listed<T>>>) -> Option<&[T]> {
    match list? {
        Some(list) => list.inline(),
        None => Some(&[]),
    }
}

fn entry(todo: &Todo) -> PlanEntry {
    let status = match todo.status {
        TodoStatus::Pending => PlanEntryStatus::Pending,
        TodoStatus::InProgress => PlanEntryStatus::InProgress,
        TodoStatus::Completed => PlanEntryStatus::Completed,
    };
    PlanEntry::new(todo.text.clone(), PlanEntryPriority::Medium, status)
}

fn command(command: &CommandInfo) -> AvailableCommand {
    let hint = |hint: &String| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint));
    AvailableCommand::new(&command.name, &command.description).input(command.hint.as_ref().map(hint))
}

/// The keys that ACP has no update for.
fn unsaid(changed: StatePatch, out: &mut Out<'_>) {
    let rest = StatePatch {
        activity: changed.activity,
        connection: changed.connection,
        plan: changed.plan,
        auth: changed.auth,
        usage: changed.usage,
        queue: changed.queue,
        subagents: changed.subagents,
        team: changed.team,
        ..StatePatch::default()
    };
    if !rest.is_empty() {
        out.update(status::silent(Notes::default().with(meta::STATE, Some(rest))));
    }
}

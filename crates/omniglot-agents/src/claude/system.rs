//! The CLI's own messages: status, retries, compaction, hooks, warnings.
//!
//! `background` handles background tasks, `open` and `turn` the start of a turn.

use omniglot_schema::{Activity, CommandInfo, StatePatch, StatusLabel};
use omniglot_timeline::{Body, ItemEnd, ItemKey, ItemStart, Outcome};

use super::wire::system::{ApiRetry, CompactMetadata, Hook, PermissionDenied, Status};
use super::wire::{CommandEntry, RateLimitInfo, System};
use super::{Claude, dropped};
use crate::contract::{Draft, DropReason, Output};
use crate::fault::unparsed;

impl Claude {
    pub(crate) fn system(&mut self, line: System, out: &mut Vec<Output>) {
        match line {
            System::Init(init) => self.turn_begins(*init, out),
            System::Status(status) => self.status_told(status, out),
            System::CompactBoundary(metadata) => self.compacted(&metadata, out),
            System::ApiRetry(retry) => self.retrying(&retry, out),
            System::TaskStarted(task) => self.task_started(task, out),
            System::TaskProgress(task) => self.task_progress(task, out),
            System::TaskUpdated(task) => self.task_updated(&task, out),
            System::TaskNotification(task) => self.task_notified(task, out),
            System::PermissionDenied(denied) => self.permission_denied(denied, out),
            System::HookStarted(hook) => hook_started(&hook, out),
            System::HookResponse(hook) => hook_answered(hook, out),
            System::CommandsChanged(list) => {
                let commands = Some(Some(commands(list)));
                self.state(StatePatch { commands, ..StatePatch::default() }, out);
            }
            System::TitleChanged(title) => {
                self.state(StatePatch { title: Some(title), ..StatePatch::default() }, out);
            }
            System::Informational(text) => self.status(StatusLabel::Warning, text, out),
            System::ThinkingTokens => dropped(DropReason::Heartbeat, out),
            // Tasks tell it one by one.
            System::BackgroundTasksChanged => dropped(DropReason::Duplicate, out),
            System::ModelRefusal | System::SessionStateChanged | System::ControlRequestProgress => {
                dropped(DropReason::Internal, out);
            }
            System::Unknown { subtype } => {
                out.push(Output::unparsed(unparsed(format!("system.{subtype}"), "unknown subtype")));
            }
        }
    }

    fn status_told(&mut self, status: Status, out: &mut Vec<Output>) {
        if let Some(mode) = &status.permission_mode {
            self.mode_is(mode, out);
        }
        match status.status.as_deref() {
            Some("compacting") => self.busy_with(Some(Activity::Compacting), out),
            Some("requesting") => dropped(DropReason::Heartbeat, out),
            Some(other) => {
                out.push(Output::unparsed(unparsed("system.status", format!("unknown status {other}"))));
            }
            None => self.busy_with(None, out),
        }
        if status.compact_result.as_deref() == Some("failed") || status.compact_error.is_some() {
            let why = status.compact_error.map(|error| format!(": {error}")).unwrap_or_default();
            self.status(StatusLabel::Warning, format!("the compaction failed{why}"), out);
        }
    }

    /// Tells what the CLI is busy with, when that has changed.
    pub(crate) fn busy_with(&mut self, activity: Option<Activity>, out: &mut Vec<Output>) {
        if self.activity != activity {
            self.activity = activity;
            self.state(StatePatch { activity: Some(activity), ..StatePatch::default() }, out);
        }
    }

    /// The model speaks: whatever was tried again has succeeded.
    pub(crate) fn model_speaks(&mut self, out: &mut Vec<Output>) {
        if self.activity == Some(Activity::Retrying) {
            self.busy_with(None, out);
        }
    }

    pub(crate) fn compacted(&mut self, metadata: &CompactMetadata, out: &mut Vec<Output>) {
        let trigger = metadata.trigger.as_deref().unwrap_or("unknown");
        let detail = match (metadata.pre_tokens, metadata.post_tokens) {
            (Some(before), Some(after)) => format!("{trigger}: {before} tokens before, {after} after"),
            (Some(before), None) => format!("{trigger}: {before} tokens before"),
            (None, _) => trigger.to_owned(),
        };
        self.status(StatusLabel::Compaction, detail, out);
    }

    fn retrying(&mut self, retry: &ApiRetry, out: &mut Vec<Output>) {
        let ApiRetry { attempt, max_retries, retry_delay_ms, error_status, error } = retry;
        let error = error.as_deref().unwrap_or("unknown");
        let status = error_status.map(|status| format!(" ({status})")).unwrap_or_default();
        let detail = format!("{error}{status}: attempt {attempt} of {max_retries} in {retry_delay_ms:.0} ms");
        self.busy_with(Some(Activity::Retrying), out);
        self.status(StatusLabel::Retry, detail, out);
    }

    fn permission_denied(&mut self, denied: PermissionDenied, out: &mut Vec<Output>) {
        let PermissionDenied { tool_name, message } = denied;
        let words = message.unwrap_or_else(|| format!("{tool_name} was refused"));
        self.status(StatusLabel::Warning, words, out);
    }

    pub(crate) fn rate_limit(&mut self, info: RateLimitInfo, out: &mut Vec<Output>) {
        let RateLimitInfo { status, resets_at, rate_limit_type } = info;
        self.turns.limit_resets_at = resets_at;
        match status.as_deref() {
            Some("allowed_warning") => {
                let which = rate_limit_type.map(|kind| format!(" ({kind})")).unwrap_or_default();
                self.status(StatusLabel::Warning, format!("the usage limit is near{which}"), out);
            }
            // One that is reached fails the turn, which says so.
            _ => dropped(DropReason::Internal, out),
        }
    }
}

fn hook_started(hook: &Hook, out: &mut Vec<Output>) {
    let key = hook_key(hook);
    let body = Body::Status { label: StatusLabel::Hook, detail: Some(hook.hook_name.clone()) };
    let native_id = Some(hook.hook_id.clone());
    out.push(Draft::ItemStarted(ItemStart { key, native_id, parent: None, body }).into());
}

fn hook_answered(hook: Hook, out: &mut Vec<Output>) {
    let key = hook_key(&hook);
    let failed = hook.outcome.as_deref() == Some("error") || hook.exit_code.is_some_and(|code| code != 0);
    let mut detail = hook.hook_name;
    if let Some(code) = hook.exit_code {
        detail.push_str(&format!(", exit code {code}"));
    }
    if let Some(output) = hook.output.filter(|output| !output.trim().is_empty()) {
        detail.push_str(&format!(": {}", output.trim_end()));
    }
    let outcome = if failed { Outcome::Failed } else { Outcome::Completed };
    let body = Some(Body::Status { label: StatusLabel::Hook, detail: Some(detail) });
    out.push(Draft::ItemCompleted(ItemEnd { key, outcome, body }).into());
}

fn hook_key(hook: &Hook) -> ItemKey {
    ItemKey(format!("hook:{}", hook.hook_id))
}

pub(crate) fn commands(list: Vec<CommandEntry>) -> omniglot_schema::Listed<CommandInfo> {
    let command = |entry: CommandEntry| CommandInfo {
        name: entry.name,
        description: entry.description,
        hint: entry.argument_hint.filter(|hint| !hint.is_empty()),
    };
    list.into_iter().map(command).collect()
}

//! State patches: plans, commands, modes, models, title and context.

use agent_client_protocol_schema::v1::{AvailableCommand, AvailableCommandInput, PlanEntry, PlanEntryStatus};
use omniglot_schema::{CommandInfo, ContextFill, StatePatch, StatusLabel, Todo, TodoStatus};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Acp;
use super::failure::message;
use super::update::{SessionInfo, UsageFields};
use super::wire::field;
use crate::contract::{Output, Unparsed};
use crate::fault::unparsed;
use crate::rpc::{RpcError, RpcId};

impl Acp {
    pub(crate) fn plan(
        &mut self,
        entries: Vec<PlanEntry>,
        faults: &mut Vec<Unparsed>,
        out: &mut Vec<Output>,
    ) {
        let mut todos = Vec::with_capacity(entries.len());
        for entry in entries {
            let status = match entry.status {
                PlanEntryStatus::Pending => TodoStatus::Pending,
                PlanEntryStatus::InProgress => TodoStatus::InProgress,
                PlanEntryStatus::Completed => TodoStatus::Completed,
                _ => {
                    faults.push(unparsed("plan.entries", "unknown status"));
                    continue;
                }
            };
            todos.push(Todo { text: entry.content, status });
        }
        self.state(StatePatch { todos: Some(Some(todos.into())), ..StatePatch::default() }, out);
    }

    pub(crate) fn commands(&mut self, commands: Vec<AvailableCommand>, out: &mut Vec<Output>) {
        let info = |command: AvailableCommand| CommandInfo {
            hint: match command.input {
                Some(AvailableCommandInput::Unstructured(input)) => Some(input.hint),
                _ => None,
            },
            name: command.name,
            description: command.description,
        };
        let commands = Some(Some(commands.into_iter().map(info).collect()));
        self.state(StatePatch { commands, ..StatePatch::default() }, out);
    }

    /// The agent changed its mode: it is so now, and it happened.
    pub(crate) fn mode_changed(&mut self, mode: String, out: &mut Vec<Output>) {
        self.mode_is(&mode, out);
        if !self.session.replaying {
            self.texts.interrupt(out);
            self.status(StatusLabel::ModeChanged, Some(mode), out);
        }
    }

    pub(crate) fn mode_is(&mut self, mode: &str, out: &mut Vec<Output>) {
        let mut patch = StatePatch { agent_mode: Some(Some(mode.to_owned())), ..StatePatch::default() };
        if let Some(choice) = &mut self.session.settings.mode {
            choice.current = Some(mode.to_owned());
        }
        self.permission_mode_follows(&mut patch);
        self.state(patch, out);
    }

    pub(crate) fn options_changed(
        &mut self,
        options: &RawValue,
        faults: &mut Vec<Unparsed>,
        out: &mut Vec<Output>,
    ) {
        let mode = |acp: &Self| acp.session.settings.mode.as_ref().and_then(|mode| mode.current.clone());
        let before = mode(self);
        self.session.settings.read_options(Some(options), faults);
        let mut patch = self.session.settings.patch();
        if mode(self) != before {
            self.permission_mode_follows(&mut patch);
        }
        self.state(patch, out);
    }

    pub(crate) fn session_info(
        &mut self,
        info: &SessionInfo<'_>,
        faults: &mut Vec<Unparsed>,
        out: &mut Vec<Output>,
    ) {
        if info.is_codex_system_error() {
            self.turns.model_call_failed();
        }
        match info.title() {
            Ok(title) => self.state(StatePatch { title, ..StatePatch::default() }, out),
            Err(fault) => faults.push(fault),
        }
    }

    pub(crate) fn usage(&mut self, usage: &UsageFields, out: &mut Vec<Output>) {
        let cost_usd = self.turns.usage_told(usage).map(Some);
        let context = Some(Some(ContextFill { used: usage.used, window: usage.size }));
        self.state(StatePatch { context, cost_usd, ..StatePatch::default() }, out);
    }

    pub(crate) fn mode_answered(
        &mut self,
        id: &RpcId,
        mode: String,
        result: Result<&RawValue, RpcError>,
        out: &mut Vec<Output>,
    ) {
        let refused = match result {
            Ok(_) => {
                self.mode_is(&mode, out);
                None
            }
            Err(error) => Some(format!("the agent refused the mode {mode}: {}", message(&error))),
        };
        self.setting_answered(id, refused, out);
    }

    pub(crate) fn model_answered(
        &mut self,
        id: &RpcId,
        model: String,
        result: Result<&RawValue, RpcError>,
        out: &mut Vec<Output>,
    ) {
        let refused = match result {
            Ok(_) => {
                if let Some(choice) = &mut self.session.settings.model {
                    choice.current = Some(model.clone());
                }
                self.state(StatePatch { model: Some(Some(model)), ..StatePatch::default() }, out);
                None
            }
            Err(error) => Some(format!("the agent refused the model {model}: {}", message(&error))),
        };
        self.setting_answered(id, refused, out);
    }

    pub(crate) fn option_answered(
        &mut self,
        id: &RpcId,
        value: &str,
        result: Result<&RawValue, RpcError>,
        out: &mut Vec<Output>,
    ) {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Answer<'a> {
            #[serde(borrow)]
            config_options: Option<&'a RawValue>,
        }
        let mut faults = Vec::new();
        let refused = match result {
            Ok(raw) => {
                let answer: Option<Answer<'_>> = field("session/set_config_option", Some(raw), &mut faults);
                if let Some(options) = answer.and_then(|answer| answer.config_options) {
                    self.options_changed(options, &mut faults, out);
                }
                None
            }
            Err(error) => Some(format!("the agent refused the setting {value}: {}", message(&error))),
        };
        out.extend(faults.into_iter().map(Output::unparsed));
        self.setting_answered(id, refused, out);
    }
}

/// The value that a `session/set_…` request asks for.
pub(crate) fn setting(params: &RawValue) -> String {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Params {
        mode_id: Option<String>,
        model_id: Option<String>,
        config_id: Option<String>,
        value: Option<serde_json::Value>,
    }
    let params: Params = serde_json::from_str(params.get()).unwrap_or_default();
    let option = || Some(format!("{} = {}", params.config_id?, params.value?));
    params.mode_id.or(params.model_id).or_else(option).unwrap_or_default()
}

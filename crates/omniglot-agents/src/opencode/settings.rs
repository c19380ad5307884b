//! Models, efforts, agents and rules: what is listed, what is chosen, what goes with a prompt.
//!
//! Modes are OpenCode's primary agents. A permission mode is a rule of the session, or the agent `plan`.
//! Rules of a session can only be added to, and the last one that fits wins: to take one back, those of the
//! agent are said once more.

use std::collections::HashMap;

use omniglot_schema::{
    AgentModeInfo, AgentModelInfo, CommandInfo, Listed, SessionState, StatePatch, StatusLabel,
};
use serde_json::{Value, json};

use super::OpenCode;
use super::open::session_in;
use super::translate::state;
use super::wire::{Agent, Command, Config, Providers};
use crate::contract::{Output, Refusal, RefusalKind, SettingsPreview, SettingsRequest};
use crate::http::{Answer, Method};
use crate::models::check_model;

#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) models: Vec<AgentModelInfo>,
    /// The model of the user's configuration, which wins over the one that the list begins with.
    configured_model: Option<String>,
    listed_model: Option<String>,
    /// The context of each model, in tokens.
    pub(crate) windows: HashMap<String, u64>,
    pub(crate) modes: Vec<AgentModeInfo>,
    pub(crate) commands: Vec<CommandInfo>,
    /// The permission rules of each agent in the user's configuration.
    agent_rules: HashMap<String, Vec<Value>>,
    /// The session's own rules, as the server has them.
    pub(crate) rules: Vec<Value>,
    /// Whether it was told what model and agent there are.
    pub(crate) known: bool,
}

const PERMISSION_MODES: &[&str] = &["default", "acceptEdits", "plan", "bypass"];

/// The agent that does not work, as a mode of permissions and as an agent.
const PLAN: &str = "plan";

/// The agent that works.
const BUILD: &str = "build";

impl Settings {
    pub(crate) fn learn_models(&mut self, listed: Providers) {
        for provider in listed.providers {
            for (id, model) in provider.models {
                let id = format!("{}/{id}", provider.id);
                self.windows.insert(id.clone(), model.limit.context);
                let variants: Vec<String> = model.variants.into_keys().collect();
                self.models.push(AgentModelInfo {
                    id,
                    name: model.name,
                    variants: (!variants.is_empty()).then_some(variants),
                    default_variant: None,
                });
            }
        }
        let default = listed.default.into_iter().next();
        self.listed_model = default.map(|(provider, model)| format!("{provider}/{model}"));
    }

    pub(crate) fn learn_config(&mut self, config: Config) {
        self.configured_model = config.model;
    }

    /// The model that answers when nobody asks for another.
    pub(crate) fn default_model(&self) -> Option<&str> {
        self.configured_model.as_deref().or(self.listed_model.as_deref())
    }

    pub(crate) fn learn_modes(&mut self, agents: Vec<Agent>) {
        let rules = agents
            .iter()
            .filter_map(|agent| Some((agent.name.clone(), agent.permission.as_array()?.clone())));
        self.agent_rules = rules.collect();
        let is_mode = |agent: &Agent| agent.hidden != Some(true) && agent.mode.as_deref() != Some("subagent");
        let mode = |agent: Agent| AgentModeInfo {
            id: agent.name.clone(),
            name: agent.name,
            description: agent.description.unwrap_or_default(),
        };
        self.modes = agents.into_iter().filter(is_mode).map(mode).collect();
    }

    pub(crate) fn learn_commands(&mut self, commands: Vec<Command>) {
        let command = |command: Command| CommandInfo {
            name: command.name,
            description: command.description.unwrap_or_default(),
            hint: None,
        };
        self.commands = commands.into_iter().map(command).collect();
    }

    pub(crate) fn has_mode(&self, agent: &str) -> bool {
        self.modes.is_empty() || self.modes.iter().any(|mode| mode.id == agent)
    }

    /// The rules that the session lacks for this settings request.
    pub(crate) fn missing_rules(&self, requested: &SettingsRequest) -> Option<Vec<Value>> {
        let wanted = rules(requested);
        if self.rules == wanted {
            return None;
        }
        if self.rules.is_empty() {
            return Some(wanted);
        }
        let agent = requested.agent_mode.as_deref().unwrap_or(BUILD);
        // Where nobody knows what it may do, a person decides.
        let ask = || vec![json!({"permission": "*", "pattern": "*", "action": "ask"})];
        let mut all = self.agent_rules.get(agent).cloned().unwrap_or_else(ask);
        all.extend(wanted);
        (!self.rules.ends_with(&all)).then_some(all)
    }

    pub(crate) fn patch(&self) -> StatePatch {
        StatePatch {
            models: Some(Some(self.models.clone().into())),
            modes: Some(Some(self.modes.clone().into())),
            commands: Some(Some(self.commands.clone().into())),
            ..StatePatch::default()
        }
    }
}

/// Returns the expected result of a settings request by the lists; empty lists refuse nothing.
pub(crate) fn check_settings(
    requested: &SettingsRequest,
    models: &[AgentModelInfo],
    modes: &[AgentModeInfo],
    current: Option<&str>,
) -> Result<SettingsPreview, Refusal> {
    let mode = requested.agent_mode.as_deref();
    if let Some(mode) = mode
        && !modes.is_empty()
        && !modes.iter().any(|listed| listed.id == mode)
    {
        return Err(bad(format!("OpenCode has no agent {mode}"), modes.iter().map(|mode| mode.id.as_str())));
    }
    if let Some(mode) = requested.permission_mode.as_deref()
        && !PERMISSION_MODES.contains(&mode)
    {
        let message = format!("OpenCode has no permission mode {mode}");
        return Err(bad(message, PERMISSION_MODES.iter().copied()));
    }
    let used = requested.model.as_deref().or(current);
    let listed = models.iter().find(|model| Some(model.id.as_str()) == used);
    let warning = check_model(requested, models.iter().map(|model| model.id.as_str()))?;
    if let (Some(variant), Some(model)) = (&requested.variant, listed) {
        let variants = model.variants.as_deref().unwrap_or_default();
        if !variants.contains(variant) {
            let message = format!("the model {} has no variant {variant}", model.id);
            return Err(bad(message, variants.iter().map(String::as_str)));
        }
    }
    let set = |value: &Option<String>| value.clone().map(Some);
    let patch = StatePatch {
        model: set(&requested.model),
        variant: set(&requested.variant),
        agent_mode: mode.map(|mode| Some(mode.to_owned())),
        permission_mode: set(&requested.permission_mode),
        ..StatePatch::default()
    };
    Ok(SettingsPreview { patch, warnings: warning.into_iter().collect() })
}

pub(crate) fn preview_settings(
    state: &SessionState,
    requested: &SettingsRequest,
) -> Result<SettingsPreview, Refusal> {
    let models = state.models.as_ref().and_then(Listed::inline).unwrap_or_default();
    let modes = state.modes.as_ref().and_then(Listed::inline).unwrap_or_default();
    let now = (state.agent_mode.as_deref(), state.permission_mode.as_deref());
    check_settings(&completed(requested.clone(), now), models, modes, state.model.as_deref())
}

/// Planning is an agent as well as a mode of permissions: who changes one changes the other.
pub(crate) fn completed(
    mut requested: SettingsRequest,
    now: (Option<&str>, Option<&str>),
) -> SettingsRequest {
    match (requested.agent_mode.as_deref(), requested.permission_mode.as_deref()) {
        (None, Some(PLAN)) => requested.agent_mode = Some(PLAN.to_owned()),
        (None, Some(_)) if now.0 == Some(PLAN) => requested.agent_mode = Some(BUILD.to_owned()),
        (Some(agent), None) if agent != PLAN && now.1 == Some(PLAN) => {
            requested.permission_mode = Some("default".to_owned());
        }
        _ => {}
    }
    requested
}

/// The rules of a permission mode, beside the user's own. What plans is never allowed more than it is.
pub(crate) fn rules(requested: &SettingsRequest) -> Vec<Value> {
    let allow = |what: &str| vec![json!({"permission": what, "pattern": "*", "action": "allow"})];
    match requested.permission_mode.as_deref() {
        _ if requested.agent_mode.as_deref() == Some(PLAN) => vec![],
        Some("acceptEdits") => allow("edit"),
        Some("bypass") => allow("*"),
        _ => vec![],
    }
}

fn bad<'a>(message: String, allowed: impl Iterator<Item = &'a str>) -> Refusal {
    let allowed = allowed.collect::<Vec<_>>().join(", ");
    Refusal {
        kind: RefusalKind::BadMode,
        message: format!("{message}; it has {allowed}"),
        hint: Some(format!("use one of: {allowed}")),
    }
}

impl OpenCode {
    /// Settings go with the next prompt; only rules are told to the server at once, those that it lacks.
    pub(crate) fn configure(&mut self, requested: SettingsRequest, out: &mut Vec<Output>) {
        let now = (self.requested.agent_mode.as_deref(), self.requested.permission_mode.as_deref());
        let requested = completed(requested, now);
        let current = self.requested.model.as_deref().or(self.settings.default_model());
        let preview = match check_settings(&requested, &self.settings.models, &self.settings.modes, current) {
            Ok(preview) => preview,
            Err(refusal) => return out.push(Output::configured(Err(refusal))),
        };
        self.requested = requested.or(std::mem::take(&mut self.requested));
        state(preview.patch, out);
        self.warn(preview.warnings, out);
        match self.settings.missing_rules(&self.requested) {
            Some(rules) => self.add_rules(&rules, out),
            None => out.push(Output::configured(Ok(()))),
        }
    }

    pub(crate) fn add_rules(&mut self, rules: &[Value], out: &mut Vec<Output>) {
        self.ask_session(Method::Patch, "", super::json(&json!({"permission": rules})), out);
    }

    pub(crate) fn changed(&mut self, answer: &Answer, out: &mut Vec<Output>) {
        let refusal = match session_in(answer) {
            Some(session) => {
                self.settings.rules = session.permission.unwrap_or_default();
                None
            }
            None => {
                let message = super::failure::refused(answer).message;
                Some(Refusal { kind: RefusalKind::Unavailable, message, hint: None })
            }
        };
        match (self.opening.is_some(), refusal) {
            (true, Some(refusal)) => out.push(Output::refused(refusal)),
            (true, None) => self.opened(out),
            (false, Some(refusal)) => out.push(Output::configured(Err(refusal))),
            (false, None) => out.push(Output::configured(Ok(()))),
        }
    }

    pub(crate) fn warn(&mut self, warnings: Vec<String>, out: &mut Vec<Output>) {
        for warning in warnings {
            self.told(StatusLabel::Warning, warning, None, out);
        }
    }
}

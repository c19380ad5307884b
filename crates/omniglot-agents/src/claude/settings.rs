//! Model, effort and mode: what may be asked for, and how it is changed while the CLI runs.
//!
//! The CLI takes any model and finds out in the next turn; models, modes and efforts are checked here.

use std::collections::HashMap;

use omniglot_schema::{AgentModeInfo, AgentModelInfo, Listed, SessionState, StatePatch, StatusLabel};

use super::wire::Request;
use super::wire::control::{FlagSettings, control_request};
use super::{Claude, dropped};
use crate::contract::{DropReason, Output, Refusal, RefusalKind, SettingsPreview, SettingsRequest};
use crate::conversation::configuring::Configuring;
use crate::models::check_model;

/// The name under which the CLI lists its own choice.
pub(crate) const DEFAULT_MODEL: &str = "default";

/// Names that the CLI takes and may not list; `[1m]` behind one asks for a larger window.
const ALIASES: [&str; 6] = [DEFAULT_MODEL, "best", "sonnet", "opus", "haiku", "opusplan"];

/// The present settings, and the possible ones.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) models: Vec<AgentModelInfo>,
    /// The full name of the model that each listed id stands for.
    pub(crate) full_names: HashMap<String, String>,
    /// The model that was chosen, or that the CLI was seen to run. `None` until a session without a chosen model
    /// has had a turn: which model the user's own settings name is not told before.
    pub(crate) model: Option<String>,
    pub(crate) variant: Option<String>,
    /// In the CLI's own words.
    pub(crate) mode: Option<String>,
}

/// Ours first, and the CLI's own name for it.
const MODES: [(&str, &str); 6] = [
    ("default", "default"),
    ("acceptEdits", "acceptEdits"),
    ("plan", "plan"),
    ("bypass", "bypassPermissions"),
    ("dontAsk", "dontAsk"),
    ("auto", "auto"),
];

pub(crate) const EFFORTS: [&str; 5] = ["low", "medium", "high", "xhigh", "max"];

pub(crate) fn native_mode(name: &str) -> Option<&'static str> {
    MODES.iter().find(|(ours, native)| *ours == name || *native == name).map(|(_, native)| *native)
}

fn our_mode(native: &str) -> &str {
    MODES.iter().find(|(_, known)| *known == native).map_or(native, |(ours, _)| ours)
}

/// The one mode of the CLI that a settings request comes to. Planning is a permission mode to it.
pub(crate) fn wanted_mode(
    requested: &SettingsRequest,
    current: Option<&str>,
) -> Result<Option<&'static str>, Refusal> {
    let known = |name: &str| native_mode(name).ok_or_else(|| bad_mode(name));
    let permission = requested.permission_mode.as_deref().map(known).transpose()?;
    let agent = match requested.agent_mode.as_deref() {
        None => None,
        // Every mode builds, but for the one that plans.
        Some("build") if permission.is_none() && current == Some("plan") => Some("default"),
        Some("build") => None,
        Some(name) => Some(known(name)?),
    };
    match (agent, permission) {
        (Some(agent), Some(permission)) if agent != permission && permission != "default" => {
            Err(bad_mode(&format!("{agent} with {permission}")))
        }
        (agent, permission) => Ok(agent.or(permission)),
    }
}

fn bad_mode(name: &str) -> Refusal {
    let listed = MODES.map(|(ours, _)| ours).join(", ");
    bad(
        format!("Claude Code has no mode {name}; its modes are build, {listed}"),
        format!("use one of: {listed}"),
    )
}

fn bad(message: String, hint: String) -> Refusal {
    Refusal { kind: RefusalKind::BadMode, message, hint: Some(hint) }
}

pub(crate) fn mode_patch(native: &str) -> StatePatch {
    let agent_mode = if native == "plan" { "plan" } else { "build" };
    StatePatch {
        permission_mode: Some(Some(our_mode(native).to_owned())),
        agent_mode: Some(Some(agent_mode.to_owned())),
        ..StatePatch::default()
    }
}

pub(crate) fn modes() -> Listed<AgentModeInfo> {
    let mode = |id: &str, name: &str, description: &str| AgentModeInfo {
        id: id.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
    };
    vec![
        mode("build", "Build", "Works, and asks according to the permission mode"),
        mode("plan", "Plan", "Reads and plans, and changes nothing until the plan is approved"),
    ]
    .into()
}

impl Settings {
    fn of_state(state: &SessionState) -> Self {
        let models = state.models.as_ref().and_then(Listed::inline).unwrap_or_default().to_vec();
        let mode = state.permission_mode.as_deref().and_then(native_mode).map(str::to_owned);
        let (model, variant) = (state.model.clone(), state.variant.clone());
        Self { models, full_names: HashMap::new(), model, variant, mode }
    }

    /// Returns the id of the model that runs under this full name, unless the chosen one stands for it. The id is
    /// that of the list, so that clients find it among their choices.
    fn changed_to(&self, full_name: &str) -> Option<String> {
        if self.model.as_deref().is_some_and(|chosen| self.stands_for(chosen, full_name)) {
            return None;
        }
        let runs = |model: &&AgentModelInfo| self.full_names.get(&model.id).is_some_and(|it| it == full_name);
        let listed = self.models.iter().find(runs);
        Some(listed.map_or_else(|| full_name.to_owned(), |model| model.id.clone()))
    }

    /// A full name may have been given without its date. An alias that is not listed, such as `opusplan`, may
    /// stand for several models, so it is never contradicted.
    fn stands_for(&self, chosen: &str, full_name: &str) -> bool {
        match self.full_names.get(chosen) {
            Some(listed) => listed == full_name,
            None => full_name.starts_with(chosen) || !chosen.starts_with("claude-"),
        }
    }

    /// The CLI lists short names, and takes others and full names as well: those pass with a warning.
    pub(crate) fn check_model(&self, requested: &SettingsRequest) -> Result<Option<String>, Refusal> {
        let listed = self.models.iter().map(|known| known.id.as_str());
        let takes = |model: &str| {
            let base = model.split('[').next().unwrap_or_default();
            model.contains("claude-") || ALIASES.contains(&base) || listed.clone().any(|known| known == base)
        };
        let force_model = requested.force_model || requested.model.as_deref().is_some_and(takes);
        check_model(&SettingsRequest { force_model, ..requested.clone() }, listed)
    }

    /// Efforts of a listed model are checked against its list, those of another against all that there are.
    pub(crate) fn check_variant(&self, model: Option<&str>, variant: &str) -> Result<(), Refusal> {
        let model = model.or(self.model.as_deref()).unwrap_or(DEFAULT_MODEL);
        let known = self.models.iter().find(|known| known.id == model);
        let efforts: Vec<&str> = match known {
            Some(known) => known.variants.iter().flatten().map(String::as_str).collect(),
            None => EFFORTS.to_vec(),
        };
        if efforts.contains(&variant) {
            return Ok(());
        }
        if efforts.is_empty() {
            let message = format!("the model {model} has no efforts, so {variant} cannot be set");
            return Err(bad(message, "leave the variant out, or choose another model".to_owned()));
        }
        let listed = efforts.join(", ");
        let message = format!("the model {model} has no effort {variant}; its efforts are {listed}");
        Err(bad(message, format!("use one of: {listed}")))
    }
}

/// Returns the expected result of a settings request, without asking the agent.
pub(crate) fn preview_settings(
    state: &SessionState,
    requested: &SettingsRequest,
) -> Result<SettingsPreview, Refusal> {
    let settings = Settings::of_state(state);
    if let Some(variant) = &requested.variant {
        settings.check_variant(requested.model.as_deref(), variant)?;
    }
    let mode = wanted_mode(requested, settings.mode.as_deref())?;
    let mut patch = mode.map(mode_patch).unwrap_or_default();
    patch.model = requested.model.clone().map(Some);
    patch.variant = requested.variant.clone().map(Some);
    let warnings = settings.check_model(requested)?;
    Ok(SettingsPreview { patch, warnings: warnings.into_iter().collect() })
}

impl Claude {
    pub(crate) fn configure(&mut self, requested: &SettingsRequest, out: &mut Vec<Output>) {
        let settings = &self.session.settings;
        let checked = requested
            .variant
            .as_deref()
            .map_or(Ok(()), |v| settings.check_variant(requested.model.as_deref(), v));
        let checked = checked.and_then(|()| {
            let mode = wanted_mode(requested, settings.mode.as_deref())?;
            Ok((
                mode.filter(|mode| settings.mode.as_deref() != Some(*mode)),
                settings.check_model(requested)?,
            ))
        });
        let (mode, warning) = match checked {
            Ok(checked) => checked,
            Err(refusal) => return out.push(Output::configured(Err(refusal))),
        };
        let model = requested.model.clone().filter(|_| requested.model != settings.model);
        let effort_level = requested.variant.clone().filter(|_| requested.variant != settings.variant);
        if let Some(warning) = warning.filter(|_| model.is_some()) {
            self.status(StatusLabel::Warning, warning, out);
        }
        let requests = [
            model
                .map(|model| Request::SetModel { model: Some(model).filter(|model| model != DEFAULT_MODEL) }),
            effort_level.map(|effort| Request::ApplyFlagSettings {
                settings: FlagSettings { effort_level: Some(effort) },
            }),
            mode.map(|mode| Request::SetPermissionMode { mode: mode.to_owned() }),
        ];
        let mut configuring = Configuring::default();
        for request in requests.into_iter().flatten() {
            let id = self.next_id();
            Self::send(control_request(&id, &request), out);
            configuring.wait_for(id);
        }
        self.configuring = Some(configuring);
        self.end_configuring(out);
    }

    /// An answer to a part of a change; the last one ends it.
    fn configured(&mut self, id: &str, refused: Option<Refusal>, out: &mut Vec<Output>) {
        if let Some(configuring) = &mut self.configuring {
            configuring.answered(id, refused);
        }
        self.end_configuring(out);
    }

    fn end_configuring(&mut self, out: &mut Vec<Output>) {
        let over = self.configuring.take_if(|configuring| configuring.is_over());
        out.extend(over.map(Configuring::end));
    }

    pub(crate) fn model_answered(
        &mut self,
        id: &str,
        model: Option<String>,
        refused: Option<String>,
        out: &mut Vec<Output>,
    ) {
        match refused {
            None => {
                let model = model.unwrap_or_else(|| DEFAULT_MODEL.to_owned());
                self.session.settings.model = Some(model.clone());
                self.state(StatePatch { model: Some(Some(model)), ..StatePatch::default() }, out);
            }
            Some(words) => {
                let message = format!("the model was not set: {words}");
                if self.configuring.is_some() {
                    let refusal = Refusal { kind: RefusalKind::BadMode, message, hint: None };
                    return self.configured(id, Some(refusal), out);
                }
                self.status(StatusLabel::Warning, message, out);
            }
        }
        self.configured(id, None, out);
    }

    pub(crate) fn effort_answered(
        &mut self,
        id: &str,
        effort: Option<String>,
        refused: Option<String>,
        out: &mut Vec<Output>,
    ) {
        match (refused, effort) {
            (Some(words), _) => {
                self.status(StatusLabel::Warning, format!("the effort was not set: {words}"), out);
            }
            (None, Some(effort)) => {
                self.session.settings.variant = Some(effort.clone());
                self.state(StatePatch { variant: Some(Some(effort)), ..StatePatch::default() }, out);
            }
            (None, None) => dropped(DropReason::Internal, out),
        }
        self.configured(id, None, out);
    }

    pub(crate) fn mode_answered(
        &mut self,
        id: &str,
        mode: &str,
        refused: Option<String>,
        out: &mut Vec<Output>,
    ) {
        let refused = refused.map(|words| {
            let hint = "Claude Code skips no permissions as root: in a sandbox set `sandbox = true` in \
                        omniglot.toml, or run the daemon as another user"
                .to_owned();
            let hint = Some(hint).filter(|_| mode == "bypassPermissions");
            Refusal { kind: RefusalKind::BadMode, message: words, hint }
        });
        // 2.1.197 takes any word for a mode.
        if refused.is_none() && native_mode(mode).is_some() {
            self.session.settings.mode = Some(mode.to_owned());
            self.state(mode_patch(mode), out);
        } else {
            dropped(DropReason::Internal, out);
        }
        self.configured(id, refused, out);
    }

    /// Takes the model that a turn begins with into the state, when it is not the chosen one: the user's own
    /// settings, `/model` or the transcript of a resumed session have named it.
    pub(crate) fn model_is(&mut self, full_name: &str, out: &mut Vec<Output>) {
        if let Some(model) = self.session.settings.changed_to(full_name) {
            self.session.settings.model = Some(model.clone());
            self.state(StatePatch { model: Some(Some(model)), ..StatePatch::default() }, out);
        }
    }

    /// The mode as the CLI tells it: one that we did not ask for is news.
    pub(crate) fn mode_is(&mut self, mode: &str, out: &mut Vec<Output>) {
        if self.session.settings.mode.as_deref().unwrap_or("default") == mode {
            return;
        }
        self.session.settings.mode = Some(mode.to_owned());
        self.state(mode_patch(mode), out);
        self.status(StatusLabel::ModeChanged, our_mode(mode), out);
    }
}

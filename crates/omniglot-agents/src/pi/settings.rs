//! Model, thinking level and permission mode: what may be asked for, and how it is changed while Pi runs.
//!
//! Pi clamps a level that its model does not have, so the level is told as Pi tells it. The permission mode is ours
//! alone: the gate asks for everything, and `permissions` answers by the mode.

use omniglot_schema::{AgentModeInfo, AgentModelInfo, Listed, SessionState, StatePatch, StatusLabel};

use super::outgoing::Outgoing;
use super::wire::{Model, Response};
use super::{Pi, dropped};
use crate::contract::{DropReason, Output, Refusal, RefusalKind, SettingsPreview, SettingsRequest, decode};
use crate::conversation::configuring::Configuring;
use crate::models::check_model;

#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) models: Vec<AgentModelInfo>,
    pub(crate) model: Option<String>,
    /// The size of the model's context.
    pub(crate) window: Option<u64>,
    pub(crate) variant: Option<String>,
    pub(crate) permission_mode: Option<String>,
}

/// A change that waits for answers, and the part of it that Pi is not asked for.
#[derive(Debug, Default)]
pub(crate) struct SettingsChange {
    requests: Configuring,
    patch: StatePatch,
}

pub(crate) const MODES: [&str; 4] = ["default", "acceptEdits", "plan", "bypass"];
const LEVELS: [&str; 6] = ["off", "minimal", "low", "medium", "high", "xhigh"];

/// Returns the levels of a model; one that does not think has only `off`.
pub(crate) fn levels(reasoning: bool) -> Vec<String> {
    let count = if reasoning { LEVELS.len() } else { 1 };
    LEVELS.iter().take(count).map(|level| (*level).to_owned()).collect()
}

pub(crate) fn model_id(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}

fn bad(message: String, allowed: &str) -> Refusal {
    Refusal { kind: RefusalKind::BadMode, message, hint: Some(format!("use one of: {allowed}")) }
}

pub(crate) fn check_mode(requested: &SettingsRequest) -> Result<(), Refusal> {
    if let Some(mode) = requested.agent_mode.as_deref().filter(|mode| *mode != "build") {
        return Err(bad(format!("Pi has no agent mode {mode}; it has build"), "build"));
    }
    let unknown = requested.permission_mode.as_deref().filter(|mode| !MODES.contains(mode));
    unknown.map_or(Ok(()), |mode| {
        let listed = MODES.join(", ");
        Err(bad(format!("Pi has no permission mode {mode}; its modes are {listed}"), &listed))
    })
}

impl Settings {
    fn of_state(state: &SessionState) -> Self {
        let models = state.models.as_ref().and_then(Listed::inline).unwrap_or_default().to_vec();
        let (model, variant) = (state.model.clone(), state.variant.clone());
        Self { models, model, variant, window: None, permission_mode: state.permission_mode.clone() }
    }

    pub(crate) fn offers(&self) -> StatePatch {
        let build = AgentModeInfo {
            id: "build".to_owned(),
            name: "Build".to_owned(),
            description: "Works, and asks according to the permission mode".to_owned(),
        };
        StatePatch {
            agent_mode: Some(Some(build.id.clone())),
            permission_mode: Some(Some(self.permission_mode.clone().unwrap_or_else(|| "default".to_owned()))),
            modes: Some(Some(vec![build].into())),
            ..StatePatch::default()
        }
    }

    pub(crate) fn check_model(&self, requested: &SettingsRequest) -> Result<Option<String>, Refusal> {
        check_model(requested, self.models.iter().map(|known| known.id.as_str()))
    }

    fn check(&self, requested: &SettingsRequest) -> Result<(), Refusal> {
        check_mode(requested)?;
        if let Some(model) = requested.model.as_deref().filter(|model| !model.contains('/')) {
            return Err(bad(
                format!("Pi names models as provider/model; {model} has no provider"),
                "provider/model",
            ));
        }
        let Some(variant) = requested.variant.as_deref() else { return Ok(()) };
        let model = requested.model.as_deref().or(self.model.as_deref());
        let known = self.models.iter().find(|known| Some(known.id.as_str()) == model);
        let listed = known.and_then(|known| known.variants.clone()).unwrap_or_else(|| levels(true));
        if listed.iter().any(|level| level == variant) {
            return Ok(());
        }
        let listed = listed.join(", ");
        Err(bad(format!("the model has no thinking level {variant}; it has {listed}"), &listed))
    }
}

/// Returns the expected result of a settings request, without asking the agent.
pub(crate) fn preview_settings(
    state: &SessionState,
    requested: &SettingsRequest,
) -> Result<SettingsPreview, Refusal> {
    let settings = Settings::of_state(state);
    settings.check(requested)?;
    let patch = StatePatch {
        model: requested.model.clone().map(Some),
        variant: requested.variant.clone().map(Some),
        permission_mode: requested.permission_mode.clone().map(Some),
        ..StatePatch::default()
    };
    let warnings = settings.check_model(requested)?;
    Ok(SettingsPreview { patch, warnings: warnings.into_iter().collect() })
}

impl Pi {
    pub(crate) fn configure(&mut self, requested: &SettingsRequest, out: &mut Vec<Output>) {
        let checked = self.settings.check(requested);
        if let Err(refusal) = checked.and_then(|()| self.settings.check_model(requested)) {
            return out.push(Output::configured(Err(refusal)));
        }
        let mut change = SettingsChange::default();
        if let Some(mode) = requested.permission_mode.clone() {
            self.settings.permission_mode = Some(mode.clone());
            change.patch.permission_mode = Some(Some(mode));
        }
        let model = requested.model.as_ref().filter(|model| Some(*model) != self.settings.model.as_ref());
        let model = model.and_then(|model| model.split_once('/')).map(|(provider, model_id)| {
            Outgoing::SetModel { provider: provider.to_owned(), model_id: model_id.to_owned() }
        });
        let level = requested.variant.clone().map(|level| Outgoing::SetThinkingLevel { level });
        for request in model.into_iter().chain(level) {
            let id = self.send(request, out);
            change.requests.wait_for(id);
        }
        self.configuring = Some(change);
        self.settings_told(out);
    }

    /// Ends a change when everything that it asked for is answered.
    pub(crate) fn settings_told(&mut self, out: &mut Vec<Output>) {
        let Some(change) = self.configuring.take_if(|change| change.requests.is_over()) else { return };
        if !change.patch.is_empty() {
            self.state(change.patch, out);
        }
        out.push(change.requests.end());
    }

    fn answered(&mut self, id: &str, refused: Option<Refusal>, out: &mut Vec<Output>) {
        dropped(DropReason::Internal, out);
        let Some(change) = &mut self.configuring else { return };
        if change.requests.answered(id, refused) {
            // It tells the level that came of it. Pi answers in any order, so it is asked last.
            self.send(Outgoing::GetState, out);
        }
    }

    pub(crate) fn model_answered(&mut self, id: &str, response: &Response<'_>, out: &mut Vec<Output>) {
        if !response.success {
            let message = format!("the model was not set: {}", response.words());
            if self.configuring.is_none() {
                self.status(StatusLabel::Warning, message, out);
                return self.answered(id, None, out);
            }
            let hint = Some("`pi --list-models` lists the models".to_owned());
            return self.answered(id, Some(Refusal { kind: RefusalKind::BadMode, message, hint }), out);
        }
        if let Some(Ok(model)) = response.data.map(|data| decode::<Model>("set_model", data)) {
            self.settings.window = model.context_window;
            self.settings.model = Some(model_id(&model));
            let model = Some(self.settings.model.clone());
            self.state(StatePatch { model, ..StatePatch::default() }, out);
        }
        self.answered(id, None, out);
    }

    pub(crate) fn level_answered(&mut self, id: &str, response: &Response<'_>, out: &mut Vec<Output>) {
        let refused = (!response.success).then(|| bad(response.words(), &LEVELS.join(", ")));
        self.answered(id, refused, out);
    }

    pub(crate) fn level_is(&mut self, level: String, out: &mut Vec<Output>) {
        self.settings.variant = Some(level.clone());
        self.state(StatePatch { variant: Some(Some(level)), ..StatePatch::default() }, out);
    }
}

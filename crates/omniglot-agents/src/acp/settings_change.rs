//! Which settings a session should have, held against what the agent offers.
//!
//! Decides and asks for nothing: `settle` sends what is decided here, and the runtime shows it where no
//! agent runs.

use omniglot_schema::{AuthStatus, SessionState, StatePatch};

use super::quirks::Quirks;
use super::settings::{Choice, Control, Settings};
use crate::contract::{Refusal, RefusalKind, SettingsPreview, SettingsRequest};
use crate::models::check_model;

/// A change of settings under way.
#[derive(Debug, Default)]
pub(crate) struct SettingsChange {
    pub(crate) mode: Option<(Control, String)>,
    pub(crate) model: Option<(Control, String)>,
    pub(crate) warnings: Vec<String>,
}

/// When a settings request is held against the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    New,
    /// The session had these settings before. An agent that lists less now must not lock it out.
    Return,
    Change,
}

impl SettingsChange {
    pub(crate) fn of(
        requested: &SettingsRequest,
        settings: &Settings,
        quirks: &Quirks,
        occasion: Occasion,
    ) -> Result<Self, Refusal> {
        let mut change = Self::default();
        let mode = match wanted_mode(requested, settings.mode.as_ref(), quirks, occasion) {
            Err(refusal) if occasion == Occasion::Return => {
                change.warnings.extend(settings.mode.is_some().then_some(refusal.message));
                None
            }
            wanted => wanted?,
        };
        if let (Some(mode), Some(choice)) = (mode, &settings.mode)
            && choice.current.as_ref() != Some(&mode)
        {
            change.mode = Some((choice.control.clone(), mode));
        }
        if let Some(model) = &requested.model {
            change.want_model(model, requested, settings.model.as_ref(), occasion)?;
        }
        Ok(change)
    }

    fn want_model(
        &mut self,
        model: &str,
        requested: &SettingsRequest,
        choice: Option<&Choice>,
        occasion: Occasion,
    ) -> Result<(), Refusal> {
        let Some(choice) = choice else {
            let message = format!("the agent offers no choice of models: {model} was not set");
            match occasion {
                Occasion::New => self.warnings.push(message),
                Occasion::Return => {}
                Occasion::Change => return Err(bad(message, "leave the model out".to_owned())),
            }
            return Ok(());
        };
        if occasion != Occasion::Return {
            let listed = choice.values.iter().map(|value| value.id.as_str());
            self.warnings.extend(check_model(requested, listed)?);
        }
        if choice.current.as_deref() != Some(model) {
            self.model = Some((choice.control.clone(), model.to_owned()));
        }
        Ok(())
    }
}

/// The effort to ask for, once the model is the right one: agents list the efforts of their current model.
pub(crate) fn wanted_variant(
    variant: &str,
    settings: &Settings,
) -> Result<Option<(Control, String)>, Refusal> {
    let Some(choice) = &settings.variant else {
        let model = settings.model.as_ref().and_then(|model| model.current.as_deref());
        let model = model.map(|model| format!(" {model}")).unwrap_or_default();
        let message = format!("the agent has no efforts for its model{model}, so {variant} cannot be set");
        return Err(bad(message, "leave the variant out, or choose another model".to_owned()));
    };
    if !choice.lists(variant) {
        let listed = choice.listed();
        let message = format!("the model has no effort {variant}; its efforts are {listed}");
        return Err(bad(message, format!("use one of: {listed}")));
    }
    let changes = choice.current.as_deref() != Some(variant);
    Ok(changes.then(|| (choice.control.clone(), variant.to_owned())))
}

/// Returns the expected result of a settings request, without asking the agent.
pub fn preview_settings(
    state: &SessionState,
    requested: &SettingsRequest,
    quirks: &Quirks,
) -> Result<SettingsPreview, Refusal> {
    if is_unknown(state) {
        check_recorded_modes(requested, quirks)?;
        let set = |value: &Option<String>| value.clone().map(Some);
        let patch = StatePatch {
            model: set(&requested.model),
            variant: set(&requested.variant),
            agent_mode: set(&requested.agent_mode),
            permission_mode: set(&requested.permission_mode),
            ..StatePatch::default()
        };
        return Ok(SettingsPreview { patch, warnings: vec![] });
    }
    let settings = Settings::of_state(state, requested);
    let change = SettingsChange::of(requested, &settings, quirks, Occasion::Change)?;
    let mut patch = StatePatch::default();
    if let Some(variant) = &requested.variant {
        // A state that lists no efforts does not tell whether there are none: the agent will.
        if settings.variant.is_some() {
            wanted_variant(variant, &settings)?;
        }
        patch.variant = Some(Some(variant.clone()));
    } else if change.model.is_some() {
        patch.variant = Some(None);
    }
    if let Some((_, mode)) = change.mode {
        patch.permission_mode = Some(Some(quirks.permission_mode_of(&mode).to_owned()));
        patch.agent_mode = Some(Some(mode));
    }
    if requested.permission_mode.is_some() {
        patch.permission_mode = Some(requested.permission_mode.clone());
    }
    patch.model = change.model.map(|(_, model)| Some(model));
    Ok(SettingsPreview { patch, warnings: change.warnings })
}

/// An agent that nobody is logged in to has listed nothing yet.
fn is_unknown(state: &SessionState) -> bool {
    let required = state.auth.as_ref().is_some_and(|auth| auth.state == AuthStatus::Required);
    required && state.modes.is_none() && state.models.is_none()
}

/// Refuses a mode that the agent was never seen with, where its modes were recorded: it has listed none yet.
fn check_recorded_modes(requested: &SettingsRequest, quirks: &Quirks) -> Result<(), Refusal> {
    let agent_mode = requested.agent_mode.as_deref().filter(|mode| *mode != "build");
    let mut modes = agent_mode.into_iter().chain(requested.permission_mode.as_deref());
    let recorded: Vec<&str> = quirks.recorded_modes().collect();
    let Some(mode) = modes.find(|mode| !recorded.is_empty() && !quirks.may_have_mode(mode)) else {
        return Ok(());
    };
    let recorded = recorded.join(", ");
    let message = format!("the agent, which nobody is logged in to, has no mode {mode} that is known here");
    Err(bad(message, format!("use one of: {recorded}; or log in: the agent lists all of its modes then")))
}

/// ACP has one list of modes for what we call agent mode and permission mode.
fn wanted_mode(
    requested: &SettingsRequest,
    choice: Option<&Choice>,
    quirks: &Quirks,
    occasion: Occasion,
) -> Result<Option<String>, Refusal> {
    let lists = |id: &str| choice.is_some_and(|choice| choice.lists(id));
    let planning = choice.is_some_and(|choice| choice.current.as_deref() == Some("plan"));
    let changing = occasion == Occasion::Change;
    let agent_mode = match requested.agent_mode.as_deref() {
        None => None,
        Some(mode) if lists(mode) => Some(mode),
        // Every mode builds, but for the one that plans.
        Some("build") if !planning => None,
        Some("build") if lists("default") => Some("default"),
        Some("build" | "default") if !changing => None,
        Some(unknown) => return Err(bad_mode(unknown, choice)),
    };
    let permission_mode = match requested.permission_mode.as_deref() {
        None => None,
        Some("default") if agent_mode.is_some() => None,
        Some(mode) if lists(mode) => Some(mode),
        Some("default") if !changing && !quirks.mode_names("default").any(lists) => None,
        Some(mode) => match quirks.mode_names(mode).find(|name| lists(name)) {
            Some(name) => Some(name),
            None => return Err(bad_mode(mode, choice)),
        },
    };
    match (agent_mode, permission_mode) {
        // The agent may have changed its mode by itself, which is what it was in last.
        (Some(a), Some(b)) if a != b && occasion != Occasion::Return => {
            Err(bad_mode(&format!("{a} with {b}"), choice))
        }
        (a, b) => Ok(a.or(b).map(str::to_owned)),
    }
}

fn bad_mode(mode: &str, choice: Option<&Choice>) -> Refusal {
    match choice {
        Some(choice) => {
            let allowed = choice.listed();
            let message = format!("the agent has no mode {mode}; its modes are {allowed}");
            bad(message, format!("use one of: {allowed}"))
        }
        None => {
            let message = format!("the agent has no modes, so {mode} cannot be set");
            bad(message, "leave the mode out".to_owned())
        }
    }
}

fn bad(message: String, hint: String) -> Refusal {
    Refusal { kind: RefusalKind::BadMode, message, hint: Some(hint) }
}

//! Model, effort and modes of a session: what is listed, what is chosen, what is asked for.
//!
//! Codex takes any model and any effort without a word, so both are judged here, by its own list.

use omniglot_schema::{AgentModelInfo, Listed, SessionState, StatePatch, StatusLabel};
use serde_json::value::RawValue;

use super::Codex;
use super::modes::{Collaboration, PermissionMode, bad};
use super::wire::{
    CollaborationSettings, Model, SandboxPolicy, SetCollaboration, ThreadAnswer, ThreadSettings,
    UpdateSettings,
};
use crate::contract::{Output, Refusal, RefusalKind, SettingsPreview, SettingsRequest};
use crate::models::check_model;
use crate::rpc::{RpcError, RpcId};

/// The known settings of a thread.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) models: Vec<AgentModelInfo>,
    pub(crate) model: Option<String>,
    effort: Option<String>,
    collaboration: Collaboration,
    pub(crate) permission: Option<&'static PermissionMode>,
    /// The sandbox that a thread has when we ask for none.
    configured: Option<SandboxPolicy>,
}

/// A settings request, judged.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
    pub(crate) collaboration: Option<Collaboration>,
    pub(crate) permission: Option<&'static PermissionMode>,
    pub(crate) warnings: Vec<String>,
}

impl Choice {
    /// Judges a settings request by the models that are listed; `current` is the model in use.
    pub(crate) fn of(
        requested: &SettingsRequest,
        models: &[AgentModelInfo],
        current: Option<&str>,
    ) -> Result<Self, Refusal> {
        let mut choice = Self {
            model: requested.model.clone(),
            effort: requested.variant.clone(),
            collaboration: requested.agent_mode.as_deref().map(Collaboration::named).transpose()?,
            permission: requested.permission_mode.as_deref().map(PermissionMode::named).transpose()?,
            warnings: vec![],
        };
        let used = requested.model.as_deref().or(current);
        let listed = models.iter().find(|model| Some(model.id.as_str()) == used);
        choice.warnings.extend(check_model(requested, models.iter().map(|model| model.id.as_str()))?);
        if let (Some(effort), Some(model)) = (&requested.variant, listed) {
            let efforts = model.variants.as_deref().unwrap_or_default();
            if !efforts.contains(effort) {
                let message = format!("the model {} has no effort {effort}", model.id);
                return Err(bad(message, &efforts.join(", ")));
            }
        }
        Ok(choice)
    }
}

impl Settings {
    pub(crate) fn list(&mut self, models: Vec<Model>) {
        let info = |model: Model| AgentModelInfo {
            id: model.id,
            name: model.display_name,
            variants: Some(
                model.supported_reasoning_efforts.into_iter().map(|effort| effort.reasoning_effort).collect(),
            ),
            default_variant: model.default_reasoning_effort,
        };
        self.models = models.into_iter().map(info).collect();
    }

    /// Takes over what a thread was opened with. `asked` is the permission mode that was requested.
    pub(crate) fn opened(
        &mut self,
        answer: &ThreadAnswer,
        asked: Option<&'static PermissionMode>,
        sandbox_asked: bool,
    ) {
        self.model.clone_from(&answer.model);
        self.effort.clone_from(&answer.reasoning_effort);
        self.collaboration = Collaboration::Build;
        let told = answer
            .approval_policy
            .as_ref()
            .and_then(|told| PermissionMode::of(told, answer.sandbox.as_ref()));
        self.permission = asked.or(told);
        if !sandbox_asked {
            self.configured.clone_from(&answer.sandbox);
        }
    }

    pub(crate) fn updated(&mut self, told: &ThreadSettings) -> StatePatch {
        self.model = Some(told.model.clone());
        self.effort.clone_from(&told.effort);
        self.collaboration = Collaboration::of(&told.collaboration_mode.mode);
        let fits = self.permission.filter(|mode| mode.fits(&told.approval_policy, &told.sandbox_policy));
        self.permission =
            fits.or_else(|| PermissionMode::of(&told.approval_policy, Some(&told.sandbox_policy)));
        self.patch()
    }

    pub(crate) fn patch(&self) -> StatePatch {
        StatePatch {
            model: Some(self.model.clone()),
            variant: Some(self.effort.clone()),
            agent_mode: Some(Some(self.collaboration.name().to_owned())),
            permission_mode: Some(self.permission.map(|mode| mode.name.to_owned())),
            ..StatePatch::default()
        }
    }

    /// The effort to ask for with a new model that does not have the one in use.
    fn effort_for(&self, model: &str) -> Option<String> {
        let listed = self.models.iter().find(|listed| listed.id == model)?;
        let kept =
            self.effort.as_ref().filter(|effort| listed.variants.iter().flatten().any(|v| v == *effort));
        if kept.is_some() || self.effort.is_none() { None } else { listed.default_variant.clone() }
    }

    /// The request that makes a thread as chosen.
    fn update<'a>(&'a self, thread_id: &'a str, choice: &'a Choice) -> UpdateSettings<'a> {
        let collaboration = choice.collaboration.unwrap_or(self.collaboration);
        let model = choice.model.as_deref().or(self.model.as_deref());
        let effort = choice.effort.as_deref();
        // A collaboration mode repeats model and effort, and its word counts more than theirs.
        let speaks = choice.collaboration.is_some() || collaboration == Collaboration::Plan;
        let settings = |model| CollaborationSettings {
            model,
            reasoning_effort: effort.or(self.effort.as_deref()),
            developer_instructions: None,
        };
        let sandbox = |mode: &PermissionMode| match (mode.sandbox, &self.configured) {
            (Some(sandbox), _) => sandbox.policy(),
            (None, Some(configured)) => configured.clone(),
            // What the user configured was never heard: the narrowest is what Codex begins with itself.
            (None, None) => super::modes::Sandbox::ReadOnly.policy(),
        };
        UpdateSettings {
            thread_id,
            model: choice.model.as_deref(),
            effort,
            approval_policy: choice.permission.map(|mode| mode.approval),
            sandbox_policy: choice.permission.map(sandbox),
            collaboration_mode: model
                .filter(|_| speaks)
                .map(|model| SetCollaboration { mode: collaboration.native(), settings: settings(model) }),
        }
    }
}

impl Codex {
    /// Changes the settings of the open thread, between two turns.
    pub(crate) fn configure(&mut self, requested: &SettingsRequest, out: &mut Vec<Output>) {
        let settings = &self.thread.settings;
        let mut choice = match Choice::of(requested, &settings.models, settings.model.as_deref()) {
            Ok(choice) => choice,
            Err(refusal) => return out.push(Output::configured(Err(refusal))),
        };
        if let (Some(model), None) = (&choice.model, &choice.effort) {
            choice.effort = settings.effort_for(model);
        }
        out.push(self.settle(choice, Purpose::Change));
    }

    pub(crate) fn settle(&mut self, choice: Choice, purpose: Purpose) -> Output {
        let Some(thread) = self.thread.id.clone() else {
            return Output::configured(Err(super::open::unavailable("no thread is open".to_owned(), None)));
        };
        let update = self.thread.settings.update(&thread, &choice);
        let (id, output) = self.calls.request("thread/settings/update", &update);
        self.settling.insert(id, Settling { choice, purpose });
        output
    }

    pub(crate) fn settings_answered(
        &mut self,
        id: &RpcId,
        result: Result<&RawValue, RpcError>,
        out: &mut Vec<Output>,
    ) {
        let Some(Settling { choice, purpose }) = self.settling.remove(id) else {
            // In a recording the notification tells what has changed.
            return out.push(super::dropped());
        };
        let refused = result.err().map(|error| Refusal {
            kind: RefusalKind::BadMode,
            message: format!("Codex refused the settings: {}", error.shown()),
            hint: None,
        });
        match (purpose, refused) {
            (Purpose::Open, Some(refusal)) => self.refuse(refusal, out),
            (Purpose::Open, None) => {
                self.settled(&choice, out);
                self.start(out);
            }
            (Purpose::Change, Some(refusal)) => {
                // Somebody may have been shown what was requested.
                let patch = self.thread.settings.patch();
                self.state(patch, out);
                out.push(Output::configured(Err(refusal)));
            }
            (Purpose::Change, None) => {
                self.settled(&choice, out);
                for warning in choice.warnings {
                    self.status(StatusLabel::Warning, Some(warning), out);
                }
                out.push(Output::configured(Ok(())));
            }
        }
    }

    /// The notification of the change may come after the answer; what was taken is so already.
    fn settled(&mut self, choice: &Choice, out: &mut Vec<Output>) {
        let settings = &mut self.thread.settings;
        settings.model = choice.model.clone().or(settings.model.take());
        settings.effort = choice.effort.clone().or(settings.effort.take());
        settings.collaboration = choice.collaboration.unwrap_or(settings.collaboration);
        settings.permission = choice.permission.or(settings.permission);
        let patch = settings.patch();
        self.state(patch, out);
    }

    pub(crate) fn settings_told(&mut self, told: &ThreadSettings, out: &mut Vec<Output>) {
        let patch = self.thread.settings.updated(told);
        self.state(patch, out);
    }
}

/// Settings on their way to the server.
#[derive(Debug)]
pub(crate) struct Settling {
    choice: Choice,
    purpose: Purpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Open,
    Change,
}

/// Returns the expected result of a settings request in this state, without asking the agent.
pub(crate) fn preview_settings(
    state: &SessionState,
    requested: &SettingsRequest,
) -> Result<SettingsPreview, Refusal> {
    let models = state.models.as_ref().and_then(Listed::inline).unwrap_or_default();
    let choice = Choice::of(requested, models, state.model.as_deref())?;
    let set = |value: Option<String>| value.map(Some);
    let patch = StatePatch {
        model: set(choice.model),
        variant: set(choice.effort),
        agent_mode: set(choice.collaboration.map(|mode| mode.name().to_owned())),
        permission_mode: set(choice.permission.map(|mode| mode.name.to_owned())),
        ..StatePatch::default()
    };
    Ok(SettingsPreview { patch, warnings: choice.warnings })
}

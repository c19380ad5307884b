//! Modes, models and other settings of a session: what the agent offers, what is chosen, how to choose.
//!
//! Three generations coexist: `modes`, the removed `models` that gemini, qwen and codex still send, and
//! `configOptions`, which replaces both. All are read from raw JSON, entry by entry.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{SessionConfigSelectOption, SessionMode};
use omniglot_schema::{AgentModeInfo, AgentModelInfo, Listed, SessionState, StatePatch};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::wire::{entries, field};
use crate::contract::{SettingsRequest, Unparsed};

/// The known settings of the session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) mode: Option<Choice>,
    pub(crate) model: Option<Choice>,
    /// The reasoning effort of the current model.
    pub(crate) variant: Option<Choice>,
    /// The model before had efforts, and this one has none.
    variant_is_gone: bool,
    /// The efforts of each model, from a list of models whose ids are `model[effort]`.
    efforts: HashMap<String, Vec<String>>,
}

/// One setting with its values.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) control: Control,
    pub(crate) current: Option<String>,
    pub(crate) values: Vec<Value>,
}

/// How a setting is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Control {
    SetMode,
    SetModel,
    ConfigOption(String),
}

#[derive(Debug, Clone)]
pub(crate) struct Value {
    pub(crate) id: String,
    name: String,
    description: Option<String>,
}

impl Choice {
    pub(crate) fn lists(&self, id: &str) -> bool {
        self.values.iter().any(|value| value.id == id)
    }

    pub(crate) fn listed(&self) -> String {
        self.values.iter().map(|value| value.id.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// The answer to `session/new`, `session/load` and `session/resume`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SessionAnswer<'a> {
    pub(crate) session_id: Option<String>,
    #[serde(borrow)]
    modes: Option<&'a RawValue>,
    #[serde(borrow)]
    models: Option<&'a RawValue>,
    #[serde(borrow)]
    config_options: Option<&'a RawValue>,
}

impl Settings {
    pub(crate) fn read(answer: &SessionAnswer<'_>, faults: &mut Vec<Unparsed>) -> Self {
        let mut settings = Self {
            mode: field("modes", answer.modes, faults).map(|modes| read_modes(&modes, faults)),
            model: field("models", answer.models, faults).map(|models| read_models(&models, faults)),
            ..Self::default()
        };
        settings.efforts = settings.model.as_ref().map(efforts_in).unwrap_or_default();
        settings.read_options(answer.config_options, faults);
        settings
    }

    /// Takes over a whole new list of config options.
    pub(crate) fn read_options(&mut self, list: Option<&RawValue>, faults: &mut Vec<Unparsed>) {
        let Some(options) = entries::<ConfigOption<'_>>("configOptions", list, faults) else { return };
        let variant = self.variant.take();
        for option in options {
            match option.category.as_deref().unwrap_or(&option.id) {
                // `session/set_mode` is the older way; it stays in use where an agent offers both.
                "mode" => {
                    let choice = option.read(faults);
                    let older = self.mode.as_ref().filter(|mode| mode.control == Control::SetMode);
                    self.mode = Some(match older {
                        Some(_) => Choice { control: Control::SetMode, ..choice },
                        None => choice,
                    });
                }
                "model" => self.model = Some(option.read(faults)),
                "thought_level" => self.variant = Some(option.read(faults)),
                // Understood and shown nowhere yet: switches that belong to one agent.
                _ => {}
            }
        }
        self.variant_is_gone |= variant.is_some() && self.variant.is_none();
    }

    /// Returns the settings that the session's state lists, as if the requested model were in use. A
    /// list that stands elsewhere is taken to hold what is requested: the agent itself will judge.
    pub(crate) fn of_state(state: &SessionState, requested: &SettingsRequest) -> Self {
        let modes = [&requested.agent_mode, &requested.permission_mode].map(Option::as_deref);
        let models = [&state.model, &requested.model].map(Option::as_deref);
        let in_use = requested.model.as_ref().or(state.model.as_ref());
        let known = state.models.as_ref().and_then(Listed::inline).unwrap_or_default();
        let known = known.iter().find(|model| Some(&model.id) == in_use);
        let variants = known.and_then(|model| model.variants.as_deref());
        Self {
            mode: state.modes.as_ref().map(|list| Choice {
                control: Control::SetMode,
                current: state.agent_mode.clone(),
                values: Value::of_list(list, &modes, |mode| &mode.id),
            }),
            model: state.models.as_ref().map(|list| Choice {
                control: Control::SetModel,
                current: state.model.clone(),
                values: Value::of_list(list, &models, |model| &model.id),
            }),
            variant: variants.map(|variants| Choice {
                control: Control::ConfigOption("thought_level".to_owned()),
                current: state.variant.clone(),
                values: variants.iter().map(|id| Value::of_id(id)).collect(),
            }),
            ..Self::default()
        }
    }

    /// Whether the current model is one that the agent does not list.
    pub(crate) fn has_unlisted_model(&self) -> bool {
        let current = self.model.as_ref().and_then(|model| Some((model, model.current.as_deref()?)));
        current.is_some_and(|(model, current)| !model.lists(current))
    }

    pub(crate) fn patch(&self) -> StatePatch {
        let mut patch = StatePatch::default();
        if let Some(mode) = &self.mode {
            patch.agent_mode = Some(mode.current.clone());
            patch.modes = Some(Some(mode.values.iter().map(Value::to_mode).collect()));
        }
        if let Some(model) = &self.model {
            patch.model = Some(model.current.clone());
            patch.models = Some(Some(self.models(model).into()));
        }
        if let Some(variant) = &self.variant {
            patch.variant = Some(variant.current.clone());
        } else if self.variant_is_gone {
            patch.variant = Some(None);
        }
        patch
    }

    /// Options list the efforts of the current model; those of others only codex tells.
    fn models(&self, model: &Choice) -> Vec<AgentModelInfo> {
        let current = self.variant.as_ref().filter(|_| model.current.is_some());
        let current: Option<Vec<_>> = current.map(|v| v.values.iter().map(|v| v.id.clone()).collect());
        let variants_of = |id: &str| match model.current.as_deref() == Some(id) {
            true => current.clone(),
            false => self.efforts.get(id).cloned(),
        };
        let info = |value: &Value| AgentModelInfo {
            id: value.id.clone(),
            name: Some(value.name.clone()),
            variants: variants_of(&value.id),
            default_variant: None,
        };
        model.values.iter().map(info).collect()
    }
}

impl Value {
    fn of_list<T>(list: &Listed<T>, requested: &[Option<&str>], id: impl Fn(&T) -> &String) -> Vec<Self> {
        match list.inline() {
            Some(list) => list.iter().map(|entry| Self::of_id(id(entry))).collect(),
            None => requested.iter().flatten().map(|id| Self::of_id(id)).collect(),
        }
    }

    fn of_id(id: &str) -> Self {
        Self { id: id.to_owned(), name: id.to_owned(), description: None }
    }

    fn to_mode(&self) -> AgentModeInfo {
        AgentModeInfo {
            id: self.id.clone(),
            name: self.name.clone(),
            description: self.description.clone().unwrap_or_default(),
        }
    }
}

/// codex-acp 2.6 lists each model once for each of its efforts.
fn efforts_in(models: &Choice) -> HashMap<String, Vec<String>> {
    let mut efforts: HashMap<String, Vec<String>> = HashMap::new();
    for value in &models.values {
        if let Some((model, effort)) = value.id.strip_suffix(']').and_then(|id| id.rsplit_once('[')) {
            efforts.entry(model.to_owned()).or_default().push(effort.to_owned());
        }
    }
    efforts
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Modes<'a> {
    #[serde(default)]
    current_mode_id: Option<String>,
    #[serde(default, borrow)]
    available_modes: Option<&'a RawValue>,
}

fn read_modes(modes: &Modes<'_>, faults: &mut Vec<Unparsed>) -> Choice {
    let listed: Vec<SessionMode> =
        entries("modes.availableModes", modes.available_modes, faults).unwrap_or_default();
    let value = |mode: SessionMode| Value {
        id: mode.id.0.to_string(),
        name: mode.name,
        description: mode.description,
    };
    Choice {
        control: Control::SetMode,
        current: modes.current_mode_id.clone(),
        values: listed.into_iter().map(value).collect(),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Models<'a> {
    #[serde(default)]
    current_model_id: Option<String>,
    #[serde(default, borrow)]
    available_models: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Model {
    model_id: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

fn read_models(models: &Models<'_>, faults: &mut Vec<Unparsed>) -> Choice {
    let listed: Vec<Model> =
        entries("models.availableModels", models.available_models, faults).unwrap_or_default();
    let value = |model: Model| Value {
        name: model.name.unwrap_or_else(|| model.model_id.clone()),
        id: model.model_id,
        description: model.description,
    };
    Choice {
        control: Control::SetModel,
        current: models.current_model_id.clone(),
        values: listed.into_iter().map(value).collect(),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigOption<'a> {
    id: String,
    #[serde(default)]
    category: Option<String>,
    #[serde(default)]
    current_value: Option<serde_json::Value>,
    #[serde(default, borrow)]
    options: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Group<'a> {
    #[serde(default, borrow)]
    options: Option<&'a RawValue>,
}

impl ConfigOption<'_> {
    fn read(&self, faults: &mut Vec<Unparsed>) -> Choice {
        let current = match &self.current_value {
            Some(serde_json::Value::String(value)) => Some(value.clone()),
            Some(other) => Some(other.to_string()),
            None => None,
        };
        Choice { control: Control::ConfigOption(self.id.clone()), current, values: self.values(faults) }
    }

    /// The values, out of their groups if they are in groups.
    fn values(&self, faults: &mut Vec<Unparsed>) -> Vec<Value> {
        let location = format!("configOptions.{}.options", self.id);
        let raw: Vec<&RawValue> = field(&location, self.options, faults).unwrap_or_default();
        let mut values = Vec::new();
        for entry in raw {
            let grouped = serde_json::from_str::<Group<'_>>(entry.get()).ok().and_then(|group| group.options);
            match grouped {
                Some(list) => values.extend(entries(&location, Some(list), faults).unwrap_or_default()),
                None => values.extend(field::<SessionConfigSelectOption>(&location, Some(entry), faults)),
            }
        }
        let value = |option: SessionConfigSelectOption| Value {
            id: option.value.0.to_string(),
            name: option.name,
            description: option.description,
        };
        values.into_iter().map(value).collect()
    }
}

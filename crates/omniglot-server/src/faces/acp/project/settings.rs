//! Modes and models of a session in ACP's form, and the values that a client sets.

use agent_client_protocol_schema::v1::{SessionConfigOptionValue, SessionMode, SessionModeState};
use omniglot_schema::{AgentModelInfo, SessionPatch, SessionState};
use serde::Serialize;

pub(crate) use crate::http::config_options::options;
use crate::http::config_options::{
    MODE, MODEL, PERMISSION_MODE, THOUGHT_LEVEL, UNSET, described, entries, name_of,
};

/// `models` of a session, which the schema has dropped and clients still read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionModelState {
    pub current_model_id: String,
    pub available_models: Vec<ModelInfo>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    pub model_id: String,
    pub name: String,
}

/// A value that a client cannot set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSetting {
    #[error("no option `{0}`; there are `model`, `mode`, `thought_level` and `permission_mode`")]
    Unknown(String),
    #[error("option `{0}` takes the id of one of its values")]
    NotAValue(String),
}

/// Returns modes in the form that belongs to `session/set_mode`.
pub fn modes(state: &SessionState) -> Option<SessionModeState> {
    let modes = entries(state.modes.as_ref());
    let current = state.agent_mode.clone().or_else(|| Some(modes.first()?.id.clone()))?;
    let available = modes
        .iter()
        .map(|mode| SessionMode::new(mode.id.clone(), &mode.name).description(described(&mode.description)));
    (!modes.is_empty()).then(|| SessionModeState::new(current, available.collect()))
}

/// Returns models in the form that belongs to `session/set_model`.
pub fn models(state: &SessionState) -> Option<SessionModelState> {
    let models = entries(state.models.as_ref());
    let current_model_id = state.model.clone().or_else(|| Some(models.first()?.id.clone()))?;
    let model =
        |model: &AgentModelInfo| ModelInfo { model_id: model.id.clone(), name: name_of(model).to_owned() };
    let available_models = models.iter().map(model).collect();
    (!models.is_empty()).then_some(SessionModelState { current_model_id, available_models })
}

/// Returns the change of `session/set_config_option`.
pub fn patch(
    state: &SessionState,
    option: &str,
    value: &SessionConfigOptionValue,
) -> Result<SessionPatch, BadSetting> {
    let SessionConfigOptionValue::ValueId { value } = value else {
        return Err(BadSetting::NotAValue(option.to_owned()));
    };
    let value = Some(value.0.to_string());
    let unchanged = SessionPatch::default();
    match option {
        MODEL => Ok(SessionPatch { model: value, ..unchanged }),
        MODE => Ok(SessionPatch { agent_mode: value, ..unchanged }),
        // `UNSET` stands for the absence of a choice.
        THOUGHT_LEVEL if state.variant.is_none() && value.as_deref() == Some(UNSET) => Ok(unchanged),
        THOUGHT_LEVEL => Ok(SessionPatch { variant: value, ..unchanged }),
        PERMISSION_MODE => Ok(SessionPatch { permission_mode: value, ..unchanged }),
        unknown => Err(BadSetting::Unknown(unknown.to_owned())),
    }
}

/// Returns the change of `session/set_mode`.
pub fn mode_patch(mode: &str) -> SessionPatch {
    SessionPatch { agent_mode: Some(mode.to_owned()), ..SessionPatch::default() }
}

/// Returns the change of `session/set_model`.
pub fn model_patch(model: &str) -> SessionPatch {
    SessionPatch { model: Some(model.to_owned()), ..SessionPatch::default() }
}

#[cfg(test)]
mod tests {
    use agent_client_protocol_schema::v1::SessionConfigOption;
    use serde_json::json;

    use super::*;

    fn state(json: serde_json::Value) -> SessionState {
        serde_json::from_value(json).unwrap()
    }

    fn shown(state: &SessionState) -> Vec<(String, serde_json::Value)> {
        let option = |option: SessionConfigOption| {
            let json = serde_json::to_value(&option).unwrap();
            let values = json["options"].as_array().unwrap().iter().map(|choice| choice["value"].clone());
            (option.id.to_string(), json!([json["currentValue"], values.collect::<Vec<_>>()]))
        };
        options(state).into_iter().map(option).collect()
    }

    #[test]
    fn an_option_is_offered_where_there_is_a_choice() {
        let known = state(json!({
            "model": "b", "models": [{ "id": "a" }, { "id": "b", "variants": ["low", "high"] }],
            "agent_mode": "build", "modes": [{ "id": "build", "name": "Build", "description": "" }],
            "permission_mode": "dontAsk",
        }));
        let pair = |id: &str, choice: serde_json::Value| (id.to_owned(), choice);
        assert_eq!(
            shown(&known),
            [
                pair("model", json!(["b", ["a", "b"]])),
                pair("mode", json!(["build", ["build"]])),
                pair("thought_level", json!(["default", ["default", "low", "high"]])),
                pair(
                    "permission_mode",
                    json!(["dontAsk", ["dontAsk", "default", "acceptEdits", "plan", "bypass"]])
                ),
            ]
        );
        assert_eq!(shown(&state(json!({ "model": "b", "agent_mode": "build" }))), []);
        assert_eq!(modes(&state(json!({ "agent_mode": "build" }))), None);
        assert_eq!(models(&state(json!({ "model": "b" }))), None);
    }

    #[test]
    fn until_an_agent_names_its_model_the_first_that_it_lists_is_shown_with_its_efforts() {
        let models = json!([{ "id": "a", "variants": ["low"] }, { "id": "b", "variants": ["high"] }]);
        let shown = shown(&state(json!({ "models": models })));
        let pair = |id: &str, choice: serde_json::Value| (id.to_owned(), choice);
        let effort = json!(["default", ["default", "low"]]);
        assert_eq!(shown, [pair("model", json!(["a", ["a", "b"]])), pair("thought_level", effort)]);
    }

    #[test]
    fn each_option_changes_its_own_setting() {
        let value = SessionConfigOptionValue::value_id("x");
        let patch =
            |option| serde_json::to_value(patch(&SessionState::default(), option, &value).unwrap()).unwrap();
        assert_eq!(patch("model"), json!({ "model": "x" }));
        assert_eq!(patch("mode"), json!({ "agentMode": "x" }));
        assert_eq!(patch("thought_level"), json!({ "variant": "x" }));
        assert_eq!(patch("permission_mode"), json!({ "permissionMode": "x" }));
    }

    #[test]
    fn an_effort_that_nobody_has_chosen_can_be_left_so() {
        let value = SessionConfigOptionValue::value_id(UNSET);
        let unset = patch(&SessionState::default(), THOUGHT_LEVEL, &value);
        assert_eq!(unset, Ok(SessionPatch::default()));
    }

    #[test]
    fn what_is_no_option_and_no_value_is_refused() {
        let nothing = SessionState::default();
        let unknown = patch(&nothing, "colour", &SessionConfigOptionValue::value_id("x"));
        assert_eq!(unknown, Err(BadSetting::Unknown("colour".into())));
        let boolean = patch(&nothing, "mode", &SessionConfigOptionValue::boolean(true));
        assert_eq!(boolean, Err(BadSetting::NotAValue("mode".into())));
    }
}

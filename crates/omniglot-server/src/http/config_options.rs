//! The settings of a session as ACP's config options: the REST face lists them for each agent, the ACP face
//! offers them to its clients.

use agent_client_protocol_schema::v1::{
    SessionConfigOption, SessionConfigOptionCategory as Category, SessionConfigSelectOption,
};
use omniglot_schema::{AgentModelInfo, Listed, SessionState};

pub(crate) const MODEL: &str = "model";
pub(crate) const MODE: &str = "mode";
pub(crate) const THOUGHT_LEVEL: &str = "thought_level";
pub(crate) const PERMISSION_MODE: &str = "permission_mode";

/// The effort of a model that has not been told one.
pub(crate) const UNSET: &str = "default";

/// The permission modes that every agent with any is asked for by.
const PERMISSION_MODES: [(&str, &str, &str); 4] = [
    ("default", "Default", "Asks before it changes anything"),
    ("acceptEdits", "Accept edits", "Changes files without asking"),
    ("plan", "Plan", "Reads and plans only"),
    ("bypass", "Bypass permissions", "Asks nothing"),
];

/// Every option that the session has now. One without a choice is left out.
pub(crate) fn options(state: &SessionState) -> Vec<SessionConfigOption> {
    [model(state), mode(state), thought_level(state), permission_mode(state)].into_iter().flatten().collect()
}

fn model(state: &SessionState) -> Option<SessionConfigOption> {
    let models = entries(state.models.as_ref());
    let choices = models.iter().map(|model| choice(&model.id, name_of(model)));
    let current = state.model.as_deref().or(models.first().map(|model| model.id.as_str()))?;
    select(MODEL, "Model", Category::Model, current, choices.collect())
}

fn mode(state: &SessionState) -> Option<SessionConfigOption> {
    let modes = entries(state.modes.as_ref());
    let choices =
        modes.iter().map(|mode| choice(&mode.id, &mode.name).description(described(&mode.description)));
    let current = state.agent_mode.as_deref().or(modes.first().map(|mode| mode.id.as_str()))?;
    select(MODE, "Mode", Category::Mode, current, choices.collect())
}

/// Which efforts there are depends on the model.
fn thought_level(state: &SessionState) -> Option<SessionConfigOption> {
    let models = entries(state.models.as_ref());
    // Some agents name their model only when they begin to work; until then it is the first that they list.
    let in_use = |model: &&AgentModelInfo| state.model.as_ref().is_none_or(|in_use| model.id == *in_use);
    let model = models.iter().find(in_use)?;
    let variants = model.variants.as_deref().filter(|variants| !variants.is_empty())?;
    let choices = variants.iter().map(|variant| choice(variant, variant)).collect();
    let current = state.variant.as_deref().or(model.default_variant.as_deref()).unwrap_or(UNSET);
    select(THOUGHT_LEVEL, "Reasoning effort", Category::ThoughtLevel, current, choices)
}

fn permission_mode(state: &SessionState) -> Option<SessionConfigOption> {
    let choices = PERMISSION_MODES.map(|(id, name, about)| choice(id, name).description(about.to_owned()));
    let category = Category::Other("_permission_mode".to_owned());
    select(PERMISSION_MODE, "Permissions", category, state.permission_mode.as_deref()?, choices.into())
}

/// Returns a select option whose present value is among the choices, also when it is not listed.
fn select(
    id: &'static str,
    name: &str,
    category: Category,
    current: &str,
    mut choices: Vec<SessionConfigSelectOption>,
) -> Option<SessionConfigOption> {
    if choices.is_empty() {
        return None;
    }
    if !choices.iter().any(|choice| &*choice.value.0 == current) {
        choices.insert(0, choice(current, current));
    }
    Some(SessionConfigOption::select(id, name, current.to_owned(), choices).category(category))
}

fn choice(id: &str, name: &str) -> SessionConfigSelectOption {
    SessionConfigSelectOption::new(id.to_owned(), name)
}

pub(crate) fn name_of(model: &AgentModelInfo) -> &str {
    model.name.as_deref().unwrap_or(&model.id)
}

pub(crate) fn described(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

pub(crate) fn entries<T>(list: Option<&Listed<T>>) -> &[T] {
    list.and_then(Listed::inline).unwrap_or_default()
}

//! The choices of a client in OpenCode's form: providers with their models, agents, commands.
//!
//! Prices are unknown, and null: OpenCode's clients take zero for a model that is free. An unknown limit is zero, as in
//! OpenCode's own lists for local models.

use std::collections::BTreeMap;

use omniglot_schema::{AgentInfo, AgentModeInfo, AgentModelInfo, CommandInfo};
use serde::Serialize;

use crate::faces::opencode::project::{DEFAULT_MODE, DEFAULT_MODEL};

/// An empty record.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Empty {}

/// One of our agents, which is a provider to OpenCode.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Provider {
    pub(crate) id: String,
    name: String,
    source: &'static str,
    env: [&'static str; 0],
    options: Empty,
    pub(crate) models: BTreeMap<String, Model>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Model {
    id: String,
    #[serde(rename = "providerID")]
    provider_id: String,
    name: String,
    api: Api,
    capabilities: Capabilities,
    cost: Cost,
    limit: Limit,
    status: &'static str,
    options: Empty,
    headers: Empty,
    release_date: &'static str,
    /// The reasoning efforts, by name.
    variants: BTreeMap<String, Empty>,
}

#[derive(Debug, Clone, Serialize)]
struct Api {
    id: String,
    url: &'static str,
    npm: &'static str,
}

#[derive(Debug, Clone, Serialize)]
struct Capabilities {
    temperature: bool,
    reasoning: bool,
    attachment: bool,
    toolcall: bool,
    input: Media,
    output: Media,
    interleaved: bool,
}

#[derive(Debug, Clone, Serialize)]
struct Media {
    text: bool,
    audio: bool,
    image: bool,
    video: bool,
    pdf: bool,
}

#[derive(Debug, Clone, Default, Serialize)]
struct Cost {
    input: (),
    output: (),
    cache: CacheCost,
}

#[derive(Debug, Clone, Default, Serialize)]
struct CacheCost {
    read: (),
    write: (),
}

#[derive(Debug, Clone, Default, Serialize)]
struct Limit {
    context: u64,
    output: u32,
}

impl Provider {
    /// An agent that lists no models has one, which leaves the choice to it.
    pub(crate) fn new(agent: &AgentInfo, models: &[AgentModelInfo], windows: &BTreeMap<String, u64>) -> Self {
        let choice = AgentModelInfo {
            id: DEFAULT_MODEL.into(),
            name: Some("Default".into()),
            variants: None,
            default_variant: None,
        };
        let models = if models.is_empty() { std::slice::from_ref(&choice) } else { models };
        let listed = |model: &AgentModelInfo| {
            let window = windows.get(&model.id).copied().unwrap_or_default();
            (model.id.clone(), Model::new(agent, model, window))
        };
        let models = models.iter().map(listed).collect();
        Self {
            id: agent.id.clone(),
            name: agent.id.clone(),
            source: "custom",
            env: [],
            options: Empty {},
            models,
        }
    }
}

impl Model {
    fn new(agent: &AgentInfo, model: &AgentModelInfo, context: u64) -> Self {
        let has = &agent.capabilities;
        let text = Media { text: true, audio: false, image: false, video: false, pdf: false };
        Self {
            id: model.id.clone(),
            provider_id: agent.id.clone(),
            name: model.name.clone().unwrap_or_else(|| model.id.clone()),
            api: Api { id: model.id.clone(), url: "", npm: "" },
            capabilities: Capabilities {
                temperature: false,
                reasoning: has.reasoning,
                attachment: has.file_attachments || has.images,
                toolcall: has.tool_calls,
                input: Media { image: has.images, ..text.clone() },
                output: text,
                interleaved: false,
            },
            cost: Cost::default(),
            limit: Limit { context, output: 0 },
            status: "active",
            options: Empty {},
            headers: Empty {},
            release_date: "",
            variants: model.variants.iter().flatten().map(|name| (name.clone(), Empty {})).collect(),
        }
    }
}

/// A mode of our agents, which OpenCode calls an agent.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Agent {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    mode: &'static str,
    native: bool,
    permission: [(); 0],
    options: Empty,
}

impl Agent {
    fn new(name: &str, description: Option<&str>) -> Self {
        let description = description.filter(|text| !text.is_empty()).map(str::to_owned);
        Self {
            name: name.into(),
            description,
            mode: "primary",
            native: true,
            permission: [],
            options: Empty {},
        }
    }

    /// Lists the neutral mode, and every other mode once.
    pub(crate) fn all<'a>(modes: impl IntoIterator<Item = &'a AgentModeInfo>) -> Vec<Self> {
        let mut agents = vec![Self::new(DEFAULT_MODE, Some("As the agent works by itself"))];
        for mode in modes {
            if !agents.iter().any(|agent| agent.name == mode.id) {
                agents.push(Self::new(&mode.id, Some(&mode.description)));
            }
        }
        agents
    }
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Command {
    pub(crate) name: String,
    description: String,
    source: &'static str,
    template: String,
    hints: Vec<String>,
}

impl From<CommandInfo> for Command {
    fn from(command: CommandInfo) -> Self {
        Self {
            template: format!("/{} $ARGUMENTS", command.name),
            name: command.name,
            // The menu of commands has one line for each.
            description: command.description.trim().lines().next().unwrap_or_default().to_owned(),
            source: "command",
            hints: vec!["$ARGUMENTS".into()],
        }
    }
}

#[cfg(test)]
mod tests {
    use omniglot_schema::AgentCapabilities;

    use super::*;

    fn agent() -> AgentInfo {
        AgentInfo {
            id: "claude".into(),
            installed: true,
            credentials_available: true,
            login: None,
            installed_versions: vec![],
            version: None,
            path: None,
            source: None,
            stability: None,
            capabilities: AgentCapabilities { images: true, ..AgentCapabilities::default() },
            server_status: None,
        }
    }

    #[test]
    fn an_agent_without_a_list_of_models_has_one_that_leaves_the_choice_to_it() {
        let provider = serde_json::to_value(Provider::new(&agent(), &[], &BTreeMap::new())).unwrap();
        assert_eq!(provider["models"]["agent-default"]["providerID"], "claude");
        assert_eq!(provider["models"]["agent-default"]["capabilities"]["input"]["image"], true);
    }

    #[test]
    fn efforts_are_variants() {
        let model = AgentModelInfo {
            id: "m".into(),
            name: None,
            variants: Some(vec!["low".into(), "high".into()]),
            default_variant: None,
        };
        let windows = BTreeMap::from([("m".to_owned(), 200_000)]);
        let provider = serde_json::to_value(Provider::new(&agent(), &[model], &windows)).unwrap();
        assert_eq!(provider["models"]["m"]["variants"], serde_json::json!({ "low": {}, "high": {} }));
        assert!(provider["models"].get(DEFAULT_MODEL).is_none());
        assert_eq!(provider["models"]["m"]["limit"]["context"], 200_000);
    }

    /// B14: a price of zero is shown as "Free", and a description of several lines breaks the menu.
    #[test]
    fn unknown_prices_are_null_and_descriptions_have_one_line() {
        let provider = Provider::new(&agent(), &[], &BTreeMap::new());
        let provider = serde_json::to_value(provider).unwrap();
        let cost = &provider["models"]["agent-default"]["cost"];
        assert!(cost.is_object() && cost["input"].is_null(), "{cost}");
        let command = CommandInfo { name: "x".into(), description: "\nOne.\nTwo.".into(), hint: None };
        assert_eq!(Command::from(command).description, "One.");
    }

    #[test]
    fn the_neutral_mode_is_always_there_and_every_mode_once() {
        let mode = |id: &str| AgentModeInfo { id: id.into(), name: id.into(), description: String::new() };
        let names = |modes: &[AgentModeInfo]| -> Vec<String> {
            Agent::all(modes).into_iter().map(|agent| agent.name).collect()
        };
        assert_eq!(names(&[]), ["build"]);
        assert_eq!(names(&[mode("plan"), mode("build"), mode("plan")]), ["build", "plan"]);
    }
}

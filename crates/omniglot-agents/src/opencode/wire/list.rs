//! The server's lists: models, agents, commands.

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::about::if_fitting;

/// The user's configuration, from `GET /config`.
#[derive(Debug, Deserialize)]
pub(crate) struct Config {
    pub(crate) model: Option<String>,
    /// By their names.
    #[serde(default, deserialize_with = "if_fitting")]
    pub(crate) mcp: IndexMap<String, IgnoredAny>,
}

/// The answer of `GET /config/providers`.
#[derive(Debug, Deserialize)]
pub(crate) struct Providers {
    pub(crate) providers: Vec<Provider>,
    #[serde(default)]
    pub(crate) default: IndexMap<String, String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Provider {
    pub(crate) id: String,
    pub(crate) models: IndexMap<String, Model>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Model {
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) limit: Limit,
    #[serde(default)]
    pub(crate) variants: IndexMap<String, IgnoredAny>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Limit {
    pub(crate) context: u64,
}

/// One entry of `GET /agent`.
#[derive(Debug, Deserialize)]
pub(crate) struct Agent {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) mode: Option<String>,
    pub(crate) hidden: Option<bool>,
    /// Its rules: a list, of which only the server understands the entries.
    #[serde(default)]
    pub(crate) permission: Value,
}

/// One entry of `GET /command`.
#[derive(Debug, Deserialize)]
pub(crate) struct Command {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
}

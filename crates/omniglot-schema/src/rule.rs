//! Rules about the calls of agents, as files and requests write them; `omniglot-rules` gives them their meaning.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::tool::ToolKind;

/// One rule: it applies to a call that fits every criterion it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The name by which decisions of the rule are told.
    pub name: String,
    /// The decision about a call that fits.
    pub decide: Decide,
    /// The name of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The kind of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// The name of the MCP server whose tool is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The name of the tool; a `*` at its end stands for any ending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The first words of the command, each literally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// A glob on the path with all its links resolved; a relative one is in the session's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The host that is fetched from; `*.example.com` stands for all below `example.com`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// A label of the session, as KEY=VALUE, or KEY alone for any value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether a person who is asked may answer `always`; only for rules that ask. Yes by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<bool>,
}

/// The decision of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decide {
    /// The call is rejected at once.
    Deny,
    /// A person is asked.
    Ask,
    /// The call is accepted at once.
    Allow,
}

impl Rule {
    /// Returns a rule without criteria, which fits every call.
    pub fn new(name: impl Into<String>, decide: Decide) -> Self {
        Self {
            name: name.into(),
            decide,
            agent: None,
            kind: None,
            server: None,
            tool: None,
            command: None,
            path: None,
            host: None,
            label: None,
            remember: None,
        }
    }
}

//! MCP servers and skills of a session. Secrets in them are replaced by `***`.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::secrets::{secrets_in_arguments, secrets_in_url};

pub type McpServers = IndexMap<String, McpServerConfig>;

#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum McpServerConfig {
    #[serde(rename_all = "camelCase")] // The schema derive does not know `rename_all_fields`.
    Local {
        command: McpCommand,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        args: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<std::collections::HashMap<String, String>>)]
        env: Option<IndexMap<String, String>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        enabled: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
    },
    #[serde(rename_all = "camelCase")]
    Remote {
        url: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<std::collections::HashMap<String, String>>)]
        headers: Option<IndexMap<String, String>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bearer_token_env_var: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<std::collections::HashMap<String, String>>)]
        env_headers: Option<IndexMap<String, String>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        oauth: Option<McpOAuthConfigOrDisabled>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        enabled: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transport: Option<McpRemoteTransport>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum McpCommand {
    Program(String),
    Line(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum McpOAuthConfigOrDisabled {
    Config(McpOAuthConfig),
    Switch(bool),
}

#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpOAuthConfig {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpRemoteTransport {
    Http,
    Sse,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SkillsConfig {
    pub sources: Vec<SkillSource>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SkillSource {
    pub r#type: String,
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#ref: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subpath: Option<String>,
}

const HIDDEN: &str = "***";

impl McpServerConfig {
    /// Returns the same server with every secret value replaced by `***`.
    pub fn redacted(mut self) -> Self {
        let hide = |map: &mut Option<IndexMap<String, String>>| {
            for value in map.iter_mut().flat_map(IndexMap::values_mut) {
                HIDDEN.clone_into(value);
            }
        };
        match &mut self {
            Self::Local { command, args, env, .. } => {
                hide(env);
                hide_arguments(args);
                if let McpCommand::Line(line) = command {
                    hide_arguments(line);
                }
            }
            Self::Remote { url, headers, oauth, .. } => {
                hide(headers);
                *url = without(url, &secrets_in_url(url));
                if let Some(McpOAuthConfigOrDisabled::Config(config)) = oauth {
                    for value in [&mut config.client_id, &mut config.client_secret, &mut config.scope] {
                        *value = value.take().map(|_| HIDDEN.to_owned());
                    }
                }
            }
        }
        self
    }
}

fn hide_arguments(arguments: &mut Vec<String>) {
    let secrets = secrets_in_arguments(arguments);
    *arguments = arguments.iter().map(|argument| without(argument, &secrets)).collect();
}

fn without(text: &str, secrets: &[&str]) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, HIDDEN))
}

/// Writes the JSON that clients receive: a secret must not reach logs either.
impl fmt::Debug for McpServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = serde_json::to_string(&self.clone().redacted()).map_err(|_| fmt::Error)?;
        f.write_str(&shown)
    }
}

impl fmt::Debug for McpOAuthConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpOAuthConfig").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::CreateSessionRequest;

    #[test]
    fn no_secret_is_in_debug_output() {
        let request: CreateSessionRequest = serde_json::from_str(
            r#"{"agent":"a","mcp":{
                "here":{"type":"local","command":["server","--token","hush-6"],
                    "args":["--api-key=hush-7","https://u:hush-8@h/"],"env":{"KEY":"hush-1"}},
                "there":{"type":"remote","url":"http://me:hush-9@127.0.0.1/?token=hush-10","headers":{"Authorization":"hush-2"},
                    "oauth":{"clientId":"hush-3","clientSecret":"hush-4","scope":"hush-5"}}}}"#,
        )
        .unwrap();
        let shown = format!("{request:?}");
        assert!(shown.contains("KEY") && shown.contains("Authorization"), "{shown}");
        assert!(!shown.contains("hush"), "{shown}");
        let Some(McpServerConfig::Remote { oauth, .. }) = request.mcp.unwrap().swap_remove("there") else {
            panic!("{shown}")
        };
        assert!(!format!("{oauth:?}").contains("hush"));
    }
}

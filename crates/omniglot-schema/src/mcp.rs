//! MCP servers and skills of a session. Secrets in them are replaced by `***`.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::secrets::{secrets_in_arguments, secrets_in_url};

pub type McpServers = IndexMap<String, McpServerConfig>;

/// An MCP server of a session.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum McpServerConfig {
    /// A program that the agent starts.
    #[serde(rename_all = "camelCase", alias = "stdio")]
    // The schema derive does not know `rename_all_fields`.
    Local {
        /// The program, or the whole command line.
        command: McpCommand,
        /// The arguments of the program.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        args: Vec<String>,
        /// The directory to start it in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// Variables of its environment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<std::collections::HashMap<String, String>>)]
        env: Option<IndexMap<String, String>>,
        /// False keeps the server from being used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        enabled: Option<bool>,
        /// How long the agent waits for it, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
    },
    /// A server that is reached by its URL.
    #[serde(rename_all = "camelCase", alias = "http")]
    Remote {
        /// The URL of the server.
        url: String,
        /// Headers of every request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<std::collections::HashMap<String, String>>)]
        headers: Option<IndexMap<String, String>>,
        /// The variable of the environment that has the bearer token.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bearer_token_env_var: Option<String>,
        /// Headers whose values are in variables of the environment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<std::collections::HashMap<String, String>>)]
        env_headers: Option<IndexMap<String, String>>,
        /// The OAuth client, or false for none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        oauth: Option<McpOAuthConfigOrDisabled>,
        /// False keeps the server from being used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        enabled: Option<bool>,
        /// How long the agent waits for it, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_ms: Option<u64>,
        /// The transport to use; HTTP by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        transport: Option<McpRemoteTransport>,
    },
}

/// A program, or a whole command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a string or an array of strings")]
pub enum McpCommand {
    Program(String),
    Line(Vec<String>),
}

/// An OAuth client, or false for none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected true, false, or an object of `clientId`, `clientSecret` and `scope`")]
pub enum McpOAuthConfigOrDisabled {
    Config(McpOAuthConfig),
    Switch(bool),
}

/// The OAuth client of a remote MCP server.
#[derive(Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpOAuthConfig {
    /// The client's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The client's secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The scope to ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// The transport of a remote MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpRemoteTransport {
    Http,
    Sse,
}

/// Skills to load, from several sources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SkillsConfig {
    /// The places that skills are fetched from.
    pub sources: Vec<SkillSource>,
}

/// A folder or repository with skills: folders with a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SkillSource {
    /// `github`, `git` or `local`
    pub r#type: String,
    /// `OWNER/REPOSITORY`, the address of a repository, or a folder of the daemon's machine
    pub source: String,
    /// The names of the wanted skills; all of them without it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    /// A branch, a tag or a commit; without it the repository's default branch
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#ref: Option<String>,
    /// The folder of the source to look in
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subpath: Option<String>,
}

const HIDDEN: &str = "***";

impl McpCommand {
    /// Returns the program and all its arguments, of which `args` are the last; `None` when no program is named.
    pub fn with_args<'a>(&'a self, args: &'a [String]) -> Option<(&'a str, Vec<&'a str>)> {
        let (program, first) = match self {
            Self::Program(program) => (program, [].as_slice()),
            Self::Line(line) => line.split_first()?,
        };
        let args = first.iter().chain(args).map(String::as_str).collect();
        (!program.is_empty()).then_some((program, args))
    }
}

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

impl SkillsConfig {
    /// Returns the same sources without credentials.
    pub fn redacted(self) -> Self {
        Self { sources: self.sources.into_iter().map(SkillSource::redacted).collect() }
    }
}

impl SkillSource {
    /// Returns the same source without credentials in its address.
    pub fn redacted(mut self) -> Self {
        self.source = without(&self.source, &secrets_in_url(&self.source));
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
    fn a_member_that_no_server_has_is_refused() {
        let refused = |json| serde_json::from_str::<McpServerConfig>(json).unwrap_err().to_string();
        let unknown = refused(r#"{"type":"local","command":"x","workdir":"/"}"#);
        assert!(unknown.starts_with("unknown field `workdir`, expected one of `command`"), "{unknown}");
        let other = refused(r#"{"type":"remote","url":"http://x","cwd":"/"}"#);
        assert!(other.starts_with("unknown field `cwd`"), "{other}");
        for (json, words) in [
            (r#"{"type":"local","command":5}"#, "a string or an array of strings"),
            (r#"{"type":"remote","url":"http://x","oauth":{"secret":"s"}}"#, "an object of `clientId`"),
        ] {
            assert!(refused(json).contains(words), "{}", refused(json));
        }
        let other_name = r#"{"type":"stdio","command":["x"]}"#;
        assert!(matches!(serde_json::from_str(other_name), Ok(McpServerConfig::Local { .. })));
    }

    #[test]
    fn a_command_is_a_program_and_its_arguments() {
        let last = ["c".to_owned()];
        let line = McpCommand::Line(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(line.with_args(&last), Some(("a", vec!["b", "c"])));
        assert_eq!(McpCommand::Program("a".to_owned()).with_args(&last), Some(("a", vec!["c"])));
        assert_eq!(McpCommand::Line(vec![]).with_args(&last), None);
        assert_eq!(McpCommand::Program(String::new()).with_args(&last), None);
    }

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

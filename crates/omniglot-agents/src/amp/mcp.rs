//! The session's MCP servers in Amp's own form, as a file of this process.

use indexmap::IndexMap;
use omniglot_schema::{McpOAuthConfigOrDisabled, McpServerConfig, McpServers};
use serde::Serialize;

use crate::contract::{Refusal, RefusalKind};
use crate::prepare::LaunchFile;

const NAME: &str = "mcp.json";

#[derive(Serialize)]
#[serde(untagged)]
enum Server<'a> {
    Local {
        command: &'a str,
        args: Vec<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        env: Option<&'a IndexMap<String, String>>,
    },
    Remote {
        url: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        headers: Option<&'a IndexMap<String, String>>,
    },
}

/// Returns the file, if any server is switched on.
pub(crate) fn file(servers: &McpServers) -> Result<Option<LaunchFile>, Refusal> {
    let mut wire = IndexMap::new();
    for (name, config) in servers {
        if let Some(server) = server(name, config)? {
            wire.insert(name, server);
        }
    }
    if wire.is_empty() {
        return Ok(None);
    }
    let text = serde_json::to_string(&wire).map_err(|error| bad("of this session", &error.to_string()))?;
    Ok(Some(LaunchFile::text(NAME, text)))
}

fn server<'a>(name: &str, config: &'a McpServerConfig) -> Result<Option<Server<'a>>, Refusal> {
    Ok(match config {
        McpServerConfig::Local { enabled: Some(false), .. }
        | McpServerConfig::Remote { enabled: Some(false), .. } => None,
        McpServerConfig::Local { timeout_ms: Some(_), .. }
        | McpServerConfig::Remote { timeout_ms: Some(_), .. } => {
            return Err(bad(name, "Amp has no timeout of single servers; leave out `timeoutMs`"));
        }
        McpServerConfig::Local { cwd: Some(_), .. } => {
            return Err(bad(name, "Amp starts MCP servers in the session's directory; leave out `cwd`"));
        }
        McpServerConfig::Local { command, args, env, .. } => {
            let (command, args) = command.with_args(args).ok_or_else(|| bad(name, "its command is empty"))?;
            Some(Server::Local { command, args, env: env.as_ref() })
        }
        McpServerConfig::Remote { oauth: Some(McpOAuthConfigOrDisabled::Config(_)), .. } => {
            return Err(bad(name, "Amp does its own OAuth; leave out `oauth`"));
        }
        // Headers that a variable tells were filled in before.
        McpServerConfig::Remote { url, headers, .. } => {
            Some(Server::Remote { url, headers: headers.as_ref() })
        }
    })
}

fn bad(name: &str, why: &str) -> Refusal {
    Refusal { kind: RefusalKind::BadRequest, message: format!("the MCP server {name}: {why}"), hint: None }
}

//! The session's MCP servers as entries of Codex's configuration.

use indexmap::IndexMap;
use omniglot_schema::{McpOAuthConfigOrDisabled, McpRemoteTransport, McpServerConfig, McpServers};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::contract::{Refusal, RefusalKind};

/// One server as `config.toml` has it.
#[derive(Default, Serialize)]
struct Server<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    env: Option<&'a IndexMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    http_headers: Option<&'a IndexMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_timeout_sec: Option<f64>,
}

/// The value of `mcp_servers`; a server that Codex cannot use refuses the session.
pub(crate) fn to_config(servers: &McpServers) -> Result<Option<Value>, Refusal> {
    let mut config = Map::new();
    for (name, server) in servers {
        let server = to_wire(server).map_err(|reason| bad(name, reason))?;
        let server = serde_json::to_value(server).map_err(|error| bad(name, &error.to_string()))?;
        config.insert(name.clone(), server);
    }
    Ok((!config.is_empty()).then_some(Value::Object(config)))
}

fn bad(name: &str, reason: &str) -> Refusal {
    Refusal {
        kind: RefusalKind::BadRequest,
        message: format!("Codex cannot use the MCP server {name}: {reason}"),
        hint: Some("leave it out, or describe it in another way".to_owned()),
    }
}

fn to_wire(server: &McpServerConfig) -> Result<Server<'_>, &'static str> {
    match server {
        McpServerConfig::Local { command, args, cwd, env, enabled, timeout_ms } => {
            let (program, args) = command.with_args(args).ok_or("its command is empty")?;
            Ok(Server {
                command: Some(program),
                args,
                cwd: cwd.as_deref(),
                env: env.as_ref(),
                enabled: *enabled,
                tool_timeout_sec: timeout_ms.map(seconds),
                ..Server::default()
            })
        }
        McpServerConfig::Remote { transport: Some(McpRemoteTransport::Sse), .. } => {
            Err("`transport` cannot be `sse`: it speaks only streamable HTTP to MCP servers")
        }
        McpServerConfig::Remote { oauth: Some(McpOAuthConfigOrDisabled::Config(_)), .. } => {
            Err("it takes no `oauth`, since it keeps its own logins; use `codex mcp login`")
        }
        // The runtime has put the values of named variables into the headers.
        McpServerConfig::Remote { url, headers, enabled, timeout_ms, .. } => Ok(Server {
            url: Some(url),
            http_headers: headers.as_ref(),
            enabled: *enabled,
            tool_timeout_sec: timeout_ms.map(seconds),
            ..Server::default()
        }),
    }
}

fn seconds(milliseconds: u64) -> f64 {
    std::time::Duration::from_millis(milliseconds).as_secs_f64()
}

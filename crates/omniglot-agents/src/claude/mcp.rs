//! The session's MCP servers in the CLI's own form.
//!
//! They go over stdin and not on the command line, which every process of the machine can read.

use indexmap::IndexMap;
use omniglot_schema::{
    McpOAuthConfigOrDisabled, McpRemoteTransport, McpServerConfig, McpServers, StatusLabel,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::wire::Request;
use super::wire::control::control_request;
use super::{Claude, dropped};
use crate::contract::{DropReason, Output, Refusal, RefusalKind};

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Server<'a> {
    Stdio {
        command: &'a str,
        args: Vec<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        env: Option<&'a IndexMap<String, String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    Http(Remote<'a>),
    Sse(Remote<'a>),
}

#[derive(Serialize)]
struct Remote<'a> {
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<&'a IndexMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    errors: IndexMap<String, Value>,
}

/// The servers that are switched on, or why one cannot be used.
fn to_wire(servers: &McpServers) -> Result<IndexMap<String, Value>, Refusal> {
    let mut wire = IndexMap::new();
    for (name, config) in servers {
        if let Some(server) = server(name, config)? {
            let value = serde_json::to_value(server).map_err(|error| bad(name, &error.to_string()))?;
            wire.insert(name.clone(), value);
        }
    }
    Ok(wire)
}

fn server<'a>(name: &str, config: &'a McpServerConfig) -> Result<Option<Server<'a>>, Refusal> {
    Ok(match config {
        McpServerConfig::Local { enabled: Some(false), .. }
        | McpServerConfig::Remote { enabled: Some(false), .. } => None,
        McpServerConfig::Local { cwd: Some(_), .. } => {
            return Err(bad(
                name,
                "Claude Code starts MCP servers in the session's directory; leave out `cwd`",
            ));
        }
        McpServerConfig::Local { command, args, env, timeout_ms, .. } => {
            let (command, args) = command.with_args(args).ok_or_else(|| bad(name, "its command is empty"))?;
            Some(Server::Stdio { command, args, env: env.as_ref(), timeout: *timeout_ms })
        }
        McpServerConfig::Remote { oauth: Some(McpOAuthConfigOrDisabled::Config(_)), .. } => {
            return Err(bad(name, "Claude Code does its own OAuth; leave out `oauth`"));
        }
        // The runtime has put the values of named variables into the headers.
        McpServerConfig::Remote { url, headers, transport, timeout_ms, .. } => {
            let remote = Remote { url, headers: headers.as_ref(), timeout: *timeout_ms };
            Some(match transport {
                Some(McpRemoteTransport::Sse) => Server::Sse(remote),
                Some(McpRemoteTransport::Http) | None => Server::Http(remote),
            })
        }
    })
}

fn bad(name: &str, why: &str) -> Refusal {
    Refusal { kind: RefusalKind::BadRequest, message: format!("the MCP server {name}: {why}"), hint: None }
}

impl Claude {
    /// Gives the CLI the session's servers; `None` when there are none to give.
    pub(crate) fn give_servers(&mut self, servers: &McpServers) -> Result<Option<Output>, Refusal> {
        let wire = to_wire(servers)?;
        if wire.is_empty() {
            return Ok(None);
        }
        let hidden = servers.iter().map(|(name, config)| (name.clone(), config.clone().redacted())).collect();
        let id = self.next_id();
        let render = |servers| control_request(&id, &Request::McpSetServers { servers });
        let output = match (render(wire), render(to_wire(&hidden)?)) {
            (Ok(message), Ok(shown)) => Output::send_secret(message, shown),
            (Err(fault), _) | (_, Err(fault)) => Output::unparsed(fault),
        };
        Ok(Some(output))
    }

    pub(crate) fn servers_answered(
        &mut self,
        answer: Result<Option<&RawValue>, String>,
        out: &mut Vec<Output>,
    ) {
        let read = |raw: Option<&RawValue>| {
            raw.and_then(|raw| serde_json::from_str::<Answer>(raw.get()).ok()).unwrap_or_default().errors
        };
        let warnings: Vec<String> = match answer {
            Ok(body) => read(body)
                .into_iter()
                .map(|(name, error)| format!("the MCP server {name}: {}", text(&error)))
                .collect(),
            Err(words) => vec![format!("the MCP servers were not taken: {words}")],
        };
        if self.session.is_opening() {
            self.opened(out);
        } else {
            dropped(DropReason::Internal, out);
        }
        for warning in warnings {
            self.status(StatusLabel::Warning, warning, out);
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

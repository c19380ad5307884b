//! The session's MCP servers: our gate asks for them and registers them with Pi, beside the user's own.
//!
//! They go over stdin: a file, a variable or a command line would show their secrets to every tool that Pi runs.

use indexmap::IndexMap;
use omniglot_schema::{
    McpOAuthConfigOrDisabled, McpRemoteTransport, McpServerConfig, McpServers, StatusLabel,
};
use serde::{Deserialize, Serialize};

use super::outgoing::{Outgoing, Sent};
use super::{Pi, dropped};
use crate::contract::{DropReason, Output, Refusal, RefusalKind};
use crate::fault::unparsed;

/// The variable that makes the gate ask for servers.
pub(crate) const GATE_ASKS: &str = "PI_OMNIGLOT_MCP";
/// The title of that question.
pub(crate) const TITLE: &str = "omniglot-gate-servers";

/// One server as `mcp.json` has it.
#[derive(Default, Serialize)]
struct Server<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    env: Option<IndexMap<&'a str, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<IndexMap<&'a str, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    /// The model calls the tools by their names, and not from scripts.
    exposure: &'static str,
}

/// The end of a registration: why each refused server was refused, or that this version has no MCP at all.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Registered {
    Servers(Vec<String>),
    Unsupported(bool),
}

/// Returns the servers in Pi's form; one that Pi cannot use refuses the session.
pub(crate) fn to_wire(servers: &McpServers) -> Result<String, Refusal> {
    let mut wire = IndexMap::new();
    for (name, server) in servers {
        let server =
            of_config(server).map_err(|reason| refusal(format!("the MCP server {name}: {reason}")))?;
        wire.insert(name, server);
    }
    serde_json::to_string(&wire).map_err(|error| refusal(error.to_string()))
}

fn of_config(server: &McpServerConfig) -> Result<Server<'_>, &'static str> {
    let direct = Server { exposure: "direct", ..Server::default() };
    match server {
        McpServerConfig::Local { command, args, cwd, env, enabled, timeout_ms } => {
            let (program, args) = command.with_args(args).ok_or("its command is empty")?;
            Ok(Server {
                command: Some(program),
                args,
                cwd: cwd.as_deref(),
                env: env.as_ref().map(literals),
                enabled: *enabled,
                timeout: timeout_ms.map(seconds),
                ..direct
            })
        }
        McpServerConfig::Remote { transport: Some(McpRemoteTransport::Sse), .. } => {
            Err("`transport` cannot be `sse`: Pi speaks only streamable HTTP to MCP servers")
        }
        McpServerConfig::Remote { oauth: Some(McpOAuthConfigOrDisabled::Config(_)), .. } => {
            Err("Pi takes no `oauth`, since it keeps its own logins; use `pi mcp login`")
        }
        // The runtime has put the values of named variables into the headers.
        McpServerConfig::Remote { url, headers, enabled, timeout_ms, .. } => Ok(Server {
            url: Some(url),
            headers: headers.as_ref().map(literals),
            enabled: *enabled,
            timeout: timeout_ms.map(seconds),
            ..direct
        }),
    }
}

/// Pi replaces `$NAME` by a variable and runs what follows a `!`; these values are meant as they stand.
fn literals(values: &IndexMap<String, String>) -> IndexMap<&str, String> {
    let literal = |value: &String| {
        let escaped = value.replace('$', "$$");
        if escaped.starts_with('!') { format!("${escaped}") } else { escaped }
    };
    values.iter().map(|(name, value)| (name.as_str(), literal(value))).collect()
}

fn seconds(milliseconds: u64) -> f64 {
    std::time::Duration::from_millis(milliseconds).as_secs_f64()
}

fn refusal(message: String) -> Refusal {
    Refusal { kind: RefusalKind::BadRequest, message, hint: None }
}

impl Pi {
    /// Gives the gate the session's servers.
    pub(crate) fn gate_asks_for_servers(&mut self, id: &str, out: &mut Vec<Output>) {
        let answer = |servers: &McpServers| {
            let body = Outgoing::value(to_wire(servers).map_err(|refusal| unparsed("mcp", refusal.message))?);
            Sent { id: Some(id.to_owned()), body }.line()
        };
        let shown = |(name, server): (&String, &McpServerConfig)| (name.clone(), server.clone().redacted());
        let redacted = self.session.servers.iter().map(shown).collect();
        out.push(match (answer(&self.session.servers), answer(&redacted)) {
            (Ok(message), Ok(shown)) => Output::send_secret(message, shown),
            (Err(fault), _) | (_, Err(fault)) => Output::unparsed(fault),
        });
        dropped(DropReason::Internal, out);
    }

    /// The servers are registered, or a session that wants them cannot be had.
    pub(crate) fn servers_registered(&mut self, registered: Registered, out: &mut Vec<Output>) {
        let refused = match registered {
            Registered::Unsupported(_) => {
                vec!["this version of Pi has no MCP; 1.5 has".to_owned()]
            }
            Registered::Servers(refused) => refused,
        };
        if refused.is_empty() {
            self.session.servers_are_registered = true;
            if self.session.is_opening() {
                self.send(Outgoing::GetState, out);
            }
        } else if self.session.open.take().is_some() {
            out.push(Output::refused(refusal(refused.join("; "))));
        } else {
            self.status(StatusLabel::Warning, refused.join("; "), out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(json: &str) -> Result<String, String> {
        to_wire(&serde_json::from_str(json).unwrap()).map_err(|refusal| refusal.message)
    }

    #[test]
    fn servers_are_told_as_they_stand_in_mcp_json() {
        let local = r#"{"a":{"type":"local","command":["run","it"],"args":["x"],"env":{"K":"!a$b","L":"$!"},"timeoutMs":1500}}"#;
        insta::assert_snapshot!(wire(local).unwrap(), @r#"{"a":{"command":"run","args":["it","x"],"env":{"K":"$!a$$b","L":"$$!"},"timeout":1.5,"exposure":"direct"}}"#);
        let remote =
            r#"{"b":{"type":"remote","url":"http://127.0.0.1/","headers":{"A":"1"},"enabled":false}}"#;
        insta::assert_snapshot!(wire(remote).unwrap(), @r#"{"b":{"url":"http://127.0.0.1/","headers":{"A":"1"},"enabled":false,"exposure":"direct"}}"#);
    }

    #[test]
    fn a_server_that_pi_cannot_use_is_refused_by_name() {
        let sse = wire(r#"{"b":{"type":"remote","url":"http://x/","transport":"sse"}}"#).unwrap_err();
        assert_eq!(
            sse,
            "the MCP server b: `transport` cannot be `sse`: Pi speaks only streamable HTTP to MCP servers"
        );
        let oauth =
            wire(r#"{"b":{"type":"remote","url":"http://x/","oauth":{"clientId":"i"}}}"#).unwrap_err();
        assert!(oauth.contains("pi mcp login"), "{oauth}");
    }
}

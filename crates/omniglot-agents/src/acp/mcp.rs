//! The session's MCP servers in the protocol's own form, and in the form that others may see.

use agent_client_protocol_schema::v1::{
    EnvVariable, HttpHeader, McpCapabilities, McpServer, McpServerHttp, McpServerSse, McpServerStdio,
};
use indexmap::IndexMap;
use omniglot_schema::{
    McpCommand, McpOAuthConfigOrDisabled, McpRemoteTransport, McpServerConfig, McpServers,
};

/// The servers that the agent can use, and what is the matter with each other one.
pub(crate) fn to_wire(servers: &McpServers, agent: &McpCapabilities) -> (Vec<McpServer>, Vec<String>) {
    let mut wire = Vec::new();
    let mut problems = Vec::new();
    for (name, config) in servers {
        match server(name, config, agent) {
            Ok(server) => wire.extend(server),
            Err(reason) => problems.push(format!("the agent cannot use the MCP server {name}: {reason}")),
        }
    }
    (wire, problems)
}

/// The same servers with every secret value shown as `***`; `None` when there is none to hide.
pub(crate) fn hidden(servers: &[McpServer]) -> Option<Vec<McpServer>> {
    let mut shown = servers.to_vec();
    let mut values: Vec<&mut String> = shown.iter_mut().flat_map(values).collect();
    if values.is_empty() {
        return None;
    }
    for value in &mut values {
        HIDDEN.clone_into(value);
    }
    Some(shown)
}

fn values(server: &mut McpServer) -> Vec<&mut String> {
    match server {
        McpServer::Stdio(server) => server.env.iter_mut().map(|variable| &mut variable.value).collect(),
        McpServer::Http(server) => server.headers.iter_mut().map(|header| &mut header.value).collect(),
        McpServer::Sse(server) => server.headers.iter_mut().map(|header| &mut header.value).collect(),
        // We send none of these.
        McpServer::Acp(_) | _ => vec![],
    }
}

const HIDDEN: &str = "***";

fn server(
    name: &str,
    config: &McpServerConfig,
    agent: &McpCapabilities,
) -> Result<Option<McpServer>, &'static str> {
    match config {
        McpServerConfig::Local { enabled: Some(false), .. }
        | McpServerConfig::Remote { enabled: Some(false), .. } => Ok(None),
        McpServerConfig::Local { cwd: Some(_), .. } => {
            Err("ACP carries no `cwd`: agents start servers in the session's directory; leave it out")
        }
        McpServerConfig::Local { timeout_ms: Some(_), .. }
        | McpServerConfig::Remote { timeout_ms: Some(_), .. } => {
            Err("ACP carries no `timeoutMs`; leave it out")
        }
        McpServerConfig::Remote {
            oauth: Some(McpOAuthConfigOrDisabled::Config(_) | McpOAuthConfigOrDisabled::Switch(true)),
            ..
        } => Err("ACP carries no `oauth`; give the server a header instead"),
        McpServerConfig::Local { command, args, env, .. } => {
            local(name, command, args, env.as_ref()).map(Some)
        }
        McpServerConfig::Remote { url, headers, transport, .. } => {
            let headers = pairs(headers.as_ref(), HttpHeader::new);
            match transport {
                Some(McpRemoteTransport::Sse) if agent.sse => {
                    Ok(Some(McpServer::Sse(McpServerSse::new(name, url).headers(headers))))
                }
                Some(McpRemoteTransport::Sse) => Err("the agent does not speak SSE to MCP servers"),
                Some(McpRemoteTransport::Http) | None if agent.http => {
                    Ok(Some(McpServer::Http(McpServerHttp::new(name, url).headers(headers))))
                }
                Some(McpRemoteTransport::Http) | None => Err("the agent does not speak HTTP to MCP servers"),
            }
        }
    }
}

fn local(
    name: &str,
    command: &McpCommand,
    args: &[String],
    env: Option<&IndexMap<String, String>>,
) -> Result<McpServer, &'static str> {
    let (program, args) = command.with_args(args).ok_or("its command is empty")?;
    let args = args.into_iter().map(str::to_owned).collect();
    let env = pairs(env, EnvVariable::new);
    Ok(McpServer::Stdio(McpServerStdio::new(name, program).args(args).env(env)))
}

fn pairs<T>(map: Option<&IndexMap<String, String>>, make: impl Fn(String, String) -> T) -> Vec<T> {
    map.into_iter().flatten().map(|(name, value)| make(name.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use crate::acp::Acp;
    use crate::contract::{Command, Input, Open, Output, Translator, TransportOutput};

    #[test]
    fn the_values_of_servers_are_sent_and_shown_to_nobody() {
        let mcp = r#"{"a":{"type":"local","command":"x","env":{"SHORT":"v1"}},
            "b":{"type":"remote","url":"http://x","headers":{"H":"v2"}}}"#;
        let mcp = serde_json::from_str(mcp).unwrap();
        let mut acp = Acp::new();
        let mut out = Vec::new();
        let open = Command::Open(Open { cwd: "/w".into(), mcp, ..Open::default() });
        acp.handle(Input::Command(&open), &mut out);
        let Some(Output::Transport(TransportOutput::Send(hello))) = out.pop() else { panic!("{out:?}") };
        acp.handle(Input::Sent(&hello), &mut out);
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}}"#;
        acp.handle(Input::Frame(serde_json::from_str(answer).unwrap()), &mut out);
        let Some(Output::Transport(TransportOutput::SendSecret { message, shown })) = out.pop() else {
            panic!("{out:?}")
        };
        assert!(message.get().contains(r#""value":"v1""#) && message.get().contains(r#""value":"v2""#));
        insta::assert_snapshot!(shown.get(), @r#"{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[{"name":"a","command":"x","args":[],"env":[{"name":"SHORT","value":"***"}]},{"type":"http","name":"b","url":"http://x","headers":[{"name":"H","value":"***"}]}]}}"#);
    }
}

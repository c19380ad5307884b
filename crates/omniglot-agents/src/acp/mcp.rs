//! The session's MCP servers in the protocol's own form.

use agent_client_protocol_schema::v1::{
    EnvVariable, HttpHeader, McpCapabilities, McpServer, McpServerHttp, McpServerSse, McpServerStdio,
};
use indexmap::IndexMap;
use omniglot_schema::{McpCommand, McpRemoteTransport, McpServerConfig, McpServers};

/// The servers that the agent can use, and a warning for each that it cannot.
pub(crate) fn to_wire(servers: &McpServers, agent: &McpCapabilities) -> (Vec<McpServer>, Vec<String>) {
    let mut wire = Vec::new();
    let mut warnings = Vec::new();
    for (name, config) in servers {
        match server(name, config, agent) {
            Ok(server) => wire.extend(server),
            Err(reason) => warnings.push(format!("the MCP server {name} was left out: {reason}")),
        }
    }
    (wire, warnings)
}

fn server(
    name: &str,
    config: &McpServerConfig,
    agent: &McpCapabilities,
) -> Result<Option<McpServer>, &'static str> {
    match config {
        McpServerConfig::Local { enabled: Some(false), .. }
        | McpServerConfig::Remote { enabled: Some(false), .. } => Ok(None),
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
    let (program, first) = match command {
        McpCommand::Program(program) => (program, [].as_slice()),
        McpCommand::Line(line) => match line.split_first() {
            Some((program, rest)) => (program, rest),
            None => return Err("its command is empty"),
        },
    };
    let args = first.iter().chain(args).cloned().collect();
    let env = pairs(env, EnvVariable::new);
    Ok(McpServer::Stdio(McpServerStdio::new(name, program).args(args).env(env)))
}

fn pairs<T>(map: Option<&IndexMap<String, String>>, make: impl Fn(String, String) -> T) -> Vec<T> {
    map.into_iter().flatten().map(|(name, value)| make(name.clone(), value.clone())).collect()
}

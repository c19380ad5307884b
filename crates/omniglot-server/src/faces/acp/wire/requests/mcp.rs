//! Converts the MCP servers of a client into those that a session is created with.

use agent_client_protocol_schema::v1::{
    EnvVariable, HttpHeader, McpServer, McpServerHttp, McpServerSse, McpServerStdio, Meta,
};
use omniglot_schema::{
    McpCommand, McpOAuthConfig, McpOAuthConfigOrDisabled, McpRemoteTransport, McpServerConfig,
};
use serde_json::value::RawValue;

use super::super::meta::{self, BadKey};

/// Returns the server's name and its configuration.
pub(super) fn server(entry: &RawValue) -> Result<(String, McpServerConfig), String> {
    match super::parse(entry)? {
        McpServer::Stdio(server) => local(server).map_err(|error| error.to_string()),
        McpServer::Http(McpServerHttp { name, url, headers, meta, .. }) => {
            remote(name, url, headers, meta.as_ref(), McpRemoteTransport::Http)
        }
        McpServer::Sse(McpServerSse { name, url, headers, meta, .. }) => {
            remote(name, url, headers, meta.as_ref(), McpRemoteTransport::Sse)
        }
        _ => Err("only stdio, http and sse are supported".to_owned()),
    }
}

fn local(server: McpServerStdio) -> Result<(String, McpServerConfig), BadKey> {
    let notes = server.meta.as_ref();
    let env = server.env.into_iter().map(|EnvVariable { name, value, .. }| (name, value));
    let config = McpServerConfig::Local {
        command: McpCommand::Program(server.command.to_string_lossy().into_owned()),
        args: server.args,
        cwd: meta::read(notes, meta::CWD)?,
        env: some(env.collect(), |env: &indexmap::IndexMap<_, _>| !env.is_empty()),
        enabled: meta::read(notes, meta::ENABLED)?,
        timeout_ms: meta::read(notes, meta::TIMEOUT_MS)?,
    };
    Ok((server.name, config))
}

fn remote(
    name: String,
    url: String,
    headers: Vec<HttpHeader>,
    notes: Option<&Meta>,
    transport: McpRemoteTransport,
) -> Result<(String, McpServerConfig), String> {
    let headers = headers.into_iter().map(|HttpHeader { name, value, .. }| (name, value));
    let headers = some(headers.collect(), |headers: &indexmap::IndexMap<_, _>| !headers.is_empty());
    let config = || -> Result<_, BadKey> {
        Ok(McpServerConfig::Remote {
            url,
            headers,
            bearer_token_env_var: meta::read(notes, meta::BEARER_TOKEN_ENV_VAR)?,
            env_headers: meta::read(notes, meta::ENV_HEADERS)?,
            oauth: oauth(notes)?,
            enabled: meta::read(notes, meta::ENABLED)?,
            timeout_ms: meta::read(notes, meta::TIMEOUT_MS)?,
            transport: Some(transport),
        })
    };
    Ok((name, config().map_err(|error| error.to_string())?))
}

fn oauth(notes: Option<&Meta>) -> Result<Option<McpOAuthConfigOrDisabled>, BadKey> {
    let disabled: Option<bool> = meta::read(notes, meta::OAUTH_DISABLED)?;
    if disabled == Some(true) {
        return Ok(Some(McpOAuthConfigOrDisabled::Switch(false)));
    }
    let config: Option<McpOAuthConfig> = meta::read(notes, meta::OAUTH)?;
    Ok(config.map(McpOAuthConfigOrDisabled::Config))
}

fn some<T>(value: T, is_something: impl Fn(&T) -> bool) -> Option<T> {
    is_something(&value).then_some(value)
}

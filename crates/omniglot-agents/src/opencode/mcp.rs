//! The session's MCP servers as entries of OpenCode's configuration, which has every member of ours.

use indexmap::IndexMap;
use omniglot_schema::{McpOAuthConfigOrDisabled, McpServerConfig, McpServers};
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Server<'a> {
    Local {
        command: Vec<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        environment: Option<&'a IndexMap<String, String>>,
        enabled: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    /// OpenCode tries streamable HTTP first and SSE then, so the transport is not told.
    Remote {
        url: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        headers: Option<&'a IndexMap<String, String>>,
        enabled: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        oauth: Option<&'a McpOAuthConfigOrDisabled>,
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
}

/// Returns the entries of `mcp`.
pub(crate) fn to_config(servers: &McpServers) -> impl Iterator<Item = (String, Value)> {
    servers.iter().filter_map(|(name, server)| {
        let server = serde_json::to_value(of_config(server)).ok()?;
        Some((name.clone(), server))
    })
}

fn of_config(server: &McpServerConfig) -> Server<'_> {
    match server {
        McpServerConfig::Local { command, args, cwd, env, enabled, timeout_ms } => {
            // The runtime has refused an empty command.
            let (program, args) = command.with_args(args).unwrap_or_default();
            Server::Local {
                command: std::iter::once(program).chain(args).collect(),
                cwd: cwd.as_deref(),
                environment: env.as_ref(),
                enabled: enabled.unwrap_or(true),
                timeout: *timeout_ms,
            }
        }
        // The runtime has put the values of named variables into the headers.
        McpServerConfig::Remote { url, headers, enabled, oauth, timeout_ms, .. } => Server::Remote {
            url,
            headers: headers.as_ref(),
            enabled: enabled.unwrap_or(true),
            // It has no word for `true`, which is how it behaves by itself.
            oauth: oauth.as_ref().filter(|oauth| **oauth != McpOAuthConfigOrDisabled::Switch(true)),
            timeout: *timeout_ms,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(json: &str) -> String {
        let servers = serde_json::from_str(json).unwrap();
        serde_json::to_string(&to_config(&servers).collect::<IndexMap<_, _>>()).unwrap()
    }

    #[test]
    fn every_member_reaches_the_configuration() {
        let local = r#"{"a":{"type":"local","command":["run","it"],"args":["x"],"cwd":"/w","env":{"K":"v"},"enabled":false,"timeoutMs":1500}}"#;
        insta::assert_snapshot!(wire(local), @r#"{"a":{"type":"local","command":["run","it","x"],"cwd":"/w","environment":{"K":"v"},"enabled":false,"timeout":1500}}"#);
        let remote = r#"{"b":{"type":"remote","url":"http://x/","headers":{"A":"1"},"oauth":{"clientId":"i","scope":"s"},"timeoutMs":9}}"#;
        insta::assert_snapshot!(wire(remote), @r#"{"b":{"type":"remote","url":"http://x/","headers":{"A":"1"},"enabled":true,"oauth":{"clientId":"i","scope":"s"},"timeout":9}}"#);
        let without =
            |oauth: bool| wire(&format!(r#"{{"b":{{"type":"remote","url":"http://x/","oauth":{oauth}}}}}"#));
        assert!(without(false).contains(r#""oauth":false"#) && !without(true).contains("oauth"));
    }
}

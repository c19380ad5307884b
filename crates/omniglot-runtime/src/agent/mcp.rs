//! The MCP servers of a session: what can be said of them before an agent runs, values that come from the
//! environment, and which of their values nobody may see.
//!
//! How an agent is told of them, and which kinds it takes, is its adapter's.

use omniglot_schema::secrets::{names_a_secret, secrets_in_arguments, secrets_in_url};
use omniglot_schema::{McpCommand, McpOAuthConfigOrDisabled, McpServerConfig, McpServers};

/// The servers with the headers that are named by a variable, or the reason why they cannot be used.
pub(crate) fn ready(
    servers: McpServers,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<McpServers, String> {
    let ready = |(name, server)| match filled(server, &variable) {
        Ok(server) => Ok((name, server)),
        Err(why) => Err(format!("MCP server {name}: {why}")),
    };
    servers.into_iter().map(ready).collect()
}

/// Refuses a server that no agent could use, whatever its environment.
pub(crate) fn check(name: &str, server: &McpServerConfig) -> Result<(), String> {
    let checked = filled(server.clone(), |_| Some(String::new()));
    checked.map(drop).map_err(|why| format!("MCP server {name}: {why}"))
}

fn filled(
    mut server: McpServerConfig,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<McpServerConfig, String> {
    match &mut server {
        McpServerConfig::Local { command, args, .. } => {
            if command.with_args(args).is_none() {
                return Err("its command is empty".to_owned());
            }
        }
        McpServerConfig::Remote { url, headers, bearer_token_env_var, env_headers, .. } => {
            if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
                return Err(format!("its url {url:?} does not begin with http:// or https://"));
            }
            let value = |name: &str| {
                let missing = || format!("the variable {name} is not in the daemon's environment");
                variable(name).ok_or_else(missing)
            };
            let mut named = Vec::new();
            for (header, name) in env_headers.iter().flatten() {
                named.push((header.clone(), value(name)?));
            }
            if let Some(name) = bearer_token_env_var {
                named.push(("Authorization".to_owned(), format!("Bearer {}", value(name)?)));
            }
            if !named.is_empty() {
                headers.get_or_insert_default().extend(named);
            }
        }
    }
    Ok(server)
}

/// The values that are secrets wherever they turn up: headers, OAuth settings, credentials in addresses and
/// arguments, and the variables whose name says so. Other variables are paths and switches that the transcript is about.
pub(crate) fn secrets(servers: &McpServers) -> Vec<String> {
    servers.values().flat_map(secrets_of).collect()
}

fn secrets_of(server: &McpServerConfig) -> Vec<String> {
    match server {
        McpServerConfig::Local { command, args, env, .. } => {
            let env = env.iter().flatten().filter(|(name, _)| names_a_secret(name));
            let line = match command {
                McpCommand::Line(line) => secrets_in_arguments(line),
                McpCommand::Program(_) => vec![],
            };
            let told = line.into_iter().chain(secrets_in_arguments(args)).map(str::to_owned);
            env.map(|(_, value)| value.clone()).chain(told).collect()
        }
        McpServerConfig::Remote { url, headers, oauth, .. } => {
            let values = headers.iter().flatten().map(|(_, value)| value.as_str());
            // An agent may repeat the token without the word before it.
            let tokens = values.clone().filter_map(|value| value.split_once(' ').map(|(_, token)| token));
            let told = values.chain(tokens).chain(secrets_in_url(url));
            let mut secrets: Vec<String> = told.map(str::to_owned).collect();
            if let Some(McpOAuthConfigOrDisabled::Config(config)) = oauth {
                secrets.extend([&config.client_id, &config.client_secret].into_iter().flatten().cloned());
            }
            secrets
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(json: &str) -> McpServers {
        serde_json::from_str(json).unwrap()
    }

    fn variable(name: &str) -> Option<String> {
        (name == "SET").then(|| "from-outside".to_owned())
    }

    #[test]
    fn headers_are_filled_in_from_the_environment() {
        let given = servers(
            r#"{"web":{"type":"remote","url":"https://x/","headers":{"A":"1"},
                "bearerTokenEnvVar":"SET","envHeaders":{"B":"SET"}}}"#,
        );
        let ready = ready(given, variable).unwrap();
        let McpServerConfig::Remote { headers, .. } = &ready["web"] else { panic!() };
        let headers: Vec<_> =
            headers.iter().flatten().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(headers, ["A=1", "B=from-outside", "Authorization=Bearer from-outside"]);
    }

    #[test]
    fn what_can_never_work_is_refused_by_name() {
        let refused = |json| ready(servers(json), variable).unwrap_err();
        assert_eq!(refused(r#"{"a":{"type":"local","command":""}}"#), "MCP server a: its command is empty");
        assert_eq!(refused(r#"{"a":{"type":"local","command":[]}}"#), "MCP server a: its command is empty");
        assert_eq!(
            refused(r#"{"b":{"type":"remote","url":"ftp://x"}}"#),
            r#"MCP server b: its url "ftp://x" does not begin with http:// or https://"#
        );
        assert_eq!(
            refused(r#"{"c":{"type":"remote","url":"http://x","bearerTokenEnvVar":"UNSET"}}"#),
            "MCP server c: the variable UNSET is not in the daemon's environment"
        );
    }

    #[test]
    fn secrets_are_headers_and_oauth_and_variables_that_say_so() {
        let given = servers(
            r#"{"a":{"type":"local","command":"x","args":["--token","a1"],"env":{"API_KEY":"k1","ROOT":"/home"}},
                "b":{"type":"remote","url":"http://u:p1@x","headers":{"Authorization":"Bearer t1"},
                "oauth":{"clientId":"i1","clientSecret":"s1","scope":"read"}}}"#,
        );
        assert_eq!(secrets(&given), ["k1", "a1", "Bearer t1", "t1", "p1", "i1", "s1"]);
    }
}

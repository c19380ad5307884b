//! How the server is started, as data. The port and the password are the runtime's.

use serde_json::{Map, Value, json};

use super::mcp;
use crate::contract::{Open, SessionSkills};
use crate::http::Serving;
use crate::launch::{LaunchSpec, Start};

pub(crate) const SERVING: Serving = Serving {
    port_argument: "--port",
    password_variable: "OPENCODE_SERVER_PASSWORD",
    user: "opencode",
    ready: "server listening on",
    events_path: "/event",
};

pub(crate) const START: Start =
    Start { command: &["opencode"], env: QUIET, login: "opencode auth login", ..Start::NONE };

/// Switches against everything that is not the user's work: updates, downloads, sharing. Its plugin package
/// comes from npm whatever they say, but npm obeys its own switch.
const QUIET: &[(&str, &str)] = &[
    ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
    ("OPENCODE_DISABLE_SHARE", "1"),
    ("npm_config_offline", "true"),
];

const CONFIG: &str = "OPENCODE_CONFIG_CONTENT";

/// The session's MCP servers and skills are part of the server's configuration, and so of what makes two servers the
/// same.
pub(crate) fn launch(base: &LaunchSpec, open: &Open) -> LaunchSpec {
    let mut launch = base.clone();
    launch.args.extend(["serve", "--hostname", "127.0.0.1"].map(str::to_owned));
    if !open.mcp.is_empty() || open.skills.is_some() {
        let configured = launch.env.get(CONFIG).and_then(|text| serde_json::from_str(text).ok());
        let mut config: Map<String, Value> = configured.unwrap_or_default();
        let servers = config.entry("mcp").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(servers) = servers {
            servers.extend(mcp::to_config(&open.mcp));
        }
        if let Some(skills) = &open.skills {
            add_skills(&mut config, skills);
        }
        launch.env.insert(CONFIG.to_owned(), Value::Object(config).to_string());
    }
    launch
}

fn add_skills(config: &mut Map<String, Value>, skills: &SessionSkills) {
    let configured = config.entry("skills").or_insert_with(|| json!({}));
    let Value::Object(configured) = configured else { return };
    let paths = configured.entry("paths").or_insert_with(|| json!([]));
    if let Value::Array(paths) = paths {
        paths.push(skills.folder().to_string_lossy().into());
    }
}

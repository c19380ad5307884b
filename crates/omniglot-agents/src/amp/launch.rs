//! How Amp is started, as data.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;

use super::delegate::{PROGRAM, SOCKET};
use super::{mcp, settings_file};
use crate::contract::{Open, Refusal, RefusalKind};
use crate::launch::{LaunchSpec, Start};
use crate::prepare::{LaunchFile, Machine, Preparation, Prepared};

/// The program itself, without what a session adds.
pub(crate) const START: Start = Start {
    command: &["amp"],
    env: &[("AMP_SKIP_UPDATE_CHECK", "1")],
    login: "run `amp login` in a terminal, or set AMP_API_KEY",
    ..Start::NONE
};

/// The whole command for one turn. The prompt comes over stdin, where no other process of the machine can read it.
pub(crate) fn launch(base: &LaunchSpec, open: &Open) -> LaunchSpec {
    let mut spec = base.clone();
    for (name, value) in START.env {
        spec.env.entry((*name).to_owned()).or_insert_with(|| (*value).to_owned());
    }
    let mut add = |words: &[&str]| spec.args.extend(words.iter().map(|word| (*word).to_owned()));
    if let Some(thread) = &open.resume {
        add(&["threads", "continue", thread]);
    }
    add(&["--execute", "--stream-json", "--stream-json-thinking", "--stream-json-input"]);
    // An archived thread cannot be continued.
    add(&["--no-archive-after-execute"]);
    if let Some(mode) = &open.requested.variant {
        add(&["--mode", mode]);
    }
    if open.requested.permission_mode.as_deref() == Some("bypass") {
        add(&["--dangerously-allow-all"]);
    }
    spec
}

/// Writes the settings that make Amp ask us, and the MCP servers, whose secrets do not belong on a command line.
pub(crate) fn prepare(spec: &mut LaunchSpec, start: &Preparation<'_>) -> Result<Prepared, Refusal> {
    if !is_logged_in(start.machine) {
        let message = "Amp is not logged in, and would wait for a login for ever".to_owned();
        let hint = Some(START.login.to_owned());
        return Err(Refusal { kind: RefusalKind::Auth, message, hint });
    }
    let settings = settings_file::write(start)?;
    let mut files = vec![LaunchFile::link(PROGRAM, start.own_program), settings];
    let path = |name: &str| start.dir.join(name).to_string_lossy().into_owned();
    spec.args.extend(["--settings-file".to_owned(), path(settings_file::NAME)]);
    if let Some(servers) = mcp::file(&start.open.mcp)? {
        spec.args.extend(["--mcp-config".to_owned(), path(servers.name)]);
        files.push(servers);
    }
    spec.env.insert(SOCKET.to_owned(), start.socket.to_string_lossy().into_owned());
    Ok(Prepared { files, hears_helpers: true })
}

fn is_logged_in(machine: &dyn Machine) -> bool {
    let key = machine.variable("AMP_API_KEY").filter(|key| !key.is_empty());
    let data = machine.variable("XDG_DATA_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let data = data.or_else(|| Some(PathBuf::from(machine.variable("HOME")?).join(".local/share")));
    let secrets = data.and_then(|data| machine.read(&data.join("amp/secrets.json")).ok().flatten());
    key.is_some() || secrets.is_some_and(|secrets| has_key(&secrets))
}

/// Whether a key is kept for any server. A logout leaves an empty one.
fn has_key(secrets: &str) -> bool {
    let secrets = serde_json::from_str::<HashMap<String, Value>>(secrets).unwrap_or_default();
    let is_key = |(name, value): (&String, &Value)| {
        name.starts_with("apiKey@") && value.as_str().is_some_and(|key| !key.is_empty())
    };
    secrets.iter().any(is_key)
}

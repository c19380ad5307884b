//! How Pi is started, as data.

use omniglot_schema::SystemPrompt;

use super::mcp::GATE_ASKS;
use super::settings::levels;
use crate::contract::Open;
use crate::launch::{LaunchSpec, SettingsFile, Start};

/// The program itself, without what a session adds.
pub(crate) const START: Start = Start {
    command: &["pi"],
    env: &[("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0"), ("PI_SKIP_VERSION_CHECK", "1")],
    // The file is written anew before each start, so nothing that an agent does to it lasts.
    settings: Some(SettingsFile { variable: GATE_PATH, name: "gate.ts", content: include_str!("gate.ts") }),
    login: "run `pi` in a terminal and `/login`, or set the key of a provider, such as ANTHROPIC_API_KEY",
    ..Start::NONE
};

/// The variable with the path of the gate.
const GATE_PATH: &str = "PI_OMNIGLOT_GATE";

/// The whole command for a session: `base`, the protocol's switches, and the session's own.
pub(crate) fn launch(base: &LaunchSpec, open: &Open) -> LaunchSpec {
    let mut spec = base.clone();
    for (name, value) in START.env {
        spec.env.entry((*name).to_owned()).or_insert_with(|| (*value).to_owned());
    }
    if !open.mcp.is_empty() {
        spec.env.insert(GATE_ASKS.to_owned(), "1".to_owned());
    }
    let mut add = |words: &[&str]| spec.args.extend(words.iter().map(|word| (*word).to_owned()));
    add(&["--mode", "rpc", "--offline"]);
    match (&open.resume, open.fork) {
        (Some(native), true) => add(&["--fork", native]),
        (Some(native), false) => add(&["--session", native]),
        (None, _) => {}
    }
    if let Some(gate) = base.env.get(GATE_PATH) {
        add(&["-e", gate]);
    }
    for skills in open.skills.iter().filter_map(|skills| skills.folder().to_str().map(str::to_owned)) {
        add(&["--skill", &skills]);
    }
    match &open.system_prompt {
        Some(SystemPrompt::Append(text)) => add(&["--append-system-prompt", text]),
        Some(SystemPrompt::Replace(text)) => add(&["--system-prompt", text]),
        None => {}
    }
    if let Some(model) = &open.requested.model {
        add(&["--model", model]);
    }
    // Pi clamps what its model does not have, and refuses words that are no level.
    if let Some(level) = open.requested.variant.as_ref().filter(|level| levels(true).contains(level)) {
        add(&["--thinking", level]);
    }
    spec
}

//! The pattern that an `always` to a command covers (T11): the command, and everything else that decides what it does.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Members of a call that are words for people, ids, or differ from call to call without changing what is run.
const TELLING_NOTHING: [&str; 11] = [
    "available_decisions",
    "call_id",
    "command",
    "description",
    "parsed_cmd",
    "proposed_execpolicy_amendment",
    "started_at_ms",
    "timeout",
    "timeout_ms",
    "title",
    "turn_id",
];

/// Returns the command alone where nothing else is said; else all of it, as JSON. The session's own directory is
/// where a command runs anyway.
pub(crate) fn pattern(
    command: String,
    input: &Map<String, Value>,
    directory: Option<&str>,
    paths: &[&str],
) -> String {
    let is_own_directory =
        |name: &str, value: &Value| name == "cwd" && directory.is_some() && value.as_str() == directory;
    let mut rest: BTreeMap<&str, Value> = input
        .iter()
        .filter(|(name, value)| !value.is_null() && !is_own_directory(name, value))
        .map(|(name, value)| (name.as_str(), value.clone()))
        .filter(|(name, _)| !TELLING_NOTHING.contains(name))
        .collect();
    if !paths.is_empty() {
        rest.insert("paths", paths.into());
    }
    if rest.is_empty() {
        return command;
    }
    rest.insert("command", command.into());
    serde_json::to_string(&rest).unwrap_or_default()
}

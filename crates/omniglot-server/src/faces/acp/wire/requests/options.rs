//! Settings of a new session as clients of claude-agent-acp write them, such as acpx. One that has no effect
//! is refused: nobody should believe that it holds.

use agent_client_protocol_schema::v1::Meta;
use serde::Deserialize;
use serde_json::Value;

use super::Unfit;
use crate::faces::acp::wire::meta::{self, BadKey};

/// `{options: {model, allowedTools, maxTurns, …}}`
const CLAUDE_CODE: &str = "claudeCode";
/// A text, or `{append: TEXT}`.
const SYSTEM_PROMPT: &str = "systemPrompt";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClaudeCode {
    options: Options,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Options {
    model: Option<String>,
    allowed_tools: Option<Value>,
    max_turns: Option<Value>,
}

/// Returns the model of these settings.
pub(super) fn model(notes: Option<&Meta>) -> Result<Option<String>, Unfit> {
    let system_prompt: Result<Option<Value>, BadKey> = meta::read(notes, SYSTEM_PROMPT);
    let Options { model, allowed_tools, max_turns } =
        meta::read::<ClaudeCode>(notes, CLAUDE_CODE)?.unwrap_or_default().options;
    for (option, is_set) in [
        ("systemPrompt", system_prompt?.is_some()),
        ("allowedTools", allowed_tools.is_some()),
        ("maxTurns", max_turns.is_some()),
    ] {
        if is_set {
            return Err(Unfit::Option { option });
        }
    }
    Ok(model)
}

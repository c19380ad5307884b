//! Settings of a new session as clients of claude-agent-acp write them, such as acpx. Those that the session's agent
//! does not take are refused when it is created: nobody should believe that they hold.

use std::num::NonZeroU32;

use agent_client_protocol_schema::v1::Meta;
use omniglot_schema::SystemPrompt;
use serde::Deserialize;

use crate::faces::acp::wire::meta::{self, BadKey};

/// `{options: {model, allowedTools, maxTurns, …}}`
const CLAUDE_CODE: &str = "claudeCode";
/// A text, which replaces, or `{append: TEXT}`.
const SYSTEM_PROMPT: &str = "systemPrompt";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClaudeCode {
    options: Options,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Options {
    pub(super) model: Option<String>,
    pub(super) allowed_tools: Option<Vec<String>>,
    pub(super) max_turns: Option<NonZeroU32>,
    #[serde(skip)]
    pub(super) system_prompt: Option<SystemPrompt>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Instructions {
    Replace(String),
    Append { append: String },
}

impl Options {
    pub(super) fn read(notes: Option<&Meta>) -> Result<Self, BadKey> {
        let ClaudeCode { options } = meta::read(notes, CLAUDE_CODE)?.unwrap_or_default();
        let system_prompt = meta::read(notes, SYSTEM_PROMPT)?.map(|instructions| match instructions {
            Instructions::Replace(text) => SystemPrompt::Replace(text),
            Instructions::Append { append } => SystemPrompt::Append(append),
        });
        Ok(Self { system_prompt, ..options })
    }
}

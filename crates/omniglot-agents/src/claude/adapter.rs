//! Claude Code as a value.

use omniglot_schema::AgentStability;

use super::fork_point;
use super::history::HISTORY;
use super::launch::{START, launch};
use super::settings::preview_settings;
use super::tool_kinds::TOOLS;
use super::{COMPACT, Claude};
use crate::adapter::{
    Adapter, Compact, CreationOptions, Credential, EVERYTHING, Lifetime, Program, SkillsDir, Steer, at_once,
};
use crate::launch::Install;

pub const ADAPTER: Adapter = Adapter {
    id: "claude",
    protocol: "claude",
    stability: AgentStability::Verified,
    lifetime: Lifetime::Session,
    program: Program::Installed(&START),
    launch,
    prepare: Some(fork_point::prepare),
    translator: || Box::new(Claude::new()),
    capabilities: EVERYTHING,
    preview_settings,
    // It answers several prompts with one result, so that a turn of ours would end without its own.
    steer: Steer::Queued,
    compact: Compact::Prompt(COMPACT),
    history: Some(HISTORY),
    resumable_from: at_once,
    tools: TOOLS,
    install: Install::Npm("@anthropic-ai/claude-code"),
    credentials: CREDENTIALS,
    skills: SkillsDir::Own,
    takes: CreationOptions { system_prompt: true, allowed_tools: true, max_turns: true },
};

/// With another provider the CLI leaves the credentials to that provider.
pub(crate) const CREDENTIALS: &[Credential] = &[
    Credential::Env("ANTHROPIC_API_KEY"),
    Credential::Env("ANTHROPIC_AUTH_TOKEN"),
    Credential::Env("CLAUDE_CODE_OAUTH_TOKEN"),
    Credential::Env("CLAUDE_CODE_USE_BEDROCK"),
    Credential::Env("CLAUDE_CODE_USE_VERTEX"),
    Credential::Env("CLAUDE_CODE_USE_FOUNDRY"),
    Credential::File("~/.claude/.credentials.json"),
    Credential::FileBelow { variable: "CLAUDE_CONFIG_DIR", path: ".credentials.json" },
];

/// For programs that start Claude Code with options of their own.
pub(crate) const SKILLS: SkillsDir = SkillsDir::Project(".claude/skills");

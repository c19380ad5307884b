//! Codex as a value.

use omniglot_schema::{AgentCapabilities, AgentStability};

use super::launch::{START, launch};
use super::link::CodexLink;
use super::settings::preview_settings;
use super::tool_kinds::TOOLS;
use super::{COMPACT, Codex};
use crate::adapter::{
    Adapter, Compact, CreationOptions, Credential, EVERYTHING, Lifetime, Program, Shared, SkillsDir, Steer,
    at_once,
};
use crate::launch::Install;

pub const ADAPTER: Adapter = Adapter {
    id: "codex",
    protocol: "codex",
    stability: AgentStability::Verified,
    lifetime: Lifetime::Shared(|| Shared { link: Box::new(CodexLink::default()), serving: None }),
    program: Program::Installed(&START),
    launch,
    prepare: None,
    translator: || Box::new(Codex::new()),
    capabilities: AgentCapabilities { mcp_sse: false, ..EVERYTHING },
    preview_settings,
    steer: Steer::Native,
    compact: Compact::Prompt(COMPACT),
    history: None,
    resumable_from: at_once,
    tools: TOOLS,
    install: INSTALL,
    credentials: CREDENTIALS,
    skills: SkillsDir::Own,
    takes: CreationOptions { system_prompt: true, ..CreationOptions::NONE },
};

pub(crate) const INSTALL: Install = Install::Npm("@openai/codex");

pub(crate) const CREDENTIALS: &[Credential] = &[
    Credential::Env("OPENAI_API_KEY"),
    Credential::Env("CODEX_API_KEY"),
    Credential::Env("CODEX_ACCESS_TOKEN"),
    Credential::File("~/.codex/auth.json"),
    Credential::FileBelow { variable: "CODEX_HOME", path: "auth.json" },
];

/// For programs that start Codex themselves.
pub(crate) const SKILLS: SkillsDir = SkillsDir::Project(".agents/skills");

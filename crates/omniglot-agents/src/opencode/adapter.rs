//! OpenCode as a value.

use omniglot_schema::AgentStability;

use super::launch::{SERVING, START, launch};
use super::link::OpenCodeLink;
use super::settings::preview_settings;
use super::tool_kinds::TOOLS;
use super::{COMPACT, OpenCode};
use crate::adapter::{
    Adapter, Compact, CreationOptions, Credential, EVERYTHING, Lifetime, Program, Shared, SkillsDir, Steer,
    at_once,
};
use crate::launch::Install;

pub const ADAPTER: Adapter = Adapter {
    id: "opencode",
    protocol: "opencode",
    stability: AgentStability::Verified,
    lifetime: Lifetime::Shared(|| Shared { link: Box::new(OpenCodeLink::default()), serving: Some(SERVING) }),
    program: Program::Installed(&START),
    launch,
    prepare: None,
    translator: || Box::new(OpenCode::new()),
    capabilities: EVERYTHING,
    preview_settings,
    steer: Steer::Native,
    compact: Compact::Prompt(COMPACT),
    history: None,
    resumable_from: at_once,
    tools: TOOLS,
    install: Install::Npm("opencode-ai"),
    credentials: CREDENTIALS,
    skills: SkillsDir::Own,
    takes: CreationOptions::NONE,
};

/// Its configuration may hold the keys of its providers, so it counts, too.
const CREDENTIALS: &[Credential] = &[
    Credential::Env("OPENCODE_API_KEY"),
    Credential::Env("OPENCODE_AUTH_CONTENT"),
    Credential::Env("ANTHROPIC_API_KEY"),
    Credential::Env("OPENAI_API_KEY"),
    Credential::Env("GEMINI_API_KEY"),
    Credential::Env("OPENROUTER_API_KEY"),
    Credential::Env("GITHUB_TOKEN"),
    Credential::Env("OPENCODE_CONFIG_CONTENT"),
    Credential::Env("OPENCODE_CONFIG"),
    Credential::File("~/.config/opencode/opencode.json"),
    Credential::File("~/.config/opencode/opencode.jsonc"),
    Credential::FileBelow { variable: "XDG_CONFIG_HOME", path: "opencode/opencode.json" },
    Credential::FileBelow { variable: "XDG_CONFIG_HOME", path: "opencode/opencode.jsonc" },
    Credential::File("~/.local/share/opencode/auth.json"),
    Credential::FileBelow { variable: "XDG_DATA_HOME", path: "opencode/auth.json" },
    // Its own provider has models that are free.
    Credential::NotNeeded,
];

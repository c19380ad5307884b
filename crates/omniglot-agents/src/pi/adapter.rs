//! Pi as a value.

use omniglot_schema::{AgentCapabilities, AgentStability};

use super::launch::{START, launch};
use super::settings::preview_settings;
use super::tool_kinds::TOOLS;
use super::{COMPACT, Pi};
use crate::adapter::{
    Adapter, Compact, CreationOptions, Credential, EVERYTHING, Lifetime, Program, SkillsDir, Steer, at_once,
};
use crate::launch::Install;

pub const ADAPTER: Adapter = Adapter {
    id: "pi",
    protocol: "pi",
    stability: AgentStability::Verified,
    lifetime: Lifetime::Session,
    program: Program::Installed(&START),
    launch,
    prepare: None,
    translator: || Box::new(Pi::new()),
    capabilities: AgentCapabilities { plan_mode: false, mcp_sse: false, ..EVERYTHING },
    preview_settings,
    steer: Steer::Native,
    compact: Compact::Prompt(COMPACT),
    history: None,
    resumable_from: at_once,
    tools: TOOLS,
    install: Install::NpmRenamed {
        package: "@earendil-works/pi-coding-agent",
        since: "0.74.0",
        before: "@mariozechner/pi-coding-agent",
    },
    // Any provider will do; a key may also stand in models.json.
    credentials: &[
        Credential::Env("ANTHROPIC_API_KEY"),
        Credential::Env("OPENAI_API_KEY"),
        Credential::Env("GEMINI_API_KEY"),
        Credential::Env("OPENROUTER_API_KEY"),
        Credential::File("~/.pi/agent/auth.json"),
        Credential::File("~/.pi/agent/models.json"),
        Credential::FileBelow { variable: "PI_CODING_AGENT_DIR", path: "auth.json" },
        Credential::FileBelow { variable: "PI_CODING_AGENT_DIR", path: "models.json" },
    ],
    skills: SkillsDir::Own,
    takes: CreationOptions { system_prompt: true, ..CreationOptions::NONE },
};

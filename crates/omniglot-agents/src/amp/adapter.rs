//! Amp as a value.

use omniglot_schema::{AgentCapabilities, AgentStability};

use super::Amp;
use super::launch::{START, launch, prepare};
use super::settings::preview_settings;
use super::tool_kinds::TOOLS;
use crate::adapter::{
    Adapter, Compact, CreationOptions, Credential, EVERYTHING, Lifetime, Program, SkillsDir, Steer, at_once,
};
use crate::launch::Install;

pub const ADAPTER: Adapter = Adapter {
    id: "amp",
    protocol: "amp",
    stability: AgentStability::Verified,
    lifetime: Lifetime::Turn,
    program: Program::Installed(&START),
    launch,
    prepare: Some(prepare),
    translator: || Box::new(Amp::new()),
    capabilities: AgentCapabilities {
        questions: false,
        plan_mode: false,
        streaming_deltas: false,
        item_started: false,
        ..EVERYTHING
    },
    preview_settings,
    steer: Steer::Queued,
    // Its server compacts by itself.
    compact: Compact::Command(|_| None),
    history: None,
    resumable_from: at_once,
    tools: TOOLS,
    install: Install::Npm("@ampcode/cli"),
    credentials: &[
        Credential::Env("AMP_API_KEY"),
        Credential::File("~/.local/share/amp/secrets.json"),
        Credential::FileBelow { variable: "XDG_DATA_HOME", path: "amp/secrets.json" },
    ],
    skills: SkillsDir::Own,
    takes: CreationOptions::NONE,
};

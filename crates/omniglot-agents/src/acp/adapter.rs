//! ACP agents as values: the built-in one, one of which nothing is known, and those that have quirks.

use omniglot_schema::{AgentCapabilities, AgentStability};

use super::{Acp, compact_prompt, preview_settings};
use crate::acp::quirks::NONE;
use crate::adapter::{
    Adapter, Compact, EVERYTHING, Lifetime, Program, SkillsDir, Steer, at_once, same_command,
};
use crate::launch::Install;

/// The `protocol` of an agent in the configuration.
pub const PROTOCOL: &str = "acp";

/// Which modes an agent has, only the agent itself can tell.
pub(crate) const CAPABILITIES: AgentCapabilities = AgentCapabilities { plan_mode: false, ..EVERYTHING };

/// An agent that is taken at its word: its handshake may still show quirks that are known.
pub const PLAIN: Adapter = Adapter {
    id: PROTOCOL,
    protocol: PROTOCOL,
    stability: AgentStability::Unverified,
    lifetime: Lifetime::Session,
    program: Program::Own,
    launch: same_command,
    translator: || Box::new(Acp::new()),
    capabilities: CAPABILITIES,
    preview_settings: |state, requested| preview_settings(state, requested, &NONE),
    steer: Steer::Queued,
    compact: Compact::Command(compact_prompt),
    history: None,
    resumable_from: at_once,
    tools: &[],
    install: Install::Unknown,
    credentials: &[],
    skills: SkillsDir::None,
};

/// The built-in agent.
pub const MOCK: Adapter = Adapter { id: "mock", stability: AgentStability::Verified, ..PLAIN };

/// An agent with recorded quirks, as a value; a function cannot be made from data, so this is a macro.
macro_rules! with_quirks {
    ($quirks:expr) => {
        $crate::adapter::Adapter {
            id: $quirks.name,
            stability: omniglot_schema::AgentStability::Verified,
            program: $crate::adapter::Program::Installed(&$quirks.start),
            translator: || Box::new($crate::acp::Acp::with(Some(&$quirks))),
            preview_settings: |state, requested| $crate::acp::preview_settings(state, requested, &$quirks),
            resumable_from: |created| $quirks.resumable_from(created),
            tools: $quirks.tools,
            ..$crate::acp::PLAIN
        }
    };
}
pub(crate) use with_quirks;

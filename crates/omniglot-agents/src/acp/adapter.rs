//! ACP agents as values: the built-in one, one of which nothing is known, and those that have quirks.

use omniglot_schema::{AgentCapabilities, AgentStability};

use super::{Acp, compact_prompt, preview_settings};
use crate::acp::quirks::{NONE, Quirks};
use crate::adapter::{
    Adapter, Compact, CreationOptions, EVERYTHING, Lifetime, Program, SkillsDir, Steer, all, at_once,
    same_command,
};
use crate::launch::Install;

/// The `protocol` of an agent in the configuration.
pub const PROTOCOL: &str = "acp";

/// Which modes an agent has, only the agent itself can tell.
pub(crate) const VERIFIED: AgentCapabilities = AgentCapabilities { plan_mode: false, ..EVERYTHING };

/// Every agent takes text and links to files, and answers in pieces; that is the protocol. More is not known of one
/// that nobody has tested.
pub(crate) const UNVERIFIED: AgentCapabilities = AgentCapabilities {
    text_messages: true,
    file_attachments: true,
    streaming_deltas: true,
    item_started: true,
    error_events: true,
    ..all(false)
};

/// An agent that is taken at its word: its handshake may still show quirks that are known.
pub const PLAIN: Adapter = Adapter {
    id: PROTOCOL,
    protocol: PROTOCOL,
    stability: AgentStability::Unverified,
    lifetime: Lifetime::Session,
    program: Program::Own,
    launch: same_command,
    prepare: None,
    translator: || Box::new(Acp::new()),
    capabilities: UNVERIFIED,
    preview_settings: |state, requested| preview_settings(state, requested, &NONE),
    steer: Steer::Queued,
    compact: Compact::Command(compact_prompt),
    history: None,
    resumable_from: at_once,
    tools: &[],
    install: Install::Unknown,
    credentials: &[],
    skills: SkillsDir::None,
    takes: CreationOptions::NONE,
};

/// An agent with recorded quirks, as a value; a function cannot be made from data, so this is a macro.
macro_rules! with_quirks {
    ($quirks:expr) => {
        $crate::adapter::Adapter {
            id: $quirks.name,
            stability: omniglot_schema::AgentStability::Verified,
            program: $crate::adapter::Program::Installed(&$quirks.start),
            capabilities: $quirks.capabilities,
            translator: || Box::new($crate::acp::Acp::with(Some(&$quirks))),
            preview_settings: |state, requested| $crate::acp::preview_settings(state, requested, &$quirks),
            resumable_from: |created| $quirks.resumable_from(created),
            tools: $quirks.tools,
            ..$crate::acp::PLAIN
        }
    };
}
pub(crate) use with_quirks;

/// The built-in agent keeps to the protocol.
const MOCK_QUIRKS: Quirks =
    Quirks { name: "mock", capabilities: AgentCapabilities { mcp_sse: false, ..VERIFIED }, ..NONE };
pub const MOCK: Adapter = Adapter {
    program: Program::Own,
    skills: SkillsDir::Project(".mock/skills"),
    ..with_quirks!(MOCK_QUIRKS)
};

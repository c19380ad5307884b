//! The agents that exist without configuration, and the adapter for each protocol.
//!
//! One line per agent; the runtime and the contract suite (`tests/contract.rs`) read it. Whether a program is
//! installed is left to the runtime.

use omniglot_schema::{AgentCapabilities, CommandInfo, SessionState};
use serde::{Deserialize, Serialize};

use crate::acp::{self, Acp};
use crate::contract::{Foreseen, Open, Refusal, Translator, Wish};
use crate::launch::LaunchSpec;

/// How an agent is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// The Agent Client Protocol over stdio.
    Acp,
}

impl Protocol {
    pub const ALL: &[Self] = &[Self::Acp];
}

/// What starts an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Omniglot's own program, with [`acp::mock`]'s arguments.
    Own,
}

/// An agent that needs no configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentEntry {
    pub id: &'static str,
    pub protocol: Protocol,
    pub program: Program,
}

pub const AGENTS: &[AgentEntry] =
    &[AgentEntry { id: "mock", protocol: Protocol::Acp, program: Program::Own }];

/// The command that starts an agent for this session: `base`, and what its protocol says on the command line.
pub fn launch(protocol: Protocol, base: &LaunchSpec, _open: &Open) -> LaunchSpec {
    match protocol {
        Protocol::Acp => base.clone(),
    }
}

/// A fresh adapter for one session.
pub fn translator(protocol: Protocol) -> Box<dyn Translator> {
    match protocol {
        Protocol::Acp => Box::new(Acp::new()),
    }
}

pub fn capabilities(protocol: Protocol) -> AgentCapabilities {
    match protocol {
        Protocol::Acp => acp::capabilities(),
    }
}

/// What a wish comes to for a session in this state, without asking its agent.
pub fn foresee(protocol: Protocol, state: &SessionState, wish: &Wish) -> Result<Foreseen, Refusal> {
    match protocol {
        Protocol::Acp => acp::foresee(state, wish),
    }
}

/// The prompt that makes an agent with these commands compact its context, if one does.
pub fn compact_prompt(protocol: Protocol, commands: &[CommandInfo]) -> Option<String> {
    match protocol {
        Protocol::Acp => acp::compact_prompt(commands),
    }
}

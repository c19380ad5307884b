//! The agents that exist without configuration, and the adapter for each protocol.
//!
//! One line per agent; the runtime and the contract suite (`tests/contract.rs`) read it. Whether a program is
//! installed is left to the runtime.

use jiff::Timestamp;
use omniglot_schema::{CommandInfo, SessionState};
use serde::{Deserialize, Serialize};

use crate::acp::quirks::{self, Quirks};
use crate::acp::{self, Acp};
pub use crate::caps::capabilities;
use crate::claude::{self, Claude};
use crate::codex::{self, Codex, CodexLink};
use crate::contract::{Link, Open, Refusal, SettingsPreview, SettingsRequest, Translator};
use crate::history::History;
use crate::http::Serving;
use crate::launch::{LaunchSpec, Start};
use crate::opencode::{self, OpenCode, OpenCodeLink};

/// How an agent is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// The Agent Client Protocol over stdio.
    Acp,
    /// Claude Code's own stream-json over stdio.
    Claude,
    /// `codex app-server`: JSON-RPC over the stdio of one server for all sessions.
    Codex,
    /// `opencode serve`: HTTP and event streams of one server for all sessions.
    OpenCode,
}

impl Protocol {
    pub const ALL: &[Self] = &[Self::Acp, Self::Claude, Self::Codex, Self::OpenCode];
}

/// What starts an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Omniglot's own program, with [`acp::mock`]'s arguments.
    Own,
    /// A program that somebody installs.
    Installed(&'static Start),
}

/// An agent that needs no configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentEntry {
    pub id: &'static str,
    pub protocol: Protocol,
    pub program: Program,
    /// The set of quirks that it has; see [`quirk_names`].
    pub quirks: Option<&'static str>,
    /// False when its command line was only read about.
    pub verified: bool,
}

pub const AGENTS: &[AgentEntry] = &[
    AgentEntry { id: "mock", protocol: Protocol::Acp, program: Program::Own, quirks: None, verified: true },
    AgentEntry {
        id: "claude",
        protocol: Protocol::Claude,
        program: Program::Installed(&claude::START),
        quirks: None,
        verified: true,
    },
    AgentEntry {
        id: "codex",
        protocol: Protocol::Codex,
        program: Program::Installed(&codex::START),
        quirks: None,
        verified: true,
    },
    AgentEntry {
        id: "opencode",
        protocol: Protocol::OpenCode,
        program: Program::Installed(&opencode::START),
        quirks: None,
        verified: true,
    },
    recorded(&quirks::GEMINI),
    recorded(&quirks::QWEN),
    recorded(&quirks::COPILOT),
    recorded(&quirks::CLAUDE_ACP),
    recorded(&quirks::CODEX_ACP),
    unrecorded("goose", &acp::launch::GOOSE),
    unrecorded("cursor", &acp::launch::CURSOR),
    unrecorded("cline", &acp::launch::CLINE),
    unrecorded("kimi", &acp::launch::KIMI),
];

/// An ACP agent that has a file of quirks.
const fn recorded(quirks: &'static Quirks) -> AgentEntry {
    AgentEntry {
        id: quirks.name,
        protocol: Protocol::Acp,
        program: Program::Installed(&quirks.start),
        quirks: Some(quirks.name),
        verified: true,
    }
}

/// An ACP agent that is taken at its word.
const fn unrecorded(id: &'static str, start: &'static Start) -> AgentEntry {
    AgentEntry {
        id,
        protocol: Protocol::Acp,
        program: Program::Installed(start),
        quirks: None,
        verified: false,
    }
}

/// The agent of this name, if it needs no configuration.
pub fn agent(id: &str) -> Option<&'static AgentEntry> {
    AGENTS.iter().find(|agent| agent.id == id)
}

impl AgentEntry {
    /// How it is started, if it is a program that somebody installs.
    pub fn start(&self) -> Option<&'static Start> {
        match self.program {
            Program::Own => None,
            Program::Installed(start) => Some(start),
        }
    }
}

/// The sets of quirks that a configuration may name.
pub fn quirk_names() -> impl Iterator<Item = &'static str> {
    quirks::ALL.iter().map(|quirks| quirks.name)
}

/// When a session that began at `created` may be continued; `None` for at once.
pub fn resumable_from(quirks: Option<&str>, created: Timestamp) -> Option<Timestamp> {
    set_of(quirks)?.resumable_from(created)
}

/// How the agent that has these quirks is started.
pub fn start_of(quirks: Option<&str>) -> Option<&'static Start> {
    set_of(quirks).map(|quirks| &quirks.start)
}

fn set_of(quirks: Option<&str>) -> Option<&'static Quirks> {
    quirks.and_then(Quirks::named)
}

/// The command that starts an agent for this session: `base`, and what its protocol says on the command line.
pub fn launch(protocol: Protocol, base: &LaunchSpec, open: &Open) -> LaunchSpec {
    match protocol {
        Protocol::Acp | Protocol::Codex => base.clone(),
        Protocol::Claude => claude::launch(base, open),
        Protocol::OpenCode => opencode::launch(base, open),
    }
}

/// The server that all sessions of a protocol share.
pub struct Shared {
    /// The fresh link of a connection to it.
    pub link: Box<dyn Link>,
    /// For one that speaks HTTP; others speak on their stdio.
    pub serving: Option<Serving>,
}

/// For a protocol whose sessions share one process: how they do.
pub fn shared(protocol: Protocol) -> Option<Shared> {
    match protocol {
        Protocol::Acp | Protocol::Claude => None,
        Protocol::Codex => Some(Shared { link: Box::new(CodexLink::default()), serving: None }),
        Protocol::OpenCode => {
            let link = Box::new(OpenCodeLink::default());
            Some(Shared { link, serving: Some(opencode::SERVING) })
        }
    }
}

/// A fresh adapter for one session with an agent that has these quirks.
pub fn translator(protocol: Protocol, quirks: Option<&str>) -> Box<dyn Translator> {
    match protocol {
        Protocol::Acp => Box::new(Acp::with(set_of(quirks))),
        Protocol::Claude => Box::new(Claude::new()),
        Protocol::Codex => Box::new(Codex::new()),
        Protocol::OpenCode => Box::new(OpenCode::new()),
    }
}

/// How an agent's own files of a session are read, where that is known.
pub fn history(protocol: Protocol) -> Option<History> {
    match protocol {
        Protocol::Claude => Some(claude::HISTORY),
        Protocol::Acp | Protocol::Codex | Protocol::OpenCode => None,
    }
}

/// What a settings request comes to for a session in this state, without asking its agent.
pub fn preview_settings(
    protocol: Protocol,
    quirks: Option<&str>,
    state: &SessionState,
    requested: &SettingsRequest,
) -> Result<SettingsPreview, Refusal> {
    match protocol {
        Protocol::Acp => acp::preview_settings(state, requested, set_of(quirks).unwrap_or_default()),
        Protocol::Claude => claude::preview_settings(state, requested),
        Protocol::Codex => codex::preview_settings(state, requested),
        Protocol::OpenCode => opencode::preview_settings(state, requested),
    }
}

/// Whether a prompt that is sent while a turn runs becomes part of that turn.
pub fn can_steer(protocol: Protocol) -> bool {
    match protocol {
        Protocol::Acp | Protocol::Claude => false,
        Protocol::Codex | Protocol::OpenCode => true,
    }
}

/// The prompt that makes an agent with these commands compact its context, if one does.
pub fn compact_prompt(protocol: Protocol, commands: &[CommandInfo]) -> Option<String> {
    match protocol {
        Protocol::Acp => acp::compact_prompt(commands),
        Protocol::Claude => Some(claude::COMPACT.to_owned()),
        Protocol::Codex => Some(codex::COMPACT.to_owned()),
        Protocol::OpenCode => Some(opencode::COMPACT.to_owned()),
    }
}

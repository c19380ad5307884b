//! An agent as a value: everything that the daemon has to know of it before it runs.
//!
//! Each agent's folder has one constant of this type, and the registry lists them. Whoever needs to know
//! something of an agent reads a field here; nobody matches on which agent it is.

use jiff::Timestamp;
use omniglot_schema::{AgentCapabilities, AgentStability, CommandInfo, SessionState, ToolKind};

use crate::contract::{Link, Open, Refusal, SettingsPreview, SettingsRequest, Translator};
use crate::history::History;
use crate::http::Serving;
use crate::launch::{Install, LaunchSpec, Start};
use crate::prepare::Prepare;

/// How one agent is started, spoken to and described.
#[derive(Debug, Clone, Copy)]
pub struct Adapter {
    pub id: &'static str,
    /// The `protocol` by which a configuration names an agent like this one.
    pub protocol: &'static str,
    pub stability: AgentStability,
    pub lifetime: Lifetime,
    pub program: Program,
    /// Makes the command for one session of the base command.
    pub launch: fn(&LaunchSpec, &Open) -> LaunchSpec,
    /// Prepares the files of a process, for an agent that needs some.
    pub prepare: Option<Prepare>,
    /// Makes the translator of one session.
    pub translator: fn() -> Box<dyn Translator>,
    /// Without `shared_process` and `system_prompt`, which other fields tell; read them by [`Adapter::capabilities()`].
    pub capabilities: AgentCapabilities,
    /// Returns what requested settings come to for a session in this state, without asking the agent.
    pub preview_settings: fn(&SessionState, &SettingsRequest) -> Result<SettingsPreview, Refusal>,
    pub steer: Steer,
    pub compact: Compact,
    /// Reads the files in which the agent itself keeps its sessions, where they are known.
    pub history: Option<History>,
    /// Returns when a session that was created then may be resumed; `None` for at once.
    pub resumable_from: fn(Timestamp) -> Option<Timestamp>,
    pub tools: ToolTable,
    pub install: Install,
    /// The places where the agent finds its credentials, as far as they are known; one of them is enough.
    pub credentials: &'static [Credential],
    pub skills: SkillsDir,
    pub takes: CreationOptions,
}

/// The settings that an agent takes when a session is created, and never later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreationOptions {
    /// Instructions of the session's own, beside and instead of the agent's.
    pub system_prompt: bool,
    /// A list of tools that are used without asking.
    pub allowed_tools: bool,
    /// A limit of the model's answers in one turn.
    pub max_turns: bool,
}

impl CreationOptions {
    pub const NONE: Self = Self { system_prompt: false, allowed_tools: false, max_turns: false };
}

/// The names of an agent's own tools, by kind.
pub type ToolTable = &'static [(ToolKind, &'static [&'static str])];

/// Returns the kind of a tool, if the table has its name.
pub(crate) fn tool_kind(tools: ToolTable, name: &str) -> Option<ToolKind> {
    tools.iter().find(|(_, names)| names.contains(&name)).map(|(kind, _)| *kind)
}

/// A place where an agent finds its credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// A variable.
    Env(&'static str),
    /// A file; `~` is the agent's HOME.
    File(&'static str),
    /// A file below the directory that a variable names.
    FileBelow { variable: &'static str, path: &'static str },
    /// None: the agent has models that need no login.
    NotNeeded,
}

/// The directory from which an agent reads skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillsDir {
    /// The one that the adapter names to the agent, see [`Open::skills`].
    Own,
    /// Below the directory of the session, and nowhere else.
    Project(&'static str),
    /// It has none, or nobody knows which.
    None,
}

/// How long a process of the agent lives.
#[derive(Debug, Clone, Copy)]
pub enum Lifetime {
    /// One process for each session, for as long as the session is in use.
    Session,
    /// One process for each turn; its exit ends the turn and not the session (T3).
    Turn,
    /// One server for all sessions.
    Shared(fn() -> Shared),
}

/// The connection of a session to a server that others share.
pub struct Shared {
    /// The fresh link of a connection to the server.
    pub link: Box<dyn Link>,
    /// For a server that speaks HTTP; others speak on their stdio.
    pub serving: Option<Serving>,
}

/// The program that starts an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Omniglot's own program, with [`acp::mock`](crate::acp::mock)'s arguments.
    Own,
    /// A program that somebody installs.
    Installed(&'static Start),
}

/// How a prompt reaches an agent while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steer {
    /// The agent takes it into the running turn.
    Native,
    /// It waits for the end of the turn.
    Queued,
}

/// How an agent is made to compact its context.
#[derive(Debug, Clone, Copy)]
pub enum Compact {
    /// By this prompt.
    Prompt(&'static str),
    /// By one of the commands that it lists, if any does.
    Command(fn(&[CommandInfo]) -> Option<String>),
}

impl Compact {
    /// Returns the prompt that compacts the context of an agent with these commands.
    pub fn prompt(self, commands: &[CommandInfo]) -> Option<String> {
        match self {
            Self::Prompt(prompt) => Some(prompt.to_owned()),
            Self::Command(find) => find(commands),
        }
    }
}

impl Adapter {
    /// Returns the capabilities that the agent has before its handshake tells more.
    pub fn capabilities(&self) -> AgentCapabilities {
        AgentCapabilities {
            shared_process: matches!(self.lifetime, Lifetime::Shared(_)),
            system_prompt: self.takes.system_prompt,
            ..self.capabilities
        }
    }

    /// Returns how the agent is started, if it is a program that somebody installs.
    pub fn start(&self) -> Option<&'static Start> {
        match self.program {
            Program::Own => None,
            Program::Installed(start) => Some(start),
        }
    }

    /// Returns a fresh connection to the server of this agent, if its sessions share one.
    pub fn shared(&self) -> Option<Shared> {
        match self.lifetime {
            Lifetime::Session | Lifetime::Turn => None,
            Lifetime::Shared(connect) => Some(connect()),
        }
    }
}

/// Leaves the command as it is: everything is said over the connection.
pub(crate) fn same_command(base: &LaunchSpec, _: &Open) -> LaunchSpec {
    base.clone()
}

/// Lets a session be resumed at any time.
pub(crate) fn at_once(_: Timestamp) -> Option<Timestamp> {
    None
}

/// Every capability but a shared process and instructions of a session's own.
pub(crate) const EVERYTHING: AgentCapabilities = all(true);

/// Returns all capabilities alike, but for those that other fields of an [`Adapter`] tell.
pub(crate) const fn all(can: bool) -> AgentCapabilities {
    AgentCapabilities {
        plan_mode: can,
        permissions: can,
        questions: can,
        tool_calls: can,
        tool_results: can,
        text_messages: can,
        images: can,
        file_attachments: can,
        session_lifecycle: can,
        error_events: can,
        reasoning: can,
        status: can,
        command_execution: can,
        file_changes: can,
        mcp_tools: can,
        mcp_http: can,
        mcp_sse: can,
        streaming_deltas: can,
        item_started: can,
        shared_process: false,
        system_prompt: false,
    }
}

//! The commands of the runtime to an agent, and what they carry.

use std::num::NonZeroU32;
use std::path::PathBuf;

use jiff::Timestamp;
use omniglot_schema::{
    Listed, McpServers, MessageAttachment, MessageId, PermissionReply, SessionState, StatePatch,
    SystemPrompt, Team, Todo,
};
use omniglot_timeline::RequestKey;

/// A request of the runtime to an agent.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "commands are few, and none is kept")]
pub enum Command {
    /// Shake hands and open a session; answered by [`Draft::SessionStarted`](super::Draft::SessionStarted) or
    /// [`CommandAnswer::Refused`](super::CommandAnswer::Refused).
    Open(Open),
    /// Change settings of the open session, between two turns; answered by
    /// [`CommandAnswer::Configured`](super::CommandAnswer::Configured). One at a time.
    Configure(SettingsRequest),
    Prompt(Prompt),
    /// A person has given the session this title. It is not answered.
    Rename {
        title: String,
    },
    /// Interrupt the running turn. The runtime has resolved the open requests before.
    Cancel,
    ReplyPermission {
        key: RequestKey,
        reply: PermissionReply,
        message: Option<String>,
    },
    ReplyQuestion {
        key: RequestKey,
        answers: Option<Vec<Vec<String>>>,
    },
    /// The request was resolved without an answer (cancel): tell the agent so.
    Withdraw {
        key: RequestKey,
    },
    /// Say good-bye to the session before its process ends; answered by
    /// [`CommandAnswer::Closed`](super::CommandAnswer::Closed).
    Close,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Open {
    pub cwd: PathBuf,
    /// The version of the agent that the session asks for.
    pub agent_version: Option<String>,
    /// A fresh id, for agents that let us choose the native id of a new session.
    pub new_id: String,
    /// The native session to continue.
    pub resume: Option<String>,
    /// Since when it exists, as far as that is known.
    pub resume_since: Option<Timestamp>,
    /// Continue a copy of it, and leave it as it is.
    pub fork: bool,
    /// The copy ends before this message.
    pub fork_before: Option<ForkPoint>,
    /// The title that a person gave to the session.
    pub title: Option<String>,
    pub requested: SettingsRequest,
    pub mcp: McpServers,
    /// Instructions that the session was created with.
    pub system_prompt: Option<SystemPrompt>,
    /// The tools that are used without asking.
    pub allowed_tools: Option<Vec<String>>,
    /// The most answers of the model in one turn.
    pub max_turns: Option<NonZeroU32>,
    /// The skills that the session was created with.
    pub skills: Option<SessionSkills>,
    pub carryover: Carryover,
    /// The agent will run as another user than root, from whom some agents take less.
    pub unprivileged: bool,
    /// No credentials of the agent were found; its handshake may know better.
    pub lacks_credentials: bool,
    /// A message waits for it. An agent with a process for each turn is not started without.
    pub has_prompt: bool,
}

/// A message of the user before which a copy of a session ends, by everything that an agent may know it by. There
/// is an earlier one: a copy without any message would be a new session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkPoint {
    pub message_id: Option<MessageId>,
    /// The agent's own id of the message.
    pub native_id: Option<String>,
    pub text: String,
    /// The number of the user's messages before it, those included that the agent never got.
    pub messages_before: usize,
    /// The number of those among them that begin with its text.
    pub same_before: usize,
}

/// The skills of a session, in a folder of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSkills {
    pub dir: PathBuf,
    pub names: Vec<String>,
}

impl SessionSkills {
    /// The folder below `dir` that has a folder for each skill.
    pub const FOLDER: &str = "skills";

    /// Returns the folder that has a folder for each skill.
    pub fn folder(&self) -> PathBuf {
        self.dir.join(Self::FOLDER)
    }
}

/// The totals of the session's earlier processes, for agents that report only changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Carryover {
    pub cost_usd: f64,
    pub todos: Vec<Todo>,
    pub team: Option<Team>,
}

impl Carryover {
    /// A list that was too long to stand in the state is not carried on.
    pub fn of(state: &SessionState) -> Self {
        let todos = state.todos.as_ref().and_then(Listed::inline).unwrap_or_default().to_vec();
        Self { cost_usd: state.cost_usd.unwrap_or(0.0), todos, team: state.team.clone() }
    }
}

/// Settings that a session should have; absent ones are the agent's choice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsRequest {
    pub model: Option<String>,
    /// The reasoning effort of the model.
    pub variant: Option<String>,
    pub agent_mode: Option<String>,
    pub permission_mode: Option<String>,
    /// The model may be one that the agent does not list.
    pub force_model: bool,
}

impl SettingsRequest {
    pub fn is_empty(&self) -> bool {
        let Self { model, variant, agent_mode, permission_mode, force_model: _ } = self;
        [model, variant, agent_mode, permission_mode].into_iter().all(Option::is_none)
    }

    /// This settings request, and where it says nothing, the other.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            force_model: if self.model.is_some() { self.force_model } else { other.force_model },
            model: self.model.or(other.model),
            variant: self.variant.or(other.variant),
            agent_mode: self.agent_mode.or(other.agent_mode),
            permission_mode: self.permission_mode.or(other.permission_mode),
        }
    }
}

/// The expected result of a settings request, as far as the agent's own lists tell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SettingsPreview {
    pub patch: StatePatch,
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    pub message_id: Option<MessageId>,
    pub text: String,
    pub attachments: Vec<Attachment>,
}

/// A file that comes with a message, as far as the runtime has read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub file: MessageAttachment,
    pub content: FileContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    Image {
        mime: String,
        bytes: Vec<u8>,
    },
    Text(String),
    /// Too long, or nothing that a prompt can carry: the agent gets its path.
    Unread,
}

impl FileContent {
    pub fn len(&self) -> usize {
        match self {
            Self::Image { bytes, .. } => bytes.len(),
            Self::Text(text) => text.len(),
            Self::Unread => 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<MessageAttachment> for Attachment {
    fn from(file: MessageAttachment) -> Self {
        Self { file, content: FileContent::Unread }
    }
}

//! The errors of a command to a session, and of a file to import; faces convert them to their own.

mod process;
mod snapshot;

pub use process::ProcessError;
pub(crate) use snapshot::{MAX_SNAPSHOT_FILES, some};
pub use snapshot::{RestoreError, SnapshotError};

use omniglot_agents::Refusal;
use omniglot_agents::launch::Install;
use omniglot_schema::{EXPORT_VERSION, ErrorType, ResolvedBy};
use omniglot_store::StoreError;
use serde::Serialize;

/// A refused command: nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    #[error("no session {0}")]
    SessionNotFound(String),
    #[error("session {0} exists already")]
    SessionExists(String),
    #[error("no agent {name}{meant} (known agents: {known})")]
    UnsupportedAgent { name: String, meant: String, known: String },
    #[error("{0}")]
    InvalidRequest(String),
    #[error("{message}")]
    ModeNotSupported { message: String, hint: Option<String> },
    #[error("the program of agent {agent} was not found: {program}")]
    AgentNotInstalled { agent: String, program: String, hint: Option<String> },
    #[error("version {version} of agent {agent} is not installed{}", found.as_ref().map(|found| format!("; what is there is {found}")).unwrap_or_default())]
    VersionNotInstalled { agent: String, version: String, found: Option<String>, hint: String },
    #[error("agent {agent} was not installed: {message}")]
    InstallFailed { agent: String, message: String, hint: Option<String> },
    #[error("agent {agent} did not start: {message}")]
    AgentFailed { agent: String, message: String, hint: Option<String> },
    #[error("agent {agent} cannot be used: {message}")]
    AgentUnavailable { agent: String, message: String, hint: Option<String> },
    #[error("agent {agent} did not answer its {what} within {seconds} s")]
    AgentSilent { agent: String, what: &'static str, seconds: u64, hint: Option<String> },
    #[error("no open request {0}")]
    RequestNotFound(String),
    #[error("request {id} was already resolved at {at}: `{status}` by `{}`", wire_word(by))]
    AlreadyResolved { id: String, status: String, by: ResolvedBy, at: jiff::Timestamp },
    #[error("the reply to request {id} was not taken: {why}")]
    ReplyNotTaken { id: String, why: String },
    #[error("no queued message {0}")]
    MessageNotFound(String),
    #[error("no turn {0}")]
    TurnNotFound(String),
    #[error("no blob {0}")]
    BlobNotFound(String),
    #[error("no token {0}")]
    TokenNotFound(String),
    #[error("no {what} {name:?} is configured for {directory}")]
    ConfigNotFound { what: &'static str, name: String, directory: String },
    #[error("there is a token with the name {0}")]
    TokenExists(String),
    #[error("{0}")]
    Forbidden(String),
    #[error("{0}")]
    TooLarge(String),
    #[error("a turn is running")]
    Busy,
    #[error("the session's worktree {path} has {what}")]
    WorktreeInUse { what: String, path: String, branch: String },
    #[error("session {other} works in the session's worktree {path}")]
    WorktreeShared { path: String, other: String },
    #[error(transparent)]
    Restore(#[from] RestoreError),
    #[error("the idempotency key was used with another body")]
    KeyReused,
    #[error("the queue is full: {0} messages wait")]
    QueueFull(usize),
    #[error("{0}")]
    Overloaded(String),
    #[error(
        "the log has not taken this within the {seconds} s of `limits.commit_seconds`{}",
        fault.as_ref().map(|fault| format!(": {fault}")).unwrap_or_default()
    )]
    CommitOverdue { seconds: u64, fault: Option<String> },
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error("{0}")]
    Gone(String),
    #[error("the daemon is shutting down")]
    Stopping,
    #[error("the event log")]
    Store(#[from] StoreError),
}

/// Why a file cannot be imported; nothing was changed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ImportError {
    #[error("this is no exported session: line 1 is not the header of one")]
    NoExport,
    #[error("the file has version {found}; this omniglot reads up to {EXPORT_VERSION}")]
    Newer { found: u32 },
    #[error("the file is damaged: line {line}: {why}")]
    Damaged { line: u64, why: String },
    #[error("the file ends in the middle, after line {line}")]
    Cut { line: u64 },
}

impl ImportError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoExport => "give a file that `omniglot sessions export` wrote",
            Self::Newer { .. } => "use the omniglot that wrote it, or a newer one",
            Self::Damaged { .. } | Self::Cut { .. } => "copy or export it again; nothing was imported",
        }
    }
}

impl RuntimeError {
    pub(crate) fn not_installed(agent: String, program: String, install: Install) -> Self {
        let own = match install {
            Install::Npm(_) | Install::NpmRenamed { .. } => {
                format!("run `omniglot agents install {agent}`, or ")
            }
            Install::Page(_) | Install::Unknown => String::new(),
        };
        let install = install.advice("it");
        let hint = format!("{own}{install}, or set `command` under [agents.{agent}] in omniglot.toml");
        Self::AgentNotInstalled { agent, program, hint: Some(hint) }
    }

    pub(crate) fn version_not_installed(
        agent: &str,
        version: &str,
        found: Option<String>,
        install: Install,
    ) -> Self {
        let hint = match install {
            Install::Npm(_) | Install::NpmRenamed { .. } => {
                format!("`omniglot agents install {agent}@{version}` installs it")
            }
            Install::Page(_) | Install::Unknown => {
                "leave `agentVersion` out: the daemon cannot install this agent".to_owned()
            }
        };
        Self::VersionNotInstalled { agent: agent.to_owned(), version: version.to_owned(), found, hint }
    }

    pub(crate) fn unsupported(message: String) -> Self {
        Self::ModeNotSupported { message, hint: None }
    }

    pub fn kind(&self) -> ErrorType {
        match self {
            Self::SessionNotFound(_) => ErrorType::SessionNotFound,
            Self::SessionExists(_) => ErrorType::SessionAlreadyExists,
            Self::UnsupportedAgent { .. } => ErrorType::UnsupportedAgent,
            Self::InvalidRequest(_) | Self::Import(_) => ErrorType::InvalidRequest,
            Self::ModeNotSupported { .. } => ErrorType::ModeNotSupported,
            Self::AgentNotInstalled { .. } | Self::VersionNotInstalled { .. } => ErrorType::AgentNotInstalled,
            Self::InstallFailed { .. } => ErrorType::InstallFailed,
            Self::AgentFailed { .. } => ErrorType::AgentProcessExited,
            Self::AgentUnavailable { .. } => ErrorType::AgentUnavailable,
            Self::AgentSilent { .. } => ErrorType::Timeout,
            Self::RequestNotFound(_)
            | Self::MessageNotFound(_)
            | Self::TurnNotFound(_)
            | Self::BlobNotFound(_)
            | Self::TokenNotFound(_)
            | Self::ConfigNotFound { .. } => ErrorType::NotFound,
            Self::Forbidden(_) => ErrorType::PermissionDenied,
            Self::TooLarge(_) => ErrorType::TooLarge,
            Self::AlreadyResolved { .. }
            | Self::ReplyNotTaken { .. }
            | Self::Busy
            | Self::WorktreeInUse { .. }
            | Self::WorktreeShared { .. }
            | Self::KeyReused
            | Self::TokenExists(_) => ErrorType::Conflict,
            Self::QueueFull(_) | Self::Overloaded(_) | Self::CommitOverdue { .. } | Self::Stopping => {
                ErrorType::Overloaded
            }
            Self::Gone(_) => ErrorType::Gone,
            Self::Process(error) => error.kind(),
            Self::Restore(RestoreError::NoTurn(_)) => ErrorType::NotFound,
            Self::Restore(_) => ErrorType::Conflict,
            Self::Store(_) => ErrorType::Internal,
        }
    }

    /// The same again, if it is about an agent that does not work.
    pub(crate) fn of_agent(&self) -> Option<Self> {
        match self {
            Self::AgentNotInstalled { agent, program, hint } => {
                let (agent, program, hint) = (agent.clone(), program.clone(), hint.clone());
                Some(Self::AgentNotInstalled { agent, program, hint })
            }
            Self::AgentFailed { agent, message, hint } => {
                let (agent, message, hint) = (agent.clone(), message.clone(), hint.clone());
                Some(Self::AgentFailed { agent, message, hint })
            }
            Self::AgentUnavailable { agent, message, hint } => {
                let (agent, message, hint) = (agent.clone(), message.clone(), hint.clone());
                Some(Self::AgentUnavailable { agent, message, hint })
            }
            Self::AgentSilent { agent, what, seconds, hint } => {
                let (agent, hint) = (agent.clone(), hint.clone());
                Some(Self::AgentSilent { agent, what, seconds: *seconds, hint })
            }
            _ => None,
        }
    }

    /// Returns the advice for the user.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::VersionNotInstalled { hint, .. } => Some(hint.clone()),
            Self::AgentNotInstalled { hint, .. }
            | Self::InstallFailed { hint, .. }
            | Self::AgentFailed { hint, .. }
            | Self::AgentUnavailable { hint, .. }
            | Self::AgentSilent { hint, .. }
            | Self::ModeNotSupported { hint, .. } => hint.clone(),
            Self::Import(error) => Some(error.hint().to_owned()),
            Self::Process(error) => error.hint().map(str::to_owned),
            Self::SessionExists(id) => Some(format!(
                "choose another id, or go on with that session: POST /v1/sessions/{id}/messages"
            )),
            Self::UnsupportedAgent { .. } => {
                Some("add others under [agents.NAME] in omniglot.toml; GET /v1/agents lists all".into())
            }
            Self::TokenExists(_) => Some("choose another name, or revoke that token first".into()),
            Self::KeyReused => Some("give every message an Idempotency-Key of its own".into()),
            Self::Busy => Some("cancel the turn first, or send a message with delivery `queue`".into()),
            Self::WorktreeInUse { branch, .. } => Some(format!(
                "commit and merge what is on branch {branch}, or delete the session with `force`, which loses it"
            )),
            Self::WorktreeShared { other, .. } => Some(format!(
                "delete session {other} first, or this one with `force`, which takes its directory away from it"
            )),
            Self::Restore(error) => error.hint().map(str::to_owned),
            Self::ReplyNotTaken { .. } => Some(
                "the session's events tell how the request is resolved; a message goes on with it".into(),
            ),
            Self::CommitOverdue { .. } => Some(
                "it takes effect as soon as the log can be written; look at the session before you repeat it"
                    .into(),
            ),
            Self::QueueFull(_) => Some("wait until the running turn has ended".into()),
            Self::Gone(_) => Some("read the session again from offset 0".into()),
            _ => None,
        }
    }
}

/// A setting that the agent does not take.
impl From<Refusal> for RuntimeError {
    fn from(Refusal { message, hint, .. }: Refusal) -> Self {
        // A message that lists the choices needs no advice to take one of them.
        let repeats =
            |hint: &String| hint.strip_prefix("use one of: ").is_some_and(|list| message.contains(list));
        let hint = hint.filter(|hint| !repeats(hint));
        Self::ModeNotSupported { message, hint }
    }
}

/// The word that clients know a value by.
pub(crate) fn wire_word(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use omniglot_schema::PermissionStatus;

    use super::*;

    #[test]
    fn a_resolution_is_told_in_the_words_of_the_wire() {
        let error = RuntimeError::AlreadyResolved {
            id: "perm_1".into(),
            status: wire_word(PermissionStatus::AcceptForSession),
            by: ResolvedBy::TurnEnd,
            at: jiff::Timestamp::UNIX_EPOCH,
        };
        assert_eq!(
            error.to_string(),
            "request perm_1 was already resolved at 1970-01-01T00:00:00Z: `accept_for_session` by `turn_end`"
        );
    }

    #[test]
    fn what_a_client_can_mend_has_a_hint() {
        let agent = RuntimeError::UnsupportedAgent {
            name: "mok".into(),
            meant: "; did you mean mock?".into(),
            known: "mock".into(),
        };
        assert_eq!(agent.to_string(), "no agent mok; did you mean mock? (known agents: mock)");
        for error in [RuntimeError::SessionExists("s".into()), agent, RuntimeError::KeyReused] {
            assert!(error.hint().is_some(), "{error}");
        }
    }
}

//! `omniglot.toml`: where the daemon listens, which agents it knows beside the registered ones, what it
//! keeps for how long, and its limits.
//!
//! Checks the file and names what is wrong with it by line and column; what an agent's command means,
//! and whether its program exists, is left to those who start it. `docs/CONFIG.md` describes every key.

mod fault;
mod file;
mod hooks;
mod listen;
mod units;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indexmap::IndexMap;
use omniglot_agents::Registry;
use omniglot_agents::nearest::did_you_mean;
use omniglot_schema::Rule;
use omniglot_timeline::Bounds;
use serde::Deserialize;

use fault::Fault;
use file::File;
pub use hooks::{HookConfig, HookEvents, HookFormat, HookSecret};
pub use listen::Listen;

/// The name of the agent that is part of this program; `[agents.mock]` replaces it.
pub const BUILT_IN_AGENT: &str = "mock";

/// The name of the configuration file within the data directory.
pub const FILE_NAME: &str = "omniglot.toml";

/// A checked configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    /// Where to listen, unless the command line says otherwise.
    pub listen: Option<Listen>,
    /// The certificate and key of a port that speaks TLS.
    pub tls: Option<TlsFiles>,
    /// The file that holds the token; an absolute path, or one relative to where the daemon is started.
    pub token_file: Option<PathBuf>,
    /// Names in `Host` that are let in; checked by those who know what can match.
    pub allow_hosts: Vec<Written>,
    /// Web origins that are let in; checked likewise.
    pub allow_origins: Vec<Written>,
    /// The address of the collector that gets traces; checked likewise.
    pub otel_endpoint: Option<Written>,
    pub default_agent: Option<String>,
    /// The daemon runs inside of a sandbox, so agents may be told that they can do as they like.
    pub sandbox: bool,
    /// No snapshots of sessions' directories are taken: `snapshots = false`.
    pub no_snapshots: bool,
    pub agents: IndexMap<String, AgentConfig>,
    pub files: Files,
    pub limits: Limits,
    pub retention: Retention,
    pub processes: Processes,
    /// The address by which people reach the daemon, without a slash at its end.
    pub public_url: Option<String>,
    pub hooks: Vec<HookConfig>,
    /// The file that all this was read from.
    pub file: Option<PathBuf>,
    /// The rules about calls of all sessions, checked.
    pub rules: Vec<Rule>,
}

/// The files of a daemon that speaks TLS, in PEM; absolute paths, or relative to where the daemon is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// The files that are served without a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// Absolute paths of directories; relative paths of clients are in the first.
    pub roots: Vec<PathBuf>,
}

/// A value whose meaning others must check, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub text: String,
    pub path: PathBuf,
    pub line: usize,
    pub column: usize,
}

/// How one agent is started and spoken to.
#[derive(Clone, PartialEq, Eq)]
pub struct AgentConfig {
    /// One of [`Registry::protocols`].
    pub protocol: String,
    /// Program and arguments: at least the program.
    pub command: Vec<String>,
    /// Added to the inherited environment.
    pub env: IndexMap<String, String>,
    /// The set of quirks that it has; without one, that of the registered agent of this name.
    pub quirks: Option<String>,
}

/// Bounds that protect the daemon; every one has a default.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The longest line that an agent may write.
    #[serde(deserialize_with = "units::memory")]
    pub max_line_bytes: usize,
    /// The longest text of one item: an answer, a thought, the input or output of a tool.
    #[serde(deserialize_with = "units::item")]
    pub max_item_bytes: usize,
    /// How many permissions and questions of one session may be open.
    pub open_requests: usize,
    /// How long an agent may take to answer its handshake.
    #[serde(deserialize_with = "units::positive")]
    pub handshake_seconds: u64,
    /// How long a silent agent may take to stop when its turn is cancelled, before it gets signals.
    pub cancel_seconds: u64,
    /// How long an agent may be silent within a turn, while nobody is asked anything; for ever when absent.
    #[serde(deserialize_with = "units::some_seconds")]
    pub silence_seconds: Option<u64>,
    /// How long a process may rest before it is ended; its session goes on with the next message.
    pub idle_seconds: u64,
    /// How long fetching a repository of skills may take.
    #[serde(deserialize_with = "units::positive")]
    pub skills_seconds: u64,
    /// How many processes may live at once before resting ones are ended, the longest unused first.
    pub live_agents: usize,
    /// How many agents may work at once; beyond it sessions and messages that begin a turn are refused.
    pub running_agents: usize,
    /// The size over which the database refuses to grow; unlimited when absent.
    #[serde(deserialize_with = "units::some_bytes")]
    pub database_bytes: Option<u64>,
    /// The largest `metadata` that a client may send with a message.
    #[serde(deserialize_with = "units::memory")]
    pub metadata_bytes: usize,
    /// How long the log may be at one write before the daemon counts as not ready.
    #[serde(deserialize_with = "units::positive")]
    pub writer_stall_seconds: u64,
    /// How many connections with a valid token may be open; as many as there are files for when absent.
    pub connections: Option<usize>,
    /// How many connections without one may be open.
    pub unauthenticated_connections: usize,
    /// How many ACP clients are remembered.
    pub acp_clients: usize,
    /// How long a command may wait until its effect is in the log.
    #[serde(deserialize_with = "units::positive")]
    pub commit_seconds: u64,
    /// How many calls of one hook may wait; the oldest become dead letters.
    #[serde(deserialize_with = "units::positive")]
    pub hook_queue: u64,
    /// How long a receiver of a hook may take to answer.
    #[serde(deserialize_with = "units::positive")]
    pub hook_seconds: u64,
    /// For how long a call is tried again before it is a dead letter.
    #[serde(deserialize_with = "units::positive")]
    pub hook_retry_hours: u64,
}

impl Limits {
    /// The bounds of what one session keeps.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds { item_bytes: self.max_item_bytes, open_requests: self.open_requests }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_line_bytes: 64 * 1024 * 1024,
            max_item_bytes: Bounds::default().item_bytes,
            open_requests: Bounds::default().open_requests,
            handshake_seconds: 60,
            cancel_seconds: 10,
            silence_seconds: None,
            idle_seconds: 600,
            skills_seconds: 60,
            live_agents: 16,
            running_agents: 64,
            database_bytes: None,
            metadata_bytes: 16 * 1024,
            writer_stall_seconds: 5,
            connections: None,
            unauthenticated_connections: 256,
            acp_clients: 1000,
            commit_seconds: 20,
            hook_queue: 10_000,
            hook_seconds: 15,
            hook_retry_hours: 24,
        }
    }
}

/// The retention limits; without any, everything is kept for ever.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    /// Native frames that are older go; their events stay.
    #[serde(rename = "raw_days", deserialize_with = "units::some_days")]
    pub raw_age: Option<Duration>,
    /// So much may all native frames take, compressed as they are; the oldest go first.
    #[serde(deserialize_with = "units::some_bytes")]
    pub raw_bytes: Option<u64>,
    /// Ended sessions whose last event is older go as a whole.
    #[serde(rename = "ended_days", deserialize_with = "units::some_days")]
    pub ended_age: Option<Duration>,
    /// So much may all ended sessions take; the longest unchanged go first.
    #[serde(deserialize_with = "units::some_bytes")]
    pub ended_bytes: Option<u64>,
    /// How often to look.
    #[serde(deserialize_with = "units::positive")]
    pub every_seconds: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { raw_age: None, raw_bytes: None, ended_age: None, ended_bytes: None, every_seconds: 600 }
    }
}

/// Processes that clients run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Processes {
    /// Whether clients with the scope `admin` may run any.
    pub enabled: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{}: no such file", path.display())]
    Missing { path: PathBuf },
    #[error("{}: cannot be read", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{}:{line}:{column}: {message}", path.display())]
    Invalid { path: PathBuf, line: usize, column: usize, message: String },
}

impl Config {
    /// Reads a file that must exist; `registry` has the agents and protocols that it may name.
    pub fn load(path: &Path, registry: &Registry) -> Result<Self, ConfigError> {
        match std::fs::read(path) {
            Ok(bytes) => {
                let file = Some(path.to_owned());
                Ok(Self { file, ..Self::parse_bytes(path, bytes, registry)? })
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                Err(ConfigError::Missing { path: path.into() })
            }
            Err(source) => Err(ConfigError::Unreadable { path: path.into(), source }),
        }
    }

    /// Reads a file that may be absent, which means the defaults.
    pub fn load_optional(path: &Path, registry: &Registry) -> Result<Self, ConfigError> {
        match Self::load(path, registry) {
            Err(ConfigError::Missing { .. }) => Ok(Self::default()),
            other => other,
        }
    }

    /// Checks `text`; `path` names it in the error, and what it names itself is relative to that.
    pub fn parse(path: &Path, text: &str, registry: &Registry) -> Result<Self, ConfigError> {
        let file = toml::from_str::<File>(text).map_err(Fault::from);
        file.and_then(|file| file.check(path, text, registry))
            .map_err(|fault| fault.at(path, text.as_bytes()))
    }

    /// The agent to use when nobody names one.
    pub fn default_agent(&self) -> &str {
        self.default_agent.as_deref().unwrap_or(BUILT_IN_AGENT)
    }

    /// Whether the default agent exists; if not, what to say behind the name of the key.
    pub fn check_default_agent(&self, registry: &Registry) -> Result<(), String> {
        let name = self.default_agent();
        if self.agents.contains_key(name) || registry.get(name).is_some() {
            return Ok(());
        }
        let mut known: Vec<&str> = registry.ids().collect();
        known.extend(self.agents.keys().map(String::as_str));
        let meant = did_you_mean(name, known.iter().copied());
        let known = known.join(", ");
        Err(format!(
            "names `{name}`, which does not exist{meant}; add [agents.{name}] or use one of: {known}"
        ))
    }

    fn parse_bytes(path: &Path, bytes: Vec<u8>, registry: &Registry) -> Result<Self, ConfigError> {
        match String::from_utf8(bytes) {
            Ok(text) => Self::parse(path, &text, registry),
            Err(error) => {
                let start = error.utf8_error().valid_up_to();
                let fault = Fault::new(start..start, "not UTF-8; save the file as UTF-8");
                Err(fault.at(path, error.as_bytes()))
            }
        }
    }
}

impl Written {
    /// Refuses the value at its place.
    pub fn refuse(&self, message: impl Into<String>) -> ConfigError {
        let Self { path, line, column, .. } = self;
        ConfigError::Invalid { path: path.clone(), line: *line, column: *column, message: message.into() }
    }
}

/// Values in `env` are often secrets, so only their names are shown.
impl fmt::Debug for AgentConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentConfig")
            .field("protocol", &self.protocol)
            .field("command", &self.command)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("quirks", &self.quirks)
            .finish()
    }
}

#[cfg(test)]
mod tests;

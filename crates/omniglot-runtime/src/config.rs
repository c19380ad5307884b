//! `omniglot.toml`: which agents exist beside the built-in one, and the daemon's limits.
//!
//! Checks the file and names what is wrong with it by line and column; what an agent's command means,
//! and whether its program exists, is left to those who start it.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
pub use omniglot_agents::registry::Protocol;
use serde::Deserialize;
use toml::Spanned;

/// The name of the agent that is part of this program; `[agents.mock]` replaces it.
pub const BUILT_IN_AGENT: &str = "mock";

/// The name of the configuration file within the data directory.
pub const FILE_NAME: &str = "omniglot.toml";

/// A checked configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    pub default_agent: Option<String>,
    pub agents: IndexMap<String, AgentConfig>,
    pub limits: Limits,
}

/// How one agent is started and spoken to.
#[derive(Clone, PartialEq, Eq)]
pub struct AgentConfig {
    pub protocol: Protocol,
    /// Program and arguments: at least the program.
    pub command: Vec<String>,
    /// Added to the inherited environment.
    pub env: IndexMap<String, String>,
}

/// Bounds that protect the daemon; every one has a default.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The longest line that an agent may write.
    pub max_line_bytes: usize,
    /// How long an agent may take to answer its handshake.
    pub handshake_seconds: u64,
    /// How long a silent agent may take to stop when its turn is cancelled, before it gets signals.
    pub cancel_seconds: u64,
    /// How long a process may rest before it is ended; its session goes on with the next message.
    pub idle_seconds: u64,
    /// How many processes may live at once before resting ones are ended, the longest unused first.
    pub live_agents: usize,
    /// The size over which the database refuses to grow; unlimited when absent.
    pub database_bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_line_bytes: 64 * 1024 * 1024,
            handshake_seconds: 60,
            cancel_seconds: 10,
            idle_seconds: 600,
            live_agents: 16,
            database_bytes: None,
        }
    }
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
    /// Reads a file that must exist.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        match std::fs::read(path) {
            Ok(bytes) => Self::parse_bytes(path, bytes),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                Err(ConfigError::Missing { path: path.into() })
            }
            Err(source) => Err(ConfigError::Unreadable { path: path.into(), source }),
        }
    }

    /// Reads a file that may be absent, which means the defaults.
    pub fn load_optional(path: &Path) -> Result<Self, ConfigError> {
        match Self::load(path) {
            Err(ConfigError::Missing { .. }) => Ok(Self::default()),
            other => other,
        }
    }

    /// Checks `text`; `path` only names it in the error.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let checked = toml::from_str::<File>(text).map_err(Fault::from).and_then(File::check);
        checked.map_err(|fault| fault.at(path, text.as_bytes()))
    }

    /// The agent to use when nobody names one.
    pub fn default_agent(&self) -> &str {
        self.default_agent.as_deref().unwrap_or(BUILT_IN_AGENT)
    }

    fn parse_bytes(path: &Path, bytes: Vec<u8>) -> Result<Self, ConfigError> {
        match String::from_utf8(bytes) {
            Ok(text) => Self::parse(path, &text),
            Err(error) => {
                let start = error.utf8_error().valid_up_to();
                let fault = Fault::new(start..start, "not UTF-8; save the file as UTF-8");
                Err(fault.at(path, error.as_bytes()))
            }
        }
    }
}

/// Values in `env` are often secrets, so only their names are shown.
impl fmt::Debug for AgentConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentConfig")
            .field("protocol", &self.protocol)
            .field("command", &self.command)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .finish()
    }
}

/// The file as it is written; the places of what needs a second look are kept.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    default_agent: Option<Spanned<String>>,
    #[serde(default)]
    agents: IndexMap<Spanned<String>, AgentTable>,
    limits: Option<Spanned<Limits>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentTable {
    protocol: Protocol,
    command: Spanned<Vec<String>>,
    #[serde(default)]
    env: IndexMap<Spanned<String>, Spanned<String>>,
}

impl File {
    fn check(self) -> Result<Config, Fault> {
        let agents = self.agents.into_iter().map(check_agent).collect::<Result<IndexMap<_, _>, _>>()?;
        if let Some(name) = &self.default_agent
            && name.get_ref() != BUILT_IN_AGENT
            && !agents.contains_key(name.get_ref())
        {
            let known: Vec<_> =
                std::iter::once(BUILT_IN_AGENT).chain(agents.keys().map(String::as_str)).collect();
            let message = format!(
                "default_agent names `{0}`, which does not exist; add [agents.{0}] or use one of: {1}",
                name.get_ref(),
                known.join(", ")
            );
            return Err(Fault::new(name.span(), message));
        }
        let default_agent = self.default_agent.map(Spanned::into_inner);
        Ok(Config {
            default_agent,
            agents,
            limits: self.limits.map(check_limits).transpose()?.unwrap_or_default(),
        })
    }
}

fn check_agent((name, table): (Spanned<String>, AgentTable)) -> Result<(String, AgentConfig), Fault> {
    if !is_agent_name(name.get_ref()) {
        let message = format!(
            "`{}` is no agent name; use lower-case letters, digits, `-` and `_`, beginning with a letter or digit",
            name.get_ref()
        );
        return Err(Fault::new(name.span(), message));
    }
    if table.command.get_ref().first().is_none_or(String::is_empty) {
        let message = "command names no program; write command = [\"program\", \"argument\", …]";
        return Err(Fault::new(table.command.span(), message));
    }
    if table.command.get_ref().iter().any(|word| word.contains('\0')) {
        return Err(Fault::new(table.command.span(), "the command contains a NUL, which no command can"));
    }
    let env = table.env.into_iter().map(check_variable).collect::<Result<_, _>>()?;
    let agent = AgentConfig { protocol: table.protocol, command: table.command.into_inner(), env };
    Ok((name.into_inner(), agent))
}

fn is_agent_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.starts_with(plain) && name.chars().all(|c| plain(c) || matches!(c, '-' | '_'))
}

fn check_variable((name, value): (Spanned<String>, Spanned<String>)) -> Result<(String, String), Fault> {
    if name.get_ref().is_empty() || name.get_ref().contains(['=', '\0']) {
        let message =
            format!("{:?} is no variable name; it may not be empty nor contain `=`", name.get_ref());
        return Err(Fault::new(name.span(), message));
    }
    if value.get_ref().contains('\0') {
        return Err(Fault::new(value.span(), "the value contains a NUL, which no environment can"));
    }
    Ok((name.into_inner(), value.into_inner()))
}

fn check_limits(limits: Spanned<Limits>) -> Result<Limits, Fault> {
    let zero = match limits.get_ref() {
        Limits { max_line_bytes: 0, .. } => "max_line_bytes",
        Limits { handshake_seconds: 0, .. } => "handshake_seconds",
        Limits { database_bytes: Some(0), .. } => "database_bytes",
        _ => return Ok(limits.into_inner()),
    };
    Err(Fault::new(limits.span(), format!("{zero} is 0, so nothing could work; raise it or leave it out")))
}

/// What is wrong, and where in the text, in bytes.
struct Fault {
    span: Range<usize>,
    message: String,
}

impl Fault {
    fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, message: message.into() }
    }

    fn at(self, path: &Path, text: &[u8]) -> ConfigError {
        let before = String::from_utf8_lossy(text.get(..self.span.start).unwrap_or(text));
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
        ConfigError::Invalid { path: path.into(), line, column, message: self.message }
    }
}

impl From<toml::de::Error> for Fault {
    fn from(error: toml::de::Error) -> Self {
        // Only the message: the full text repeats the source line, which may hold a secret.
        let message = without_value(error.message()).trim_end().replace('\n', "; ");
        Self::new(error.span().unwrap_or_default(), message)
    }
}

/// What was expected, where serde's message also quotes what was found: that may be a secret.
fn without_value(message: &str) -> &str {
    let quotes = ["invalid type: ", "invalid value: ", "unknown variant "];
    if !quotes.iter().any(|quote| message.starts_with(quote)) {
        return message;
    }
    // The last one: the value may hold these words, too.
    message.rfind("expected ").and_then(|at| message.get(at..)).unwrap_or("another value is expected")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(Path::new("omniglot.toml"), text).map_err(|e| e.to_string())
    }

    #[track_caller]
    fn refused(text: &str, place: &str, words: &str) {
        let message = parse(text).unwrap_err();
        assert!(message.starts_with(&format!("omniglot.toml:{place}: ")), "{message}");
        assert!(message.contains(words), "{message}");
    }

    #[test]
    fn a_whole_file_is_read() {
        let config = parse(
            "default_agent = \"goose\"\n\
             [agents.goose]\nprotocol = \"acp\"\ncommand = [\"goose\", \"acp\"]\nenv = { KEY = \"v\" }\n\
             [limits]\nhandshake_seconds = 5\n",
        )
        .unwrap();
        assert_eq!(config.default_agent(), "goose");
        assert_eq!(config.agents["goose"].command, ["goose", "acp"]);
        assert_eq!(config.agents["goose"].env["KEY"], "v");
        assert_eq!(config.limits, Limits { handshake_seconds: 5, ..Limits::default() });
    }

    #[test]
    fn an_empty_file_means_the_built_in_agent() {
        let config = parse("").unwrap();
        assert_eq!(config, Config::default());
        assert_eq!(config.default_agent(), "mock");
    }

    #[test]
    fn the_built_in_agent_can_be_replaced() {
        let config = parse("[agents.mock]\nprotocol = \"acp\"\ncommand = [\"x\"]\n").unwrap();
        assert_eq!(config.agents["mock"].command, ["x"]);
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_known_ones() {
        refused("default_agnet = \"mock\"\n", "1:1", "expected one of `default_agent`");
        refused("[agents.a]\nprotocol = \"acp\"\ncomand = [\"x\"]\n", "3:1", "`command`");
    }

    #[test]
    fn an_unknown_protocol_is_refused_with_the_known_ones() {
        refused("[agents.a]\nprotocol = \"http\"\ncommand = [\"x\"]\n", "2:12", "`acp`");
    }

    #[test]
    fn a_syntax_error_names_its_place() {
        refused("\ndefault_agent = \n", "2:17", "");
    }

    #[test]
    fn a_missing_command_names_its_table() {
        refused("[agents.a]\nprotocol = \"acp\"\n", "1:1", "missing field `command`");
    }

    #[test]
    fn an_empty_command_is_refused_with_the_fix() {
        refused("[agents.a]\nprotocol = \"acp\"\ncommand = []\n", "3:11", "write command = [");
        refused("[agents.a]\nprotocol = \"acp\"\ncommand = [\"\"]\n", "3:11", "write command = [");
    }

    #[test]
    fn a_bad_agent_name_is_refused_with_the_rule() {
        refused(
            "[agents.\"My Agent\"]\nprotocol = \"acp\"\ncommand = [\"x\"]\n",
            "1:9",
            "lower-case letters",
        );
        refused("[agents._x]\nprotocol = \"acp\"\ncommand = [\"x\"]\n", "1:9", "beginning with");
    }

    #[test]
    fn a_default_agent_must_exist() {
        refused("default_agent = \"goose\"\n", "1:17", "add [agents.goose] or use one of: mock");
    }

    #[test]
    fn a_limit_of_zero_is_refused() {
        refused("[limits]\nhandshake_seconds = 0\n", "1:1", "handshake_seconds is 0");
    }

    #[test]
    fn a_file_that_is_not_utf8_is_refused_at_the_byte() {
        let error = Config::parse_bytes(Path::new("c"), b"# a\nx = \"\xff\"".to_vec()).unwrap_err();
        assert!(error.to_string().starts_with("c:2:6: not UTF-8"), "{error}");
    }

    #[test]
    fn a_missing_file_is_an_error_only_when_it_was_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        assert!(matches!(Config::load(&path), Err(ConfigError::Missing { .. })));
        assert_eq!(Config::load_optional(&path).unwrap(), Config::default());
    }

    #[test]
    fn no_value_is_in_an_error() {
        let agent = "[agents.a]\nprotocol = \"acp\"\ncommand = [\"x\"]\n";
        refused(&format!("{agent}env = \"hush, expected hush\"\n"), "4:7", "4:7: expected a map");
        for wrong in [
            "env = \"hush\"",
            "env = [\"hush\"]",
            "env = { KEY = [\"hush\"] }",
            "env = { KEY = hush }",
            "env = { KEY = \"hush }",
            "env = { KEY = 'hush\\",
            "env = { KEY = \"hush\\q\" }",
            "env = { KEY = \"hush\\u0000\" }",
            "env = { KEY = \"a\", KEY = \"hush\" }",
            "env = { KEY = 11hush }",
            "env.KEY = \"hush\"\nenv.KEY.x = \"hush\"",
            "[limits]\nmax_line_bytes = \"hush\"",
            "[agents.b]\nprotocol = \"hush\"\ncommand = [\"x\"]",
            "[agents.b]\nprotocol = \"acp\"\ncommand = \"hush\"",
            "[agents.b]\nprotocol = \"acp\"\ncommand = [\"x\", \"hush\\u0000\"]",
        ] {
            let message = parse(&format!("{agent}{wrong}\n")).unwrap_err();
            assert!(!message.contains("hush"), "{wrong}: {message}");
        }
        let number = parse(&format!("{agent}env = {{ KEY = 12345678 }}\n")).unwrap_err();
        assert!(!number.contains("12345678"), "{number}");
    }

    #[test]
    fn debug_output_hides_the_environment() {
        let config =
            parse("[agents.a]\nprotocol = \"acp\"\ncommand = [\"x\"]\nenv = { KEY = \"hush\" }\n").unwrap();
        assert!(!format!("{config:?}").contains("hush"));
    }
}

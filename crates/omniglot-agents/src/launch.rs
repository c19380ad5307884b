//! The start of an agent, as data. The runtime starts the process.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// The command line and environment of an agent process.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchSpec {
    pub program: String,
    pub args: Vec<String>,
    /// Added to the inherited environment.
    pub env: IndexMap<String, String>,
}

/// The start of an installed agent, and the way to log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// Program and arguments.
    pub command: &'static [&'static str],
    /// Switches: no telemetry, no search for updates.
    pub env: &'static [(&'static str, &'static str)],
    /// Settings that the agent reads from a file only.
    pub settings: Option<SettingsFile>,
    /// Variables that tell the agent that it runs in a sandbox.
    pub sandbox_env: &'static [(&'static str, &'static str)],
    /// The instructions to log in.
    pub login: &'static str,
    /// Files that a load leaves behind, and that harm its session later.
    pub empty_transcripts: Option<EmptyTranscripts>,
}

/// How a person installs an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Install {
    /// This package of npm.
    Npm(&'static str),
    /// A package of npm that had another name before the version `since`.
    NpmRenamed {
        package: &'static str,
        since: &'static str,
        before: &'static str,
    },
    /// The instructions on this page.
    Page(&'static str),
    Unknown,
}

impl Install {
    /// Returns the advice to install `what`.
    pub fn advice(self, what: &str) -> String {
        match self {
            Self::Npm(package) | Self::NpmRenamed { package, .. } => {
                format!("install {what} with `npm install -g {package}`")
            }
            Self::Page(page) => format!("install {what} (see {page})"),
            Self::Unknown => "install the program".to_owned(),
        }
    }
}

/// A file of settings whose path the agent reads from a variable. The runtime writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingsFile {
    pub variable: &'static str,
    pub name: &'static str,
    pub content: &'static str,
}

/// Empty transcripts that an agent leaves beside the one that it has loaded. The runtime removes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmptyTranscripts {
    /// The variable that counts in place of HOME.
    pub home: &'static str,
    /// The folder below it that has one for each project.
    pub projects: &'static str,
    /// The folder of a project that has its transcripts.
    pub folder: &'static str,
    /// The name of a transcript ends with this many characters of the session's id and `extension`.
    pub id_length: usize,
    pub extension: &'static str,
    /// A transcript that does not have this text is empty.
    pub answer: &'static str,
}

impl EmptyTranscripts {
    /// Whether a file of this name may be a transcript of the session.
    pub fn is_named_after(&self, name: &str, session: &str) -> bool {
        let beginning = session.get(..self.id_length);
        let stem = name.strip_suffix(self.extension);
        stem.zip(beginning).is_some_and(|(stem, id)| stem.ends_with(&format!("-{id}")))
    }
}

impl Start {
    pub const NONE: Self =
        Self { command: &[], env: &[], settings: None, sandbox_env: &[], login: "", empty_transcripts: None };

    /// Returns the command with its switches; `None` when it names no program.
    pub fn spec(&self) -> Option<LaunchSpec> {
        let (program, args) = self.command.split_first()?;
        let env = self.env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Some(LaunchSpec {
            program: (*program).to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: env.collect(),
        })
    }

    /// Returns the arguments that a configured command of this agent needs, unless it has the one that chooses the
    /// protocol, or an older form of it such as `--experimental-acp`.
    pub fn missing_args(&self, given: &[String]) -> Vec<String> {
        let own = self.command.get(1..).unwrap_or_default();
        let Some(protocol) = own.first() else { return vec![] };
        let word = protocol.trim_start_matches('-');
        let chooses = |arg: &String| arg == protocol || (arg.starts_with('-') && arg.ends_with(word));
        if given.iter().any(chooses) {
            return vec![];
        }
        own.iter().map(|arg| (*arg).to_owned()).collect()
    }
}

/// Values in `env` are often secrets, so only their names are printed.
impl fmt::Debug for LaunchSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaunchSpec")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_environment() {
        let env = IndexMap::from([("KEY".to_owned(), "hush".to_owned())]);
        let spec = LaunchSpec { program: "agent".into(), args: vec![], env };
        assert_eq!(format!("{spec:?}"), r#"LaunchSpec { program: "agent", args: [], env: ["KEY"] }"#);
    }
}

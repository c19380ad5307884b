//! Runs git in a repository of snapshots: with an environment of its own, none of anybody's settings, no hooks, no
//! filters, no prompts.

use std::path::PathBuf;

use indexmap::IndexMap;

use super::SnapshotError;
use crate::process::{Launch, SpawnError, Supervisor, piped};

/// So much of a listing is read: paths of far more files than are kept.
const MAX_OUTPUT: usize = 64 * 1024 * 1024;
/// So much of git's own words explains a failure.
const MAX_WORDS: usize = 400;

/// Settings of every call. Content is kept as it is, and no attribute of the project changes it.
const SETTINGS: [&str; 15] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.ignoreCase=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.fsyncMethod=batch",
    "core.quotePath=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

const FIXED: [(&str, &str); 6] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_DEFAULT_REF_FORMAT", "files"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("LC_ALL", "C"),
];

pub(super) struct Git {
    pub(super) supervisor: Supervisor,
    pub(super) repository: PathBuf,
    pub(super) index: PathBuf,
    /// The work tree, which is also where git runs.
    pub(super) top: PathBuf,
}

impl Git {
    /// Returns the output of a call that succeeded.
    pub(super) async fn run(&self, words: &[&str], input: &[u8]) -> Result<Vec<u8>, SnapshotError> {
        let (exit, output) =
            piped::run(&self.supervisor, &self.launch(words), input, MAX_OUTPUT).await.map_err(unspawned)?;
        if output.is_cut {
            return Err(SnapshotError::TooManyFiles);
        }
        match exit.code {
            Some(0) => Ok(output.stdout),
            _ => Err(SnapshotError::Failed(said(words, &output.stderr))),
        }
    }

    /// The same repository with another index.
    pub(super) fn with_index(&self, name: &str) -> Self {
        Self {
            supervisor: self.supervisor.clone(),
            repository: self.repository.clone(),
            index: self.repository.join(name),
            top: self.top.clone(),
        }
    }

    fn launch(&self, words: &[&str]) -> Launch {
        let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
        let fixed = FIXED.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut env: IndexMap<String, String> = fixed.collect();
        env.extend(std::env::var("PATH").ok().map(|path| ("PATH".to_owned(), path)));
        let places = [
            ("HOME", &self.repository),
            ("GIT_DIR", &self.repository),
            ("GIT_INDEX_FILE", &self.index),
            ("GIT_WORK_TREE", &self.top),
        ];
        env.extend(places.map(|(name, path)| (name.to_owned(), path.to_string_lossy().into_owned())));
        Launch {
            program: "git".to_owned(),
            args: settings.chain(words.iter().copied()).map(str::to_owned).collect(),
            env,
            env_clear: true,
            cwd: self.top.clone(),
        }
    }
}

fn unspawned(error: SpawnError) -> SnapshotError {
    match error {
        SpawnError::NotFound { .. } => SnapshotError::NoGit,
        other => SnapshotError::Failed(format!("git did not start: {other}")),
    }
}

fn said(words: &[&str], stderr: &[u8]) -> String {
    let stderr = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let lines: String = lines.join("; ").chars().take(MAX_WORDS).collect();
    let command = words.iter().find(|word| !word.starts_with('-') && !word.contains('='));
    format!("git {} says: {lines}", command.unwrap_or(&""))
}

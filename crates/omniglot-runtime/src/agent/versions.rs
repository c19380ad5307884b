//! The versions of the agents' programs, found out by running them once and kept over restarts.
//!
//! A program is run again when its file has changed.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use omniglot_agents::LaunchSpec;
use omniglot_store::{private, shared};

use crate::agent::catalog::Entry;
use crate::agent::run_command::run;
use crate::agent::version::version_in;
use crate::process::{Launch, Supervisor};

/// How long a program may take to tell its version.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The versions that are known. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Versions {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    supervisor: Supervisor,
    file: PathBuf,
    /// An empty directory to run the programs in.
    cwd: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By the key of the command; `None` for a program that ran and did not tell.
    known: HashMap<String, Option<String>>,
    asking: HashSet<String>,
}

impl Versions {
    pub(crate) fn new(supervisor: Supervisor, data_dir: &Path) -> Self {
        let file = private(data_dir).join("agent-versions.json");
        let known = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let state = State { known: known.unwrap_or_default(), asking: HashSet::new() };
        let cwd = shared(data_dir).join("probe");
        Self { inner: Arc::new(Inner { supervisor, file, cwd, state: Mutex::new(state) }) }
    }

    /// Returns the version of the program that the agent's sessions use, as far as it is known.
    pub(crate) fn known(&self, entry: &Entry) -> Option<String> {
        entry.known_version().or_else(|| self.lock().known.get(&key_of(&entry.version_command()?)?)?.clone())
    }

    /// Returns the version, if need be by running the program.
    pub(crate) async fn ask(&self, entry: &Entry) -> Option<String> {
        if let Some(version) = entry.known_version() {
            return Some(version);
        }
        let spec = entry.version_command()?;
        let key = key_of(&spec)?;
        if let Some(known) = self.lock().known.get(&key).cloned() {
            return known;
        }
        let told = self.run(spec).await;
        let mut state = self.lock();
        state.asking.remove(&key);
        // A program that did not end in time may do so the next time.
        let version = told?;
        state.known.insert(key, version.clone());
        self.keep(&state.known);
        version
    }

    /// Returns whether nobody asks for this version already, and it is not known; then the caller does, by
    /// [`Self::ask`].
    pub(crate) fn begin(&self, entry: &Entry) -> bool {
        let key = entry.version_command().filter(|_| entry.known_version().is_none());
        let Some(key) = key.and_then(|spec| key_of(&spec)) else { return false };
        let mut state = self.lock();
        !state.known.contains_key(&key) && state.asking.insert(key)
    }

    /// Returns what the program has told; `None` when it did not run to its end.
    async fn run(&self, spec: LaunchSpec) -> Option<Option<String>> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.inner.cwd).ok()?;
        let launch = Launch::new(spec, self.inner.cwd.clone());
        let told = run(&self.inner.supervisor, &launch, TIMEOUT).await.ok()?;
        told.exit?;
        Some(version_in(&told.text).filter(|_| told.succeeded()))
    }

    /// Keeps versions over restarts; a program that did not tell is asked again by the next daemon.
    fn keep(&self, known: &HashMap<String, Option<String>>) {
        let told: HashMap<_, _> = known.iter().filter(|(_, version)| version.is_some()).collect();
        let part = self.inner.file.with_extension("part");
        let written = serde_json::to_vec(&told).map_err(Into::into).and_then(|json| fs::write(&part, json));
        if let Err(error) = written.and_then(|()| fs::rename(&part, &self.inner.file)) {
            tracing::debug!(%error, "the versions of agents were not kept");
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Identifies a command and the files that it names, as they are now. The time of the last change is no date that an
/// archive could have set.
fn key_of(spec: &LaunchSpec) -> Option<String> {
    let program = Launch::new(spec.clone(), PathBuf::from(".")).resolve().ok()?;
    let words = std::iter::once(program).chain(spec.args.iter().map(PathBuf::from));
    let word = |word: PathBuf| match fs::metadata(&word) {
        Ok(meta) => {
            format!("{}:{}:{}.{}", word.display(), meta.len(), meta.ctime(), meta.ctime_nsec())
        }
        Err(_) => word.display().to_string(),
    };
    Some(words.map(word).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_program_is_another_one() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("agent.js");
        let args = vec![script.to_string_lossy().into_owned(), "--version".to_owned()];
        let spec = LaunchSpec { program: "sh".into(), args, env: Default::default() };
        fs::write(&script, "1").unwrap();
        let before = key_of(&spec).unwrap();
        assert_eq!(key_of(&spec).unwrap(), before);
        fs::write(&script, "12").unwrap();
        assert_ne!(key_of(&spec).unwrap(), before);
        assert_eq!(key_of(&LaunchSpec { program: "/no/such/program".into(), ..spec }), None);
    }
}

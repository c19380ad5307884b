//! The command to start: the program found on the search path, its arguments and environment.
//!
//! Starts nothing itself.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use omniglot_agents::LaunchSpec;
use tokio::process::Command;

use super::SpawnError;
use super::sweep::{MARK, Mark};

/// An agent's command line, environment and directory.
#[derive(Clone, PartialEq, Eq)]
pub struct Launch {
    pub program: String,
    pub args: Vec<String>,
    /// Added to the inherited environment, or all of it with `env_clear`.
    pub env: IndexMap<String, String>,
    pub env_clear: bool,
    pub cwd: PathBuf,
}

impl Launch {
    /// Inherits the daemon's environment.
    pub fn new(spec: LaunchSpec, cwd: PathBuf) -> Self {
        let LaunchSpec { program, args, env } = spec;
        Self { program, args, env, env_clear: false, cwd }
    }

    /// The program and its arguments.
    pub fn argv(&self) -> Vec<String> {
        std::iter::once(&self.program).chain(&self.args).cloned().collect()
    }

    /// Checks that the program could be started there.
    pub(crate) fn check(&self) -> Result<PathBuf, SpawnError> {
        if !self.cwd.is_dir() {
            return Err(SpawnError::Directory(self.cwd.clone()));
        }
        self.resolve()
    }

    /// Where the program is. Asked before anything is started, so that "not installed" is told apart.
    pub(crate) fn resolve(&self) -> Result<PathBuf, SpawnError> {
        let name = Path::new(&self.program);
        let found = if self.program.contains('/') {
            Some(self.cwd.join(name)).filter(|path| path.exists())
        } else {
            let path = self.search_path();
            env::split_paths(&path).map(|dir| self.cwd.join(dir).join(name)).find(|path| is_executable(path))
        };
        found.ok_or_else(|| SpawnError::NotFound { program: self.program.clone() })
    }

    fn search_path(&self) -> OsString {
        match self.env.get("PATH") {
            Some(path) => path.into(),
            None => env::var_os("PATH").unwrap_or_default(),
        }
    }

    /// The guard's environment and directory are the agent's: it inherits them.
    pub(super) fn apply(&self, mark: &Mark, command: &mut Command) {
        if self.env_clear {
            command.env_clear();
        }
        for (name, _) in env::vars_os().filter(|(name, _)| is_of_daemon(name)) {
            command.env_remove(name);
        }
        command.envs(&self.env).env(MARK, mark.value()).current_dir(&self.cwd);
    }
}

/// Whether a variable is none of an agent's business: the daemon's own settings, its token among them, and its
/// connection to the supervisor, to which an agent could say that the daemon is well.
pub(crate) fn is_of_daemon(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b"OMNIGLOT_")
        || [&b"NOTIFY_SOCKET"[..], b"WATCHDOG_USEC", b"WATCHDOG_PID"].contains(&name)
}

/// Values in `env` are often secrets, so only their names are shown.
impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("env_clear", &self.env_clear)
            .field("cwd", &self.cwd)
            .finish()
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(program: &str, cwd: &Path) -> Launch {
        let spec = LaunchSpec { program: program.into(), args: vec![], env: IndexMap::new() };
        Launch::new(spec, cwd.to_owned())
    }

    fn executable(path: &Path, mode: u32) {
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_bare_name_is_searched_on_the_path_that_the_agent_will_have() {
        let [first, second] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        executable(&first.path().join("agent"), 0o644);
        executable(&second.path().join("agent"), 0o755);
        let mut launch = launch("agent", Path::new("/"));
        assert!(matches!(launch.resolve(), Err(SpawnError::NotFound { program }) if program == "agent"));
        let path = env::join_paths([first.path(), second.path()]).unwrap();
        launch.env.insert("PATH".into(), path.into_string().unwrap());
        assert_eq!(launch.resolve().unwrap(), second.path().join("agent"));
    }

    #[test]
    fn debug_output_hides_the_environment() {
        let mut launch = launch("agent", Path::new("/"));
        launch.env.insert("KEY".into(), "hush".into());
        let shown = format!("{launch:?}");
        assert!(shown.contains("KEY") && !shown.contains("hush"), "{shown}");
    }

    #[test]
    fn a_relative_path_starts_at_the_sessions_directory() {
        let dir = tempfile::tempdir().unwrap();
        executable(&dir.path().join("agent.sh"), 0o755);
        assert_eq!(launch("./agent.sh", dir.path()).resolve().unwrap(), dir.path().join("./agent.sh"));
        assert!(launch("./other.sh", dir.path()).resolve().is_err());
    }
}

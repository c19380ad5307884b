//! Runs npm with nothing of the daemon's environment but what npm itself reads.

use std::path::Path;
use std::time::Duration;

use indexmap::IndexMap;

use super::{Installer, LAST_LINES};
use crate::agent::run_command::{Finished, run};
use crate::error::RuntimeError;
use crate::process::{Launch, SpawnError};

/// How long npm may take.
const TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// The variables that npm and its Node read, beside npm's own configuration.
const VARIABLES: &[&str] = &[
    "HOME",
    "PATH",
    "TMPDIR",
    "LANG",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

const HINT: &str = "install Node.js 22 or newer, which has npm (https://nodejs.org), see that `npm` is on the daemon's PATH, and start the daemon again";

impl Installer<'_> {
    /// Runs npm in `folder`; an exit with another code than 0 is an error, which has npm's last lines.
    pub(super) async fn npm(&self, words: &[&str], folder: &Path) -> Result<Finished, RuntimeError> {
        let common = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
        let launch = Launch {
            program: "npm".to_owned(),
            args: words.iter().chain(&common).map(|word| (*word).to_owned()).collect(),
            env: environment(std::env::vars()),
            env_clear: true,
            cwd: folder.to_owned(),
        };
        let finished = match run(self.supervisor, &launch, TIMEOUT).await {
            Ok(finished) => finished,
            Err(SpawnError::NotFound { .. }) => return Err(self.without_npm()),
            Err(error) => return Err(self.failed(error.to_string())),
        };
        if finished.succeeded() {
            return Ok(finished);
        }
        let end = match finished.exit {
            Some(exit) => exit.to_string(),
            None => format!("did not end within {} s", TIMEOUT.as_secs()),
        };
        Err(self.failed(format!("npm {end}: {}", finished.last_lines(LAST_LINES))))
    }

    fn without_npm(&self) -> RuntimeError {
        RuntimeError::InstallFailed {
            agent: self.entry.name.clone(),
            message: "npm was not found".to_owned(),
            hint: Some(HINT.to_owned()),
        }
    }
}

/// Names of proxies and of npm's configuration are in upper or lower case.
fn environment(variables: impl Iterator<Item = (String, String)>) -> IndexMap<String, String> {
    let is_read = |name: &str| {
        let upper = name.to_ascii_uppercase();
        upper.starts_with("NPM_CONFIG_") || VARIABLES.contains(&&*upper)
    };
    variables.filter(|(name, _)| is_read(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::environment;

    #[test]
    fn npm_gets_nothing_but_what_it_reads() {
        let names = ["PATH", "HOME", "npm_config_registry", "NPM_CONFIG_CACHE", "https_proxy"];
        let others = ["OMNIGLOT_TOKEN", "ANTHROPIC_API_KEY", "NODE_OPTIONS", "npm_lifecycle_event"];
        let all = names.iter().chain(&others).map(|name| ((*name).to_owned(), "x".to_owned()));
        assert_eq!(environment(all).keys().collect::<Vec<_>>(), names);
    }
}

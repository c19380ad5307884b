//! The rules of a session: the daemon's, those it was created with, and the files that no rule gives away.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use omniglot_rules::{Floor, Layer, Policy};
use omniglot_schema::{CreateSessionRequest, Rule};
use omniglot_store::{SessionRecord, private};

use super::Hub;
use crate::config::{Config, FILE_NAME};
use crate::session::SessionRules;

/// The rules of all sessions.
#[derive(Debug, Clone, Default)]
pub(super) struct DaemonRules {
    rules: Vec<Rule>,
    floor: Floor,
}

impl DaemonRules {
    pub(super) fn new(config: &Config, data_dir: &Path) -> Self {
        for warning in omniglot_rules::check(&config.rules).into_iter().flatten() {
            tracing::warn!("{warning}");
        }
        Self { rules: config.rules.clone(), floor: floor(config, data_dir) }
    }
}

/// Returns the files that no call may touch: those of the daemon, with its token and its rules.
pub fn floor(config: &Config, data_dir: &Path) -> Floor {
    let files = [private(data_dir), data_dir.join(FILE_NAME)];
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    Floor(files.into_iter().chain(config.token_file.clone()).chain(config.file.clone()).map(real).collect())
}

impl Hub {
    pub(super) fn rules_of(&self, record: &SessionRecord, request: &CreateSessionRequest) -> SessionRules {
        let DaemonRules { rules, floor } = &self.inner.rules;
        let policy =
            Policy::new(floor.clone()).with(Layer::Daemon, rules).with(Layer::Session, &request.rules);
        SessionRules {
            policy: Arc::new(policy),
            directory: request.directory.as_deref().map(PathBuf::from).unwrap_or_default(),
            labels: record.labels.clone(),
        }
    }
}

//! The version of an agent, asked on its command line: the one proof that a program works which is started only
//! for a turn.

use std::path::PathBuf;
use std::time::Duration;

use omniglot_agents::LaunchSpec;

use crate::agent::catalog::Entry;
use crate::agent::early::Discarded;
use crate::agent::run_command::{Finished, run};
use crate::agent::session_start::StartErrorKind;
use crate::process::{Launch, Supervisor};

/// Runs the program with `--version` in `cwd` and returns the first word that looks like one.
pub(crate) async fn ask(
    entry: &Entry,
    supervisor: &Supervisor,
    cwd: PathBuf,
    limit: Duration,
) -> Result<Option<String>, StartErrorKind> {
    let mut spec: LaunchSpec = entry.command(None);
    spec.args.push("--version".to_owned());
    let launch = Launch::new(spec, cwd);
    let finished = run(supervisor, &launch, limit).await.map_err(StartErrorKind::Spawn)?;
    if finished.succeeded() {
        return Ok(version_in(&finished.text));
    }
    let Finished { exit, output: stderr, .. } = finished;
    let discarded = Discarded::default();
    Err(match exit {
        Some(exit) => StartErrorKind::Exited { exit, stderr, discarded },
        None => StartErrorKind::Silent { seconds: limit.as_secs(), stderr, discarded },
    })
}

/// Returns the first word that looks like a version.
pub(crate) fn version_in(text: &str) -> Option<String> {
    let is_version =
        |word: &&str| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.');
    words(text).find(is_version).map(str::to_owned)
}

/// Whether one of the words is this version.
pub(crate) fn names_version(text: &str, version: &str) -> bool {
    words(text).any(|word| word == version)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().map(|word| word.trim_start_matches('v'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_among_other_words() {
        assert_eq!(version_in("0.0.17-g7 (released 2026-09-23)\n").as_deref(), Some("0.0.17-g7"));
        assert_eq!(version_in("agent v1.2.3").as_deref(), Some("1.2.3"));
        assert_eq!(version_in("no version"), None);
        assert!(names_version("1.9.0 is out; this is v1.2.3", "1.2.3"));
        assert!(!names_version("1.2.3-rc.1", "1.2.3"));
    }
}

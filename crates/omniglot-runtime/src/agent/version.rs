//! The version of an agent, asked on its command line: the one proof that a program works which is started only
//! for a turn.

use std::time::Duration;

use omniglot_agents::LaunchSpec;
use omniglot_agents::stderr::StderrLog;
use tokio::time::timeout;

use crate::agent::catalog::Entry;
use crate::agent::early::Discarded;
use crate::agent::session_start::StartErrorKind;
use crate::process::{Launch, Process, Supervisor};

/// More is no version.
const MAX_OUTPUT: usize = 64 * 1024;

/// Runs the program with `--version` in `cwd` and returns the first word that looks like one.
pub(crate) async fn ask(
    entry: &Entry,
    supervisor: &Supervisor,
    cwd: std::path::PathBuf,
    limit: Duration,
) -> Result<Option<String>, StartErrorKind> {
    let mut spec: LaunchSpec = entry.launch.clone();
    spec.args.push("--version".to_owned());
    let launch = Launch::new(spec, cwd);
    let (process, mut output) =
        Process::spawn_command(supervisor, &launch).await.map_err(StartErrorKind::Spawn)?;
    let mut said = Vec::new();
    let listening = async {
        while let Some(chunk) = output.recv().await {
            if said.len() < MAX_OUTPUT {
                said.extend_from_slice(&chunk);
            }
        }
        process.wait().await
    };
    let ended = timeout(limit, listening).await;
    let mut log = StderrLog::default();
    log.push(&said);
    let (stderr, discarded) = (log.output(), Discarded::default());
    match ended {
        Ok(exit) if exit.code == Some(0) => Ok(version_in(&String::from_utf8_lossy(&said))),
        Ok(exit) => Err(StartErrorKind::Exited { exit, stderr, discarded }),
        Err(_) => Err(StartErrorKind::Silent { seconds: limit.as_secs(), stderr, discarded }),
    }
}

fn version_in(text: &str) -> Option<String> {
    let is_version =
        |word: &&str| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.');
    text.split_whitespace().map(|word| word.trim_start_matches('v')).find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn a_version_is_found_among_other_words() {
        assert_eq!(version_in("0.0.17-g7 (released 2026-09-23)\n").as_deref(), Some("0.0.17-g7"));
        assert_eq!(version_in("agent v1.2.3").as_deref(), Some("1.2.3"));
        assert_eq!(version_in("no version"), None);
    }
}

//! Rules about the calls of a session's agent: decided where the daemon is asked, before a person is.
//!
//! The decision is `omniglot-rules`'; here are the machine that it asks and the words that the Timeline understands.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use omniglot_agents::{Draft, StreamOutput};
use omniglot_rules::{Call, Decision, Machine, Policy, Ruling};
use omniglot_schema::{ContentPart, Labels, ToolSubject};
use omniglot_timeline::{PermissionAsk, Ruled, RuledAs};

use super::Session;
use crate::agent::Translated;

/// The rules of one session, and the facts about it that they ask for.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionRules {
    pub(crate) policy: Arc<Policy>,
    pub(crate) directory: PathBuf,
    pub(crate) labels: Labels,
}

impl Session {
    /// Decides about the permissions that the agent has just asked for.
    pub(super) fn decide_by_rules(&mut self, heard: &[Translated]) {
        for output in heard.iter().flat_map(|translated| &translated.stream) {
            if let StreamOutput::Draft(Draft::PermissionRequested(ask)) = output
                && let Some(ruled) = self.spec.rules.decide(&self.spec.agent, ask)
            {
                tracing::info!(session = %self.spec.id, rule = ruled.rule, decision = ?ruled.decision, "ruled");
                self.timeline.rule(&ask.key, Some(ruled));
            }
        }
    }
}

impl SessionRules {
    fn decide(&self, agent: &str, ask: &PermissionAsk) -> Option<Ruled> {
        let nothing = ToolSubject::default();
        let subject = ask.subject.as_deref().unwrap_or(&nothing);
        let call = Call {
            agent,
            kind: ask.kind,
            tool: ask.tool.as_deref(),
            labels: Some(&self.labels),
            ..Call::default()
        };
        let mut call = call.about(subject);
        call.paths.extend(ask.files.iter().filter_map(path_of));
        let Ruling { decision, rule, remember, .. } = evaluate_rules(&self.policy, &call, &self.directory);
        let (_, rule) = rule?;
        let decision = match decision {
            Decision::Deny => RuledAs::Deny,
            Decision::Ask => RuledAs::Ask { remember },
            Decision::Allow => RuledAs::Allow,
        };
        Some(Ruled { decision, rule })
    }
}

/// Decides about a call on this machine.
pub fn evaluate_rules(policy: &Policy, call: &Call<'_>, directory: &Path) -> Ruling {
    let home = std::env::home_dir();
    policy.evaluate(call, &Machine { directory, home: home.as_deref(), resolve: &resolve })
}

fn path_of(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::FileRef { path, .. } => Some(path),
        _ => None,
    }
}

/// So many links in one path lead somewhere.
const MAX_LINKS: usize = 40;

/// Returns the target of a path, as the kernel would find it; parts that do not exist yet stay as they are.
fn resolve(path: &Path) -> Option<PathBuf> {
    let mut left: Vec<PathBuf> = parts(path);
    let mut found = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = left.pop() {
        match part.components().next() {
            Some(Component::ParentDir) => {
                // A folder that does not exist has no parent that anybody could tell.
                found.symlink_metadata().ok()?;
                found.pop();
            }
            Some(Component::Normal(name)) => {
                let next = found.join(name);
                match next.read_link() {
                    Ok(target) => {
                        links += 1;
                        if links > MAX_LINKS {
                            return None;
                        }
                        if target.is_absolute() {
                            found = PathBuf::from("/");
                        }
                        left.extend(parts(&target));
                    }
                    Err(error) if is_no_link(&error) => found = next,
                    Err(_) => return None,
                }
            }
            _ => {}
        }
    }
    Some(found)
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
}

/// Whether there is something else, or nothing.
fn is_no_link(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::InvalidInput | std::io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_resolves_to_what_the_kernel_would_open() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        std::fs::create_dir(folder.join("real")).unwrap();
        symlink("real", folder.join("link")).unwrap();
        symlink("/etc", folder.join("out")).unwrap();
        symlink("missing", folder.join("dangling")).unwrap();
        symlink("circle", folder.join("circle")).unwrap();
        let at = |name: &str| resolve(&folder.join(name));
        assert_eq!(at("link/new/file"), Some(folder.join("real/new/file")));
        assert_eq!(at("out/passwd"), Some("/etc/passwd".into()));
        assert_eq!(at("out/.."), Some("/".into()));
        assert_eq!(at("real/../link"), Some(folder.join("real")));
        assert_eq!(at("dangling"), Some(folder.join("missing")));
        assert_eq!(at("circle/x"), None);
        assert_eq!(at("nowhere/../x"), None);
    }
}

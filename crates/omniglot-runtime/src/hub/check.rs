//! Trying an agent for somebody who wants to know whether it works, and what to do if it does not.
//!
//! An agent that does not start is no error here: what was found out is the answer.

use std::time::Instant;

use omniglot_agents::{Refusal, RefusalKind};
use omniglot_schema::{AgentCheck, EventSource, Finding, FindingKind, SessionState, StderrOutput};

use super::probe::default_model;
use super::{Hub, login};
use crate::agent::catalog::Entry;
use crate::agent::early::{Discarded, EarlyOutput};
use crate::agent::session_start::{StartError, StartErrorKind};
use crate::agent::{Translated, is_unparsed};
use crate::error::RuntimeError;
use crate::process::SpawnError;

/// So much of a line is enough to recognise who wrote it.
const SAMPLE: usize = 200;

impl Hub {
    /// Starts the agent, shakes hands, opens a session in an empty directory and ends it.
    pub async fn check_agent(&self, agent: &str) -> Result<AgentCheck, RuntimeError> {
        let entry = self.inner.launcher.catalog.get(agent)?;
        let login = entry.login();
        let launch = entry.command(None);
        let command = std::iter::once(launch.program).chain(launch.args).collect();
        let _one = self.alone_with(agent).await;
        let began = Instant::now();
        let tried = self.try_agent(agent).await?;
        let opened = tried.failed.is_none();
        let mut findings = tried.failed.map(|failed| vec![finding(failed, login)]).unwrap_or_default();
        if opened && login::is_required(&tried.timeline.fold().state) {
            findings.push(logged_out(&tried.timeline.fold().state, entry));
        }
        findings.extend(tried.nonsense.finding());
        let info = self.agents().into_iter().find(|info| info.id == agent);
        let info = info.ok_or_else(|| RuntimeError::Gone(format!("agent {agent} is not there any more")))?;
        let told = &tried.timeline;
        let state = &told.fold().state;
        let models = state.models.as_ref().and_then(|list| told.entries(list)).unwrap_or_default();
        Ok(AgentCheck {
            agent: info,
            healthy: !findings.iter().any(|finding| finding.problem),
            command,
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            auth: state.auth.clone(),
            default_model: default_model(told.fold(), &models),
            models,
            modes: state.modes.as_ref().and_then(|list| told.entries(list)).unwrap_or_default(),
            findings,
        })
    }
}

/// The agent opens sessions and says, or shows, that nobody is logged in.
fn logged_out(state: &SessionState, entry: &Entry) -> Finding {
    Finding {
        kind: FindingKind::LoggedOut,
        problem: true,
        message: login::logged_out(state, entry),
        hint: entry.login().map(str::to_owned),
        stderr: None,
    }
}

/// The output that is not of its protocol.
#[derive(Debug, Default)]
pub(super) struct Nonsense {
    count: u64,
    sample: Option<String>,
}

impl Nonsense {
    pub(super) fn of(early: &EarlyOutput) -> Self {
        let strange =
            |heard: &&Translated| heard.source == EventSource::Agent && heard.stream.iter().any(is_unparsed);
        let sample = early.translated.iter().find(strange).and_then(|heard| heard.frame.as_deref());
        let kept = early.translated.iter().filter(strange).count() as u64;
        Self { count: kept + early.discarded.lines, sample: sample.map(excerpt) }
    }

    /// No problem in itself: some agents greet before they speak.
    fn finding(self) -> Option<Finding> {
        let sample = self.sample?;
        let lines = match self.count {
            1 => "1 line to stdout that is".to_owned(),
            count => format!("{count} lines to stdout that are"),
        };
        Some(Finding {
            kind: FindingKind::NotUnderstood,
            problem: false,
            message: format!("it wrote {lines} not of its protocol; the first: {sample}"),
            hint: Some(
                "see that the command starts the agent in its protocol mode, and prints nothing else".into(),
            ),
            stderr: None,
        })
    }
}

fn excerpt(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim();
    match text.char_indices().nth(SAMPLE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// `login` says how one logs in to this agent, where that is known.
fn finding(failed: StartError, login: Option<&str>) -> Finding {
    let kind = kind_of(&failed.why);
    let stderr = match &failed.why {
        StartErrorKind::Exited { stderr, .. } | StartErrorKind::Silent { stderr, .. } => said(stderr),
        _ => failed.early.stderr.as_ref().and_then(said),
    };
    let (message, hint) = match &failed.why {
        // The words of the others go on from the agent's name.
        StartErrorKind::Silent { seconds, discarded, .. } => (
            with_discarded(format!("it did not answer the handshake within {seconds} s"), *discarded),
            Some(silent_hint(stderr.is_some())),
        ),
        StartErrorKind::Exited { exit, discarded, .. } => (
            with_discarded(format!("it {exit} before it was ready"), *discarded),
            Some(exited_hint(stderr.is_some())),
        ),
        StartErrorKind::Spawn(SpawnError::NotFound { .. }) => {
            let error = failed.into_error();
            (error.to_string(), error.hint())
        }
        StartErrorKind::Refused(refusal) if refusal.kind == RefusalKind::Auth => {
            (refusal.message.clone(), login.map(str::to_owned).or_else(|| refusal.hint.clone()))
        }
        why => why.tell(),
    };
    Finding { kind, problem: true, message, hint, stderr }
}

fn with_discarded(message: String, discarded: Discarded) -> String {
    match discarded.is_empty() {
        true => message,
        false => format!("{message}; discarded {discarded} of its output"),
    }
}

fn kind_of(why: &StartErrorKind) -> FindingKind {
    match why {
        StartErrorKind::Spawn(SpawnError::NotFound { .. }) => FindingKind::NotInstalled,
        StartErrorKind::Spawn(_) | StartErrorKind::Unknown(_) => FindingKind::NotStarted,
        StartErrorKind::Refused(Refusal { kind: RefusalKind::Auth, .. }) => FindingKind::LoggedOut,
        StartErrorKind::Refused(_) | StartErrorKind::GaveUp(_) => FindingKind::Refused,
        StartErrorKind::Exited { .. } => FindingKind::Exited,
        StartErrorKind::Silent { .. } => FindingKind::Silent,
    }
}

fn said(stderr: &StderrOutput) -> Option<StderrOutput> {
    stderr.head.as_ref().is_some_and(|head| !head.trim().is_empty()).then(|| stderr.clone())
}

fn exited_hint(has_stderr: bool) -> String {
    let look = if has_stderr { "its stderr below says why" } else { "its stderr is empty" };
    format!("{look}; run the command by hand to try it")
}

fn silent_hint(has_stderr: bool) -> String {
    let look = if has_stderr { "see its stderr below, and " } else { "" };
    format!(
        "{look}see that the command starts the agent in its protocol mode; `handshake_seconds` under [limits] in omniglot.toml gives it more time"
    )
}

//! Starting an agent: process, handshake, session. Ends with an agent that takes prompts, or with the reason.
//!
//! Runs beside the session's loop, so that a session answers while its agent starts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use omniglot_agents::launch::Install;
use omniglot_agents::{Command, CommandAnswer, Input, Lifetime, Open, Refusal, RefusalKind};
use omniglot_schema::{ErrorCode, StderrOutput};
use omniglot_store::SessionNo;
use omniglot_timeline::Failure;
use tokio::time::{Instant, timeout_at};

use crate::agent::catalog::{Catalog, Entry};
use crate::agent::early::{Discarded, EarlyOutput};
use crate::agent::host::{Host, HostContext};
use crate::agent::installed;
use crate::agent::mask::Mask;
use crate::agent::mcp;
use crate::agent::prepared::PreparedFiles;
use crate::agent::restart_policy::SessionRestarts;
use crate::agent::shared_server::Servers;
use crate::agent::versions::Versions;
use crate::agent::{Agent, AgentEvent, Translated, version};
use crate::confined::Private;
use crate::error::RuntimeError;
use crate::metrics::{Metrics, Start};
use crate::process::handle::ProcessHandle;
use crate::process::{Exit, Launch, Process, SpawnError, Supervisor};

/// The parts that starting any agent of this daemon takes. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Launcher {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) supervisor: Supervisor,
    pub(crate) servers: Servers,
    pub(crate) restarts: SessionRestarts,
    pub(crate) versions: Versions,
    pub(crate) private: Private,
    /// How long an agent may take for its next understandable word during the handshake.
    pub(crate) timeout: Duration,
}

/// How many timeouts a handshake may take altogether, whatever an agent says: it may replay a long session.
const HANDSHAKE_TIMEOUTS: u32 = 10;

pub(crate) struct Opened {
    /// `None` for an agent with a process for each turn while there is no turn.
    pub(crate) agent: Option<Agent>,
    pub(crate) early: EarlyOutput,
}

#[derive(Debug)]
pub(crate) struct StartError {
    pub(crate) why: StartErrorKind,
    pub(crate) agent: String,
    pub(crate) install: Install,
    pub(crate) early: EarlyOutput,
}

#[derive(Debug)]
pub(crate) enum StartErrorKind {
    /// The configuration does not name it any more, or the version that the session asks for is not there.
    Unknown(RuntimeError),
    Spawn(SpawnError),
    Refused(Refusal),
    Exited {
        exit: Exit,
        stderr: StderrOutput,
        discarded: Discarded,
    },
    Silent {
        seconds: u64,
        stderr: StderrOutput,
        discarded: Discarded,
    },
    /// It failed too often to be tried once more.
    GaveUp(String),
}

impl Launcher {
    /// Returns the version of an agent that has no process of its own before its first turn.
    pub(crate) async fn version(&self, agent: &str, cwd: PathBuf) -> Result<Option<String>, StartError> {
        let entry = self.catalog.get(agent).map_err(StartErrorKind::Unknown);
        let asked = match entry {
            Ok(entry) => version::ask(entry, &self.supervisor, cwd, self.timeout).await,
            Err(why) => Err(why),
        };
        asked.map_err(|why| self.start_error(agent.to_owned(), why, EarlyOutput::default()))
    }

    fn start_error(&self, agent: String, why: StartErrorKind, early: EarlyOutput) -> StartError {
        let install = self.catalog.get(&agent).map_or(Install::Unknown, Entry::install);
        StartError { why, agent, install, early }
    }

    /// Starts `agent` for a session whose process has ended, after a pause if it has died before, or not at all.
    pub(crate) async fn open_again(
        self,
        session: SessionNo,
        agent: String,
        open: Open,
    ) -> Result<Opened, StartError> {
        match self.restarts.pause(session) {
            Ok(pause) => tokio::time::sleep(pause).await,
            Err(why) => {
                return Err(self.start_error(agent, StartErrorKind::GaveUp(why), EarlyOutput::default()));
            }
        }
        self.open(agent, open).await
    }

    /// Starts `agent` and opens a session. Dropping the future ends what was started.
    pub(crate) async fn open(self, agent: String, mut open: Open) -> Result<Opened, StartError> {
        open.new_id = uuid::Uuid::new_v4().to_string();
        open.unprivileged = !rustix::process::geteuid().is_root();
        let mut early = EarlyOutput::default();
        let mut outcome = self.try_open(&agent, open.clone(), &mut early).await;
        if let Err(StartErrorKind::Refused(Refusal { kind: RefusalKind::Privileged, .. })) = &outcome
            && open.unprivileged
        {
            // It runs as another user than the daemon, such as in a container.
            early = EarlyOutput::default();
            open.unprivileged = false;
            outcome = self.try_open(&agent, open.clone(), &mut early).await;
        }
        if let Err(StartErrorKind::Refused(Refusal { kind: RefusalKind::Forgotten, message, .. })) = &outcome
            && open.resume.is_some()
            && !open.fork
        {
            // The session goes on without what its agent knew, and its stream will say so.
            tracing::warn!(agent, message, "the agent has lost its session");
            early = early.without_refusals();
            open.resume = None;
            // A late answer to the first try must not be taken for one to the second.
            open.new_id = uuid::Uuid::new_v4().to_string();
            let mut second = EarlyOutput::default();
            outcome = self.try_open(&agent, open, &mut second).await;
            early.append(second);
        }
        match outcome {
            Ok(live) => Ok(Opened { agent: live, early: early.with_warning() }),
            Err(why) => Err(self.start_error(agent, why, early)),
        }
    }

    /// Refuses a version that is neither installed nor that of the program which the agent's sessions use.
    async fn check_version(&self, entry: &Entry, version: &str) -> Result<(), RuntimeError> {
        let wanted = installed::parse(version)?;
        if entry.versions.as_ref().is_some_and(|versions| versions.program(&wanted).is_some()) {
            return Ok(());
        }
        let found = self.versions.ask(entry).await;
        if found.as_deref() == Some(version) {
            return Ok(());
        }
        Err(RuntimeError::version_not_installed(&entry.name, version, found, entry.install()))
    }

    async fn try_open(
        &self,
        agent: &str,
        mut open: Open,
        early: &mut EarlyOutput,
    ) -> Result<Option<Agent>, StartErrorKind> {
        let entry = self.catalog.get(agent).map_err(StartErrorKind::Unknown)?;
        open.mcp = mcp::ready(open.mcp, |name| entry.variable(name)).map_err(bad_request)?;
        if let Some(version) = &open.agent_version {
            self.check_version(entry, version).await.map_err(StartErrorKind::Unknown)?;
        }
        entry.may_resume(&open).await;
        let mut spec = entry.launch_for(&open);
        let files = PreparedFiles::write(entry, &self.supervisor, &open, &mut spec);
        let files = files.map_err(StartErrorKind::Refused)?;
        let launch = Launch::new(spec.clone(), open.cwd.clone());
        let mask = Mask::of(&launch.env, &open.mcp);
        early.secrets = Some(mask.secrets());
        if matches!(entry.adapter.lifetime, Lifetime::Turn) && !open.has_prompt {
            return rehearse(entry, &launch, open, early).map(|()| None);
        }
        let (process, io) = match entry.adapter.shared() {
            None => {
                let spawned = Process::spawn(&self.supervisor, &launch).await;
                if spawned.is_ok() {
                    let start = if open.resume.is_some() && !open.fork { Start::Again } else { Start::First };
                    self.metrics.of(agent).started(start);
                }
                spawned
                    .map(|(process, io)| (ProcessHandle::Dedicated(process), io))
                    .map_err(StartErrorKind::Spawn)?
            }
            Some(shared) => {
                let joined = self.servers.join(agent, spec, shared).await;
                joined.map(|(lease, io)| (ProcessHandle::Shared(lease), io))?
            }
        };
        let context = HostContext {
            root: open.cwd.clone(),
            private: self.private.clone(),
            env: launch.env.clone(),
            supervisor: self.supervisor.clone(),
            whole_lines: !mask.is_empty(),
        };
        let host = Host::new(context, files);
        let mut live = Agent::new(entry.translator(), mask, (process, io), host);
        let mut progress = Progress::default();
        progress.take(live.started(&launch.argv(), &open.carryover), early);
        let mut loaded = open.resume.clone().filter(|_| !open.fork);
        progress.take(live.command(&Command::Open(open)), early);
        let last_deadline = Instant::now() + self.timeout * HANDSHAKE_TIMEOUTS;
        let mut deadline = Instant::now() + self.timeout;
        loop {
            match progress.verdict {
                Some(Verdict::Open) => {
                    if let Some(session) = loaded.take() {
                        entry.tidy_after_load(session).await;
                    }
                    return Ok(Some(live));
                }
                Some(Verdict::Refused(refusal)) => {
                    early.stderr = Some(live.stderr());
                    return Err(StartErrorKind::Refused(refusal));
                }
                None => {}
            }
            // Only what makes sense is progress: a banner that never ends must not renew the deadline.
            if std::mem::take(&mut progress.understood) {
                deadline = last_deadline.min(Instant::now() + self.timeout);
            }
            // A timeout looks at the clock only when there is nothing to read, and a flood always is.
            let next = match Instant::now() < deadline {
                true => timeout_at(deadline, live.next()).await.ok(),
                false => None,
            };
            match next {
                // Line by line, so that a batch of short ones is never held as messages all at once.
                Some(AgentEvent::Lines(lines)) => {
                    lines.into_iter().for_each(|line| progress.take(live.hear(line), early));
                }
                Some(AgentEvent::Sent) => progress.take(live.settle(), early),
                Some(AgentEvent::Host(event)) => progress.take(live.host_event(event), early),
                Some(AgentEvent::Exited(exit)) => {
                    early.stderr = Some(live.stderr());
                    return Err(ended(&mut live, exit, early.discarded));
                }
                None => {
                    let (stderr, discarded) = (live.stderr(), early.discarded);
                    let timeouts = if deadline == last_deadline { HANDSHAKE_TIMEOUTS } else { 1 };
                    let seconds = (self.timeout * timeouts).as_secs();
                    return Err(StartErrorKind::Silent { seconds, stderr, discarded });
                }
            }
        }
    }
}

/// Lets the adapter open a session without a process, which the first message will start. Its program must be there.
fn rehearse(
    entry: &Entry,
    launch: &Launch,
    open: Open,
    early: &mut EarlyOutput,
) -> Result<(), StartErrorKind> {
    launch.check().map_err(StartErrorKind::Spawn)?;
    let mut translator = entry.translator();
    let mut outputs = Vec::new();
    translator.handle(Input::Started { argv: &launch.argv(), carryover: &open.carryover }, &mut outputs);
    translator.handle(Input::Command(&Command::Open(open)), &mut outputs);
    let mut progress = Progress::default();
    progress.take(vec![Translated::of_daemon(outputs)], early);
    match progress.verdict {
        Some(Verdict::Refused(refusal)) => Err(StartErrorKind::Refused(refusal)),
        Some(Verdict::Open) | None => Ok(()),
    }
}

/// An end that comes too early, as the adapter explains it if it can.
fn ended(live: &mut Agent, exit: Exit, discarded: Discarded) -> StartErrorKind {
    let stderr = live.stderr();
    match live.exited(exit).iter().find_map(verdict) {
        Some(Verdict::Refused(refusal)) => StartErrorKind::Refused(refusal),
        Some(Verdict::Open) | None => StartErrorKind::Exited { exit, stderr, discarded },
    }
}

/// How far a start has come.
#[derive(Default)]
struct Progress {
    /// Whether the agent has said something that its adapter knows since this was last looked at.
    understood: bool,
    verdict: Option<Verdict>,
}

impl Progress {
    fn take(&mut self, messages: Vec<Translated>, early: &mut EarlyOutput) {
        for translated in messages {
            self.understood |= translated.is_understood();
            if self.verdict.is_none() {
                self.verdict = verdict(&translated);
            }
            early.push(translated);
        }
    }
}

enum Verdict {
    Open,
    Refused(Refusal),
}

fn verdict(translated: &Translated) -> Option<Verdict> {
    let refused = translated.answers.iter().find_map(|answer| match answer {
        CommandAnswer::Refused(refusal) => Some(Verdict::Refused(refusal.clone())),
        CommandAnswer::Configured(_) | CommandAnswer::ReplyRefused { .. } | CommandAnswer::Closed => None,
    });
    refused.or_else(|| translated.opens_session().then_some(Verdict::Open))
}

impl StartError {
    /// Returns the error for the caller who wanted a session.
    pub(crate) fn into_error(self) -> RuntimeError {
        let agent = self.agent;
        match self.why {
            StartErrorKind::Unknown(error) => error,
            StartErrorKind::Spawn(SpawnError::NotFound { program }) => {
                RuntimeError::not_installed(agent, program, self.install)
            }
            StartErrorKind::Spawn(SpawnError::Directory(path)) => not_a_directory(&path),
            StartErrorKind::Refused(refusal) if refusal.kind == RefusalKind::BadMode => refusal.into(),
            StartErrorKind::Refused(Refusal { kind: RefusalKind::BadRequest, message, .. }) => {
                RuntimeError::InvalidRequest(format!("agent {agent}: {message}"))
            }
            StartErrorKind::Silent { seconds, stderr, discarded } => {
                let hint = output_hint(&stderr, discarded);
                RuntimeError::AgentSilent { agent, what: "handshake", seconds, hint }
            }
            // It runs, or could, and says no.
            why @ (StartErrorKind::Refused(_) | StartErrorKind::GaveUp(_)) => {
                let (message, hint) = why.tell();
                RuntimeError::AgentUnavailable { agent, message, hint }
            }
            why @ (StartErrorKind::Spawn(_) | StartErrorKind::Exited { .. }) => {
                let (message, hint) = why.tell();
                RuntimeError::AgentFailed { agent, message, hint }
            }
        }
    }

    /// Returns the failure of the turn that could not be prompted (T4).
    pub(crate) fn failure(&self) -> Failure {
        let (message, hint) = self.why.tell();
        let code = match &self.why {
            StartErrorKind::Refused(Refusal { kind: RefusalKind::Auth, .. }) => ErrorCode::ProviderAuth,
            _ => ErrorCode::AgentUnavailable,
        };
        let details = hint.map(|hint| serde_json::Map::from_iter([("hint".to_owned(), hint.into())]).into());
        Failure { code, message: format!("agent {} did not start: {message}", self.agent), details }
    }
}

fn bad_request(message: String) -> StartErrorKind {
    StartErrorKind::Refused(Refusal { kind: RefusalKind::BadRequest, message, hint: None })
}

/// Nobody can work there.
pub(crate) fn not_a_directory(path: &Path) -> RuntimeError {
    let name = path.display();
    RuntimeError::InvalidRequest(match path.exists() {
        true => format!("{name} is not a directory"),
        false => format!("directory {name} does not exist"),
    })
}

impl StartErrorKind {
    pub(crate) fn tell(&self) -> (String, Option<String>) {
        match self {
            Self::Unknown(error) => (error.to_string(), error.hint()),
            Self::Spawn(error) => (with_causes(error), None),
            Self::Refused(refusal) => (refusal.message.clone(), refusal.hint.clone()),
            Self::Exited { exit, stderr, discarded } => {
                (format!("it {exit} before it was ready"), output_hint(stderr, *discarded))
            }
            Self::Silent { seconds, stderr, discarded } => {
                let message = format!("it did not answer its handshake within {seconds} s");
                (message, output_hint(stderr, *discarded))
            }
            Self::GaveUp(why) => (why.clone(), None),
        }
    }
}

/// Returns the agent's output as a hint why it did not start.
fn output_hint(stderr: &StderrOutput, discarded: Discarded) -> Option<String> {
    let last = stderr.tail.as_deref().or(stderr.head.as_deref()).unwrap_or_default().trim();
    let stderr = (!last.is_empty()).then(|| format!("its stderr ends with: {last}"));
    let hints = [discarded.hint(), stderr].into_iter().flatten().collect::<Vec<_>>();
    (!hints.is_empty()).then(|| hints.join("; "))
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

//! An agent with a process for each turn: the process takes one prompt, and the session goes on without it.
//!
//! unused ─prompt─► running ─turn.ended─► leaving ─exit─► unused
//!
//! A message that comes while the process leaves waits for its exit; then the next process is started for it.

use omniglot_agents::Lifetime;
use omniglot_schema::{ErrorCode, ResolvedBy, SessionPatch, StderrOutput};
use omniglot_timeline::{Failure, TurnEnd};
use tokio::time::Instant;

use super::{Session, SessionSpec};
use crate::process::Exit;

#[derive(Debug, Default)]
pub(super) enum TurnProcess {
    /// No prompt was sent to it, or the agent's processes are not for single turns.
    #[default]
    Unused,
    Running,
    /// Its turn has ended; it is stopped when it has not exited by then.
    Leaving(Instant),
}

impl TurnProcess {
    pub(super) fn prompted(&mut self, lifetime: Option<Lifetime>) {
        if let Some(Lifetime::Turn) = lifetime {
            *self = Self::Running;
        }
    }

    /// Whether it has had its prompt and takes no other.
    pub(super) fn is_used(&self) -> bool {
        !matches!(self, Self::Unused)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Unused | Self::Running => None,
            Self::Leaving(deadline) => Some(*deadline),
        }
    }
}

impl SessionSpec {
    /// `None` when the configuration does not name the agent any more.
    pub(super) fn lifetime(&self) -> Option<Lifetime> {
        self.launcher.catalog.get(&self.agent).ok().map(|entry| entry.adapter.lifetime)
    }
}

impl Session {
    /// Closes the stdin of a process whose turn has ended, so that it exits.
    pub(super) fn release_turn_process(&mut self) {
        if !matches!(self.turn_process, TurnProcess::Running) || self.timeline.fold().open_turn.is_some() {
            return;
        }
        if let Some(agent) = &mut self.agent {
            agent.close_stdin();
        }
        self.turn_process = TurnProcess::Leaving(Instant::now() + self.spec.deadlines.stop);
    }

    /// New settings are for the next process, so one that still waits for its prompt is stopped.
    pub(super) async fn make_way_for_settings(&mut self, patch: &SessionPatch) {
        let sets = patch.model.is_some()
            || patch.variant.is_some()
            || patch.agent_mode.is_some()
            || patch.permission_mode.is_some();
        let waits = !self.turn_process.is_used() && !self.is_sending();
        if sets && waits && matches!(self.spec.lifetime(), Some(Lifetime::Turn)) {
            self.stop_agent().await;
        }
    }

    /// Stops a process that has not exited in time after its turn.
    pub(super) async fn end_turn_process(&mut self) {
        self.step.begin();
        self.stop_agent().await;
        // One that it began while it left.
        let failure = Failure::new(ErrorCode::Aborted, "the agent's process was stopped after its turn");
        self.close_turn(TurnEnd::failed(failure), ResolvedBy::TurnEnd);
        self.turn_process = TurnProcess::default();
        self.drive();
    }

    /// The exit of such a process ends its turn, if nothing else has, and never the session (T3).
    pub(super) fn turn_process_exited(&mut self, exit: Exit, stderr: &StderrOutput) {
        if self.timeline.fold().open_turn.is_none() {
            return;
        }
        tracing::warn!(session = %self.spec.id, agent = self.spec.agent, %exit, "an agent died in its turn");
        let stderr = stderr.head.is_some().then_some(stderr);
        let failure = Failure::crashed(format!("the agent's process {exit}"), exit.code, stderr);
        self.close_turn(TurnEnd::failed(failure), ResolvedBy::Crash);
    }
}

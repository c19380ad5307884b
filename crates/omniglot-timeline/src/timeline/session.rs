//! The session itself: its start, its state, its end, and how it goes on after that.

use omniglot_schema::{
    EventData, EventSource, ResolvedBy, Resume, SessionEndReason, SessionEndedData, SessionStartedData,
    SessionStartedMetadata, StatePatch, StatusLabel, StderrOutput, StopReason, TeamMember, TerminatedBy,
};

use super::{Effect, Emitted, Stamp, Timeline};
use crate::draft::{DropReason, Failure, ItemKey, SessionStarted, TurnEnd};

/// Why a session ends.
#[derive(Debug, Clone)]
pub enum SessionEnd {
    /// Somebody ended or deleted it.
    Terminated,
    /// Its process died unexpectedly.
    Crashed { message: String, exit_code: Option<i32>, stderr: Option<StderrOutput> },
}

impl Timeline {
    /// Ends the session, after its turn.
    pub fn end_session(&mut self, end: SessionEnd, stamp: Stamp, out: &mut Vec<Emitted>) {
        if self.fold.ended {
            return;
        }
        self.ensure_started(stamp, out);
        let data = match end {
            SessionEnd::Terminated => {
                self.close_turn(TurnEnd::new(StopReason::Cancelled), ResolvedBy::Cancel, stamp, out);
                SessionEndedData {
                    reason: SessionEndReason::Terminated,
                    terminated_by: TerminatedBy::Daemon,
                    message: None,
                    exit_code: None,
                    stderr: None,
                }
            }
            SessionEnd::Crashed { message, exit_code, stderr } => {
                let failure = Failure::crashed(message.clone(), exit_code, stderr.as_ref());
                self.close_turn(TurnEnd::failed(failure), ResolvedBy::Crash, stamp, out);
                SessionEndedData {
                    reason: SessionEndReason::Error,
                    terminated_by: TerminatedBy::Agent,
                    message: Some(message),
                    exit_code,
                    stderr,
                }
            }
        };
        self.forget_run(stamp, out);
        self.emit(EventData::SessionEnded(data), stamp, out);
    }

    /// The agent's process is gone, and its turn is closed: its keys mean nothing any more, and what it was
    /// busy with is over.
    pub fn forget_run(&mut self, stamp: Stamp, out: &mut Vec<Emitted>) {
        if self.turn.is_none() {
            self.close_late(stamp.synthetic(), out);
            if self.fold.started {
                let over = StatePatch {
                    activity: Some(None),
                    subagents: Some(None),
                    team: self.fold.state.team.clone().map(|team| Some(team.at_rest())),
                    ..StatePatch::default()
                };
                self.state(over, stamp.synthetic(), out);
            }
            self.fates.clear();
            self.named.clear();
            self.covered.clear();
            self.effects.retain(|effect| matches!(effect, Effect::Keep(_)));
        }
    }

    pub(super) fn session_started(&mut self, started: SessionStarted, stamp: Stamp, out: &mut Vec<Emitted>) {
        let SessionStarted { native_session_id, agent_version, resume, capabilities } = started;
        self.capabilities = capabilities.or(self.capabilities);
        let natives = self.resumable().zip(native_session_id.as_deref());
        let leaves_native = natives.is_some_and(|(old, new)| old != new);
        let tells_native = native_session_id.is_some();
        if tells_native {
            self.native_session_id = native_session_id;
            self.foreign = false;
        }
        let resume = resume.unwrap_or(Resume::None);
        // Within a turn it is the agent that was given the prompt: it may know its native session only now.
        let begins_anew = match self.turn {
            None => self.fold.ended || self.fold.turns > 0,
            Some(_) => leaves_native,
        };
        let forgotten = self.fold.started && resume == Resume::None && begins_anew;
        match (self.fold.started, self.fold.ended) {
            (false, _) => {
                let agent = Some(self.identity.agent.clone());
                let origin = self.forked_from.take();
                let forked_from = origin.as_ref().map(|origin| origin.session().clone());
                let metadata =
                    SessionStartedMetadata { agent, agent_version, forked_from, ..Default::default() };
                self.emit(
                    EventData::SessionStarted(SessionStartedData { metadata: Some(metadata) }),
                    stamp,
                    out,
                );
                if let Some(origin) = origin {
                    self.copy(origin, out);
                }
            }
            (true, true) => self.resumed(agent_version, resume, stamp, out),
            (true, false) => self.dropped(DropReason::Internal),
        }
        if forgotten {
            // The native session that it will tell later is no news then.
            self.foreign |= !tells_native;
            let detail = "the agent was started anew and does not remember what was said before";
            self.status(StatusLabel::MemoryLost, detail, stamp.synthetic(), out);
        }
    }

    /// An ended session goes on although its agent did not start.
    pub fn reopen(&mut self, stamp: Stamp, out: &mut Vec<Emitted>) {
        if self.fold.ended {
            self.resumed(None, Resume::None, stamp, out);
            let detail = "the agent was not started: whether it remembers is not known";
            self.status(StatusLabel::MemoryLost, detail, stamp, out);
        }
    }

    fn resumed(&mut self, version: Option<String>, resume: Resume, stamp: Stamp, out: &mut Vec<Emitted>) {
        let agent = Some(self.identity.agent.clone());
        let metadata = SessionStartedMetadata {
            agent,
            agent_version: version,
            resumed: Some(true),
            resume: Some(resume),
            forked_from: None,
        };
        self.emit(EventData::SessionStarted(SessionStartedData { metadata: Some(metadata) }), stamp, out);
    }

    pub(super) fn ensure_started(&mut self, stamp: Stamp, out: &mut Vec<Emitted>) {
        if !self.fold.started {
            self.session_started(SessionStarted::default(), stamp.synthetic(), out);
        }
    }

    pub(super) fn state(&mut self, mut patch: StatePatch, stamp: Stamp, out: &mut Vec<Emitted>) {
        self.ensure_started(stamp, out);
        if stamp.source == EventSource::Agent && self.fold.titled {
            // A person's title stays.
            patch.title = None;
        }
        self.resolve_team(&mut patch);
        let mut patch = self.masked(patch);
        let blobs = self.shelve_lists(&mut patch);
        let changed = self.fold.state.clone().apply(patch);
        if changed.is_empty() {
            // Only what an agent says is counted; the daemon may say twice what is so already.
            if stamp.source == EventSource::Agent {
                self.dropped(DropReason::Duplicate);
            }
            return;
        }
        self.keep(blobs);
        self.emit(EventData::SessionUpdated(changed), stamp, out);
    }

    /// An adapter names the item that began a member by its key, which is forgotten before the member is.
    fn resolve_team(&self, patch: &mut StatePatch) {
        let Some(Some(team)) = &mut patch.team else { return };
        let known = self.fold.state.team.as_ref();
        for TeamMember { id, parent_item, .. } in &mut team.members {
            let item = parent_item.take().and_then(|key| self.fates.item(&ItemKey(key)));
            let before = || known?.members.iter().find(|known| known.id == *id)?.parent_item.clone();
            *parent_item = item.map(|item| item.0.clone()).or_else(before);
        }
    }
}

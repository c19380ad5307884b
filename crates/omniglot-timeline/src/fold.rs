//! The fold: what a session is now, computed from its events alone.
//!
//! The Timeline applies its own events to a fold as it makes them, and the store keeps the result, so
//! that nobody ever folds a whole log to serve a session.

use indexmap::IndexMap;
use jiff::Timestamp;
use omniglot_schema::{
    EventData, MessageId, PendingRequest, PermissionStatus, RequestMetadata, SessionState, SessionStats,
    SessionStatus, TurnId, UniversalEvent,
};
use serde::{Deserialize, Serialize};

/// Everything that the events of a session add up to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fold {
    pub last_seq: u64,
    pub last_time: Option<Timestamp>,
    pub started: bool,
    pub ended: bool,
    pub native_session_id: Option<String>,
    pub agent_version: Option<String>,
    pub state: SessionState,
    pub turns: u64,
    pub open_turn: Option<OpenTurn>,
    /// Open permissions and questions by id, oldest first.
    pub pending: IndexMap<String, PendingRequest>,
    pub grants: Vec<Grant>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenTurn {
    pub turn_id: TurnId,
    /// The sequence of its `turn.started`.
    pub seq: u64,
    pub message_id: Option<MessageId>,
}

/// What an `always` covers for the rest of the session (T11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub tool: String,
    pub pattern: String,
}

/// What the store keeps of a session beside its events.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Makes the ids of this session unique.
    pub seed: String,
    pub fold: Fold,
    pub stats: SessionStats,
}

impl Fold {
    pub fn status(&self) -> SessionStatus {
        match (&self.open_turn, self.pending.is_empty()) {
            (None, _) => SessionStatus::Idle,
            (Some(_), true) => SessionStatus::Running,
            (Some(_), false) => SessionStatus::Waiting,
        }
    }

    pub fn granted(&self, tool: Option<&str>, pattern: Option<&str>) -> bool {
        let (Some(tool), Some(pattern)) = (tool, pattern) else { return false };
        self.grants.iter().any(|g| g.tool == tool && g.pattern == pattern)
    }

    pub fn apply(&mut self, event: &UniversalEvent) {
        self.last_seq = event.sequence;
        self.last_time = Some(event.time);
        if event.native_session_id.is_some() {
            self.native_session_id.clone_from(&event.native_session_id);
        }
        match &event.data {
            EventData::SessionStarted(data) => {
                (self.started, self.ended) = (true, false);
                let version = data.metadata.as_ref().and_then(|metadata| metadata.agent_version.clone());
                self.agent_version = version.or(self.agent_version.take());
            }
            EventData::SessionEnded(_) => self.ended = true,
            EventData::SessionUpdated(patch) => drop(self.state.apply(patch.clone())),
            EventData::TurnStarted(turn) => {
                self.turns += 1;
                self.open_turn = Some(OpenTurn {
                    turn_id: turn.turn_id.clone(),
                    seq: event.sequence,
                    message_id: turn.metadata.message_id.clone(),
                });
            }
            EventData::TurnEnded(_) => self.open_turn = None,
            EventData::PermissionRequested(ask) => {
                self.pending.insert(ask.permission_id.to_string(), PendingRequest::Permission(ask.clone()));
            }
            EventData::QuestionRequested(ask) => {
                self.pending.insert(ask.question_id.to_string(), PendingRequest::Question(ask.clone()));
            }
            EventData::PermissionResolved(answer) => {
                self.pending.shift_remove(answer.permission_id.as_str());
                if answer.status == PermissionStatus::AcceptForSession {
                    self.remember_grant(answer.metadata.as_ref());
                }
            }
            EventData::QuestionResolved(answer) => {
                self.pending.shift_remove(answer.question_id.as_str());
            }
            EventData::ItemStarted(_)
            | EventData::ItemDelta(_)
            | EventData::ItemCompleted(_)
            | EventData::Error(_)
            | EventData::AgentUnparsed(_) => {}
        }
    }

    fn remember_grant(&mut self, metadata: Option<&RequestMetadata>) {
        let Some((tool, pattern)) = metadata.and_then(|m| m.tool.clone().zip(m.pattern.clone())) else {
            return;
        };
        let grant = Grant { tool, pattern };
        if !self.grants.contains(&grant) {
            self.grants.push(grant);
        }
    }
}

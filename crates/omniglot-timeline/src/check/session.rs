//! One session while its events are walked: the envelope, the session's own starts and ends, and the
//! table that hands each event to its group of rules.

use std::collections::HashSet;

use jiff::Timestamp;
use omniglot_schema::{
    AgentUnparsedData, EventData, EventId, EventSource, Resume, SessionEndReason, SessionEndedData,
    SessionStartedData, StatePatch, TerminatedBy, UniversalEvent,
};

use super::items::Items;
use super::requests::Requests;
use super::turns::Turns;
use super::{Allow, Code, Violation};

#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) violations: Vec<Violation>,
    pub(super) sequence: u64,
    time: Option<Timestamp>,
    event_ids: HashSet<EventId>,
    starts: usize,
    /// An event that is no copy has followed the first.
    has_own: bool,
    live: bool,
    /// The agent was resumed without memory, and no status item has said so yet.
    pub(super) owes_memory_lost: bool,
    pub(super) turns: Turns,
    pub(super) items: Items,
    pub(super) requests: Requests,
    pub(super) unparsed: usize,
}

impl Session {
    pub(super) fn say(&mut self, code: Code, text: impl Into<String>) {
        self.violations.push(Violation { code, sequence: self.sequence, text: text.into() });
    }

    pub(super) fn event(&mut self, event: &UniversalEvent) {
        let first = self.event_ids.is_empty();
        self.envelope(event);
        self.place(event, first);
        self.turn_order(event);
        match &event.data {
            EventData::SessionStarted(data) => self.session_started(data),
            EventData::SessionEnded(data) => self.session_ended(data),
            EventData::SessionUpdated(patch) => self.session_updated(patch),
            EventData::TurnStarted(data) => self.turn_started(data),
            EventData::TurnEnded(data) => self.turn_ended(data),
            EventData::ItemStarted(data) => self.item_started(&data.item),
            EventData::ItemDelta(data) => self.item_delta(data),
            EventData::ItemCompleted(data) => self.item_completed(&data.item),
            EventData::Error(data) => self.error(data),
            EventData::PermissionRequested(data) => self.permission_requested(data),
            EventData::PermissionResolved(data) => self.permission_resolved(data),
            EventData::QuestionRequested(data) => self.question_requested(data),
            EventData::QuestionResolved(data) => self.question_resolved(data),
            EventData::AgentUnparsed(data) => self.agent_unparsed(data),
        }
    }

    pub(super) fn finish(&mut self, allow: Allow) {
        if !allow.open_turn {
            if self.turns.open.is_some() {
                self.say(Code::TurnOpen, "the stream ends inside a turn");
            } else {
                self.items.allow_open_late();
            }
            self.nothing_open("the end of the stream");
        }
        if self.unparsed > 0 && !allow.unparsed {
            self.say(Code::Unparsed, format!("{} agent.unparsed", self.unparsed));
        }
    }

    /// Reports each item and request that outlives `when`, once.
    pub(super) fn nothing_open(&mut self, when: &str) {
        for item in self.items.report_open() {
            self.say(Code::ItemOpen, format!("item {item} is open at {when}"));
        }
        for request in self.requests.report_open() {
            self.say(Code::RequestOpen, format!("{request} is not resolved at {when}"));
        }
    }

    pub(super) fn prefix(&mut self, prefix: &str, id: &str) {
        if id.strip_prefix(prefix).is_none_or(str::is_empty) {
            self.say(Code::IdPrefix, format!("{id:?} does not begin with {prefix}"));
        }
    }

    fn envelope(&mut self, event: &UniversalEvent) {
        let before = std::mem::replace(&mut self.sequence, event.sequence);
        if event.sequence != before.saturating_add(1) {
            self.say(Code::Sequence, format!("{} after {before}", event.sequence));
        }
        self.prefix("evt_", event.event_id.as_str());
        if !self.event_ids.insert(event.event_id.clone()) {
            self.say(Code::EventId, format!("{} is used twice", event.event_id));
        }
        if event.synthetic != (event.source == EventSource::Daemon) {
            self.say(Code::Synthetic, format!("synthetic={} by {:?}", event.synthetic, event.source));
        }
        if event.source == EventSource::Agent && matches!(event.data, EventData::AgentUnparsed(_)) {
            self.say(Code::Synthetic, "agent.unparsed by the agent");
        }
        self.copy(event);
        if event.copied_from().is_none() && self.time.is_some_and(|time| event.time < time) {
            self.say(Code::Time, format!("goes backwards to {}", event.time));
        }
        self.time = self.time.max(Some(event.time));
    }

    /// Copies stand together behind the first event.
    fn copy(&mut self, event: &UniversalEvent) {
        let is_copy = event.copied_from().is_some();
        let own = event.sequence > 1 && !is_copy;
        if is_copy && (self.has_own || event.sequence < 2) {
            self.say(Code::Copied, "a copied event that does not follow the first event or another copy");
        }
        if is_copy && event.native_session_id.is_some() {
            self.say(Code::Copied, "a copied event with a native session");
        }
        self.has_own |= own;
    }

    fn place(&mut self, event: &UniversalEvent, first: bool) {
        let starts = matches!(event.data, EventData::SessionStarted(_));
        let updates = matches!(event.data, EventData::SessionUpdated(_));
        let kind = event.kind().as_str();
        if first && !starts {
            self.say(Code::SessionFirst, format!("the first event is {kind}"));
        } else if !first && !self.live && !starts && !updates {
            self.say(Code::SessionClosed, format!("{kind} while the session is ended"));
        }
        // One complaint about a missing start is enough.
        self.live |= first;
    }

    fn session_started(&mut self, data: &SessionStartedData) {
        // `place` has counted the first event as a start.
        if self.live && self.starts > 0 {
            self.say(Code::SessionAlternation, "session.started while it is started");
        }
        let metadata = data.metadata.clone().unwrap_or_default();
        if self.starts > 0 && (metadata.resumed != Some(true) || metadata.resume.is_none()) {
            self.say(Code::ResumedFlag, "a later session.started needs metadata.resumed and resume");
        }
        self.owes_memory_lost = self.starts > 0 && metadata.resume == Some(Resume::None);
        self.starts += 1;
        self.live = true;
    }

    fn session_ended(&mut self, data: &SessionEndedData) {
        if self.turns.open.is_some() {
            self.say(Code::TurnOpen, "session.ended inside a turn");
        }
        self.nothing_open("session.ended");
        self.live = false;
        let told = data.message.is_some() || data.exit_code.is_some();
        let lawful = match (data.reason, data.terminated_by) {
            (SessionEndReason::Error, TerminatedBy::Agent) => told,
            (SessionEndReason::Terminated, TerminatedBy::Daemon) => !told && data.stderr.is_none(),
            _ => false,
        };
        if !lawful {
            self.say(
                Code::SessionEnded,
                "an end is `error` by the agent, with its cause, or bare `terminated`",
            );
        }
    }

    fn session_updated(&mut self, patch: &StatePatch) {
        if patch.is_empty() {
            self.say(Code::StateEmpty, "session.updated changes nothing");
        }
    }

    fn agent_unparsed(&mut self, data: &AgentUnparsedData) {
        self.unparsed += 1;
        let hex = |hash: &str| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
        if data.raw_hash.as_deref().is_some_and(|hash| !hex(hash)) {
            self.say(Code::RawHash, "raw_hash is not a sha256 in hex");
        }
    }
}

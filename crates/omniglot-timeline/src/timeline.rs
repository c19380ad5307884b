//! The Timeline: the one place that keeps the rules of the stream (T1 to T18).
//!
//! A pure state machine per session. Whatever drafts come in, in whatever order, the events that go
//! out are lawful: dense sequences, every item and turn ended exactly once, every request resolved.
//! Leaves clocks, storage and processes to the runtime, and the meaning of native messages to adapters.

mod blobs;
mod bodies;
mod bounds;
mod calls;
mod closing;
mod content;
mod copies;
mod fates;
mod items;
mod late;
mod masking;
mod requests;
mod restore;
mod session;
mod turns;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use omniglot_schema::{
    AgentCapabilities, AgentUnparsedData, EventData, EventId, EventSource, MessageId, SessionId,
    SessionStats, StatusLabel, SteeringMetadata, UniversalEvent,
};

use crate::draft::{Body, Draft, DropReason, ItemKey, RequestKey, Ruled, Unparsed};
use crate::fold::{Fold, Snapshot};
use crate::ordered::Ordered;

pub use blobs::{Blob, inline_file, inline_image};
pub use bounds::{Bounds, MOST_ITEM_BYTES};
pub use copies::{ForkSource, ForkSourceReader};
use fates::Fates;
use masking::Masking;
pub use masking::TornFrame;
use requests::OpenRequest;
pub use restore::Restoring;
pub use session::SessionEnd;
use turns::Turn;

/// Which session a Timeline is for.
#[derive(Debug, Clone)]
pub struct Identity {
    pub session_id: SessionId,
    /// The first half of status labels.
    pub agent: String,
}

/// When and from where something reached the Timeline.
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    pub now: Timestamp,
    pub source: EventSource,
    /// The native frame that this comes from.
    pub frame: Option<u64>,
    /// A clock that nobody sets, for durations; its zero is anywhere.
    pub ticks: Option<Duration>,
}

impl Stamp {
    pub fn agent(now: Timestamp, frame: u64) -> Self {
        Self { now, source: EventSource::Agent, frame: Some(frame), ticks: None }
    }

    pub fn daemon(now: Timestamp) -> Self {
        Self { now, source: EventSource::Daemon, frame: None, ticks: None }
    }

    /// The same moment and frame, for an event that the Timeline adds by itself.
    fn synthetic(self) -> Self {
        Self { source: EventSource::Daemon, ..self }
    }
}

/// An event, and the native frame it was made from.
#[derive(Debug, Clone)]
pub struct Emitted {
    pub event: UniversalEvent,
    pub frame: Option<u64>,
}

/// Something that follows from the events so far and is for the runtime to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// A standing grant covers this permission: accept it once, without any event.
    Grant(RequestKey),
    /// A rule accepts or rejects this permission; the message is for the agent.
    Decide { key: RequestKey, accept: bool, message: Option<String> },
    /// Nobody will answer this question: reject it.
    Reject(RequestKey),
    /// This request was resolved over the agent's head: tell the agent.
    Withdraw(RequestKey),
    /// An event names this blob: keep it no later than the event.
    Keep(Blob),
}

/// Turns drafts into the lawful events of one session.
///
/// Ids hold the sequence at which their owner was born, so they are unique without a counter to keep.
#[derive(Debug)]
pub struct Timeline {
    identity: Identity,
    seed: String,
    fold: Fold,
    stats: SessionStats,
    native_session_id: Option<String>,
    /// The native session belongs to the log that this one was imported from.
    foreign: bool,
    /// The session that this one begins as a copy of, until that is told.
    forked_from: Option<ForkSource>,
    /// The number of events that are copies of the origin's.
    copied: u64,
    capabilities: Option<AgentCapabilities>,
    bounds: Bounds,
    turn: Option<Turn>,
    fates: Fates,
    requests: Ordered<RequestKey, OpenRequest>,
    /// Requests that a standing grant covers, until their answer is sent, each with the call that we made for it.
    covered: Ordered<RequestKey, Option<ItemKey>>,
    /// Nobody is there to answer questions.
    refuses_questions: bool,
    effects: Vec<Effect>,
    /// The authors of messages that were sent and that have no turn yet. Those of messages that steer stay: one that
    /// came too late begins the next turn.
    named: HashMap<MessageId, Author>,
    /// The messages that were posted into the running turn, by their items.
    steering: HashMap<ItemKey, SteeringMetadata>,
    /// The names of those whose replies are on their way to the agent.
    repliers: HashMap<RequestKey, Replier>,
    /// The decisions of rules about permissions that are not resolved yet.
    ruled: HashMap<RequestKey, Ruled>,
    /// `None` as long as there is nothing to hide.
    masking: Option<Box<Masking>>,
}

/// A person who has replied to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replier {
    /// The one with the token of this name.
    Named(String),
    /// The one who had the link of a call.
    Link,
}

/// The client that has posted a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Author {
    /// The client's own ids of the message and its parts.
    pub client_ids: Vec<String>,
    /// The name of the client's token.
    pub by: Option<String>,
    /// The client's own `metadata` of the message.
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
}

impl Timeline {
    /// A session that begins now. `seed` must differ between sessions.
    pub fn new(identity: Identity, seed: impl Into<String>) -> Self {
        Self::from_snapshot(identity, Snapshot { seed: seed.into(), ..Snapshot::default() })
    }

    /// A session that begins now as a copy of `origin`.
    pub fn forked(identity: Identity, seed: impl Into<String>, origin: ForkSource) -> Self {
        Self { forked_from: Some(origin), ..Self::new(identity, seed) }
    }

    fn from_snapshot(identity: Identity, snapshot: Snapshot) -> Self {
        Self {
            identity,
            seed: snapshot.seed,
            native_session_id: snapshot.fold.native_session_id.clone(),
            fold: snapshot.fold,
            stats: snapshot.stats,
            foreign: snapshot.foreign,
            capabilities: snapshot.capabilities,
            forked_from: None,
            copied: 0,
            bounds: Bounds::default(),
            turn: None,
            fates: Fates::default(),
            requests: Ordered::default(),
            covered: Ordered::default(),
            refuses_questions: false,
            effects: Vec::new(),
            named: HashMap::new(),
            steering: HashMap::new(),
            repliers: HashMap::new(),
            ruled: HashMap::new(),
            masking: None,
        }
    }

    /// The turn of this message, or its item in a turn that runs, will tell its author, and what that client calls the message and its parts.
    pub fn name_message(&mut self, message: &MessageId, author: Author) {
        if author != Author::default() {
            self.named.insert(message.clone(), author);
        }
    }

    /// The resolution of this request will tell who has replied, if it is by this reply.
    pub fn name_reply(&mut self, request: &RequestKey, by: Option<Replier>) {
        match by {
            Some(by) => self.repliers.insert(request.clone(), by),
            None => self.repliers.remove(request),
        };
    }

    /// The next permission of this key is decided by a rule; `None` leaves it to a person again.
    pub fn rule(&mut self, request: &RequestKey, ruled: Option<Ruled>) {
        match ruled {
            Some(ruled) => self.ruled.insert(request.clone(), ruled),
            None => self.ruled.remove(request),
        };
    }

    pub fn fold(&self) -> &Fold {
        &self.fold
    }

    /// Returns the capabilities that the agent told in its last handshake.
    pub fn capabilities(&self) -> Option<AgentCapabilities> {
        self.capabilities
    }

    pub fn stats(&self) -> &SessionStats {
        &self.stats
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            seed: self.seed.clone(),
            fold: self.fold.clone(),
            stats: self.stats.clone(),
            foreign: self.foreign,
            capabilities: self.capabilities,
        }
    }

    /// The native session that the agent is asked to continue, if it has one of its own.
    pub fn resumable(&self) -> Option<&str> {
        self.fold.native_session_id.as_deref().filter(|_| !self.foreign)
    }

    /// From now on every question is one that nobody will answer.
    pub fn refuse_questions(&mut self) {
        self.refuses_questions = true;
    }

    /// Returns the effects since the last call, in their order.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Makes a draft lawful.
    pub fn apply(&mut self, mut draft: Draft, stamp: Stamp, out: &mut Vec<Emitted>) {
        self.shelve_parts(&mut draft, stamp, out);
        match draft {
            Draft::SessionStarted(started) => self.session_started(started, stamp, out),
            Draft::SessionForgotten => self.foreign = true,
            Draft::State(patch) => self.state(*patch, stamp, out),
            draft if self.fold.ended => {
                drop(draft);
                self.dropped(DropReason::Superseded);
            }
            draft => {
                self.ensure_started(stamp, out);
                self.apply_live(draft, stamp, out);
            }
        }
    }

    fn apply_live(&mut self, draft: Draft, stamp: Stamp, out: &mut Vec<Emitted>) {
        if !self.may_precede_echo(&draft) {
            self.complete_user_item(stamp.synthetic(), out);
        }
        match draft {
            Draft::TurnStarted(origin) => self.turn_started(origin, stamp, out),
            Draft::UserEcho { item, native_id } => self.user_echo(item, native_id, stamp, out),
            Draft::Steered { message_id, start } => self.steered(message_id, start, stamp, out),
            Draft::TurnEnded(end) => self.turn_ended(end, stamp, out),
            Draft::ItemStarted(start) => self.item_started(start, stamp, out),
            Draft::ItemDelta { key, delta } => self.item_delta(&key, delta, stamp, out),
            Draft::ItemCompleted(end) => self.item_completed(end, stamp, out),
            Draft::CallStarted(start) => self.call_started(start, stamp, out),
            Draft::CallInput { key, delta } => self.call_input(&key, delta, stamp, out),
            Draft::CallReady { key, call } => self.call_ready(&key, call, stamp, out),
            Draft::CallOutput { key, delta } => self.call_output(&key, delta, stamp, out),
            Draft::CallEnded(end) => self.call_ended(end, stamp, out),
            Draft::PermissionRequested(ask) => self.permission_requested(ask, stamp, out),
            Draft::PermissionResolved { key, status, by, message } => {
                self.permission_resolved(&key, status, by, message, stamp, out);
            }
            Draft::QuestionRequested(ask) => self.question_requested(ask, stamp, out),
            Draft::QuestionResolved { key, answers, by } => {
                self.question_resolved(&key, answers, by, stamp, out)
            }
            Draft::Error(failure) => self.error(failure, stamp, out),
            Draft::SessionStarted(_) | Draft::SessionForgotten | Draft::State(_) => {}
        }
    }

    /// Records a native message that was not understood. That is the daemon's statement about the frame, not
    /// the agent's.
    pub fn unparsed(&mut self, unparsed: Unparsed, stamp: Stamp, out: &mut Vec<Emitted>) {
        if self.fold.ended {
            return self.dropped(DropReason::Superseded);
        }
        self.ensure_started(stamp, out);
        self.stats.unparsed += 1;
        let Unparsed { error, location, raw_hash } = unparsed;
        let data = AgentUnparsedData { error, location, raw_hash };
        self.emit(EventData::AgentUnparsed(data), stamp.synthetic(), out);
    }

    /// Counts a native message that carries nothing for the stream.
    pub fn dropped(&mut self, reason: DropReason) {
        *self.stats.dropped.entry(reason.as_str().to_owned()).or_default() += 1;
    }

    /// Adds a status item, complete in itself.
    pub fn status(
        &mut self,
        label: StatusLabel,
        detail: impl Into<String>,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        self.ensure_started(stamp, out);
        let body = Body::Status { label, detail: Some(detail.into()) };
        self.whole_item(body, None, None, stamp, out);
    }

    /// Every event passes here.
    fn emit(&mut self, data: EventData, stamp: Stamp, out: &mut Vec<Emitted>) {
        match self.masking.take() {
            None => self.emit_as_is(data, stamp, out),
            Some(mut masking) => {
                self.emit_masked(&mut masking, data, stamp, out);
                self.masking = Some(masking);
            }
        }
    }

    /// The only place where an envelope is built.
    fn emit_as_is(&mut self, data: EventData, stamp: Stamp, out: &mut Vec<Emitted>) {
        let sequence = self.next_seq();
        let time = self.fold.last_time.map_or(stamp.now, |last| last.max(stamp.now));
        let event = UniversalEvent {
            event_id: EventId(self.mint("evt")),
            sequence,
            time,
            session_id: self.identity.session_id.clone(),
            native_session_id: self.native_session_id.clone(),
            source: stamp.source,
            synthetic: stamp.source == EventSource::Daemon,
            metadata: None,
            data,
            raw: None,
        };
        self.fold.apply(&event);
        out.push(Emitted { event, frame: stamp.frame });
    }

    fn next_seq(&self) -> u64 {
        self.fold.last_seq + 1
    }

    /// An id for what the next event brings into being.
    fn mint(&self, prefix: &str) -> String {
        let mut digits = itoa::Buffer::new();
        [prefix, "_", &self.seed, "_", digits.format(self.next_seq())].concat()
    }
}

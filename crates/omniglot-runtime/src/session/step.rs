//! One step of a session: what it hears becomes frames and events, and these one append.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use omniglot_agents::{Command, CommandAnswer, Refusal, StreamOutput, Unparsed};
use omniglot_schema::{ErrorCode, EventData, PermissionReply, StatusLabel, StopReason, UniversalEventType};
use omniglot_store::{Batch, Blob, Durability, Frame, NewEvent, QueueOp, Receipt, RecordUpdate};
use omniglot_timeline::{Draft, DropReason, Effect, Emitted, Stamp, Timeline};

use super::{Commit, InFlight, Session, SessionSpec};
use crate::agent::Translated;
use crate::agent::credentials::Trial;
use crate::agent::early::EarlyOutput;
use crate::digest::sha256;
use crate::log_context;
use crate::metrics::AgentMetrics;

/// The changes since the last append.
#[derive(Debug)]
pub(crate) struct Step {
    now: Timestamp,
    ticks: Duration,
    last_frame: u64,
    frames: Vec<Frame>,
    events: Vec<Emitted>,
    blobs: Vec<Blob>,
    /// The replies that nobody decides on, until the agent is told.
    pub(super) replies: Vec<Command>,
    pub(super) queue: Vec<QueueOp>,
    pub(super) receipt: Option<Receipt>,
    /// Whether its turns are those of a person alone.
    without_agent: bool,
}

/// Room for an event of the most frequent kind, a delta.
const USUAL_EVENT: usize = 448;

impl Step {
    pub(crate) fn new(last_frame: u64) -> Self {
        Self {
            now: Timestamp::now(),
            ticks: ticks(),
            last_frame,
            frames: vec![],
            events: vec![],
            blobs: vec![],
            replies: vec![],
            queue: vec![],
            receipt: None,
            without_agent: false,
        }
    }

    pub(super) fn begin(&mut self) {
        (self.now, self.ticks) = (Timestamp::now(), ticks());
    }

    /// The end of a turn in this step tells nothing of the agent and its credentials.
    pub(super) fn says_nothing_of_agent(&mut self) {
        self.without_agent = true;
    }

    fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.events.is_empty() && self.queue.is_empty() && self.receipt.is_none()
    }

    fn stamp(&self) -> Stamp {
        Stamp { ticks: Some(self.ticks), ..Stamp::daemon(self.now) }
    }

    /// Numbers and keeps what was heard, and lets the Timeline make events of it.
    pub(crate) fn absorb(&mut self, timeline: &mut Timeline, heard: Vec<Translated>) {
        for Translated { frame, source, stream, answers } in heard {
            let frame_no = frame.clone().map(|bytes| self.keep(bytes));
            let stamp = Stamp { source, frame: frame_no, ..self.stamp() };
            for mut output in stream {
                if let StreamOutput::Unparsed(Unparsed { raw_hash: hash @ None, .. }) = &mut output {
                    *hash = frame.as_deref().map(sha256);
                }
                output.apply(timeline, stamp, &mut self.events);
            }
            for answer in answers {
                match answer {
                    CommandAnswer::Refused(Refusal { message, .. }) => {
                        timeline.status(StatusLabel::Warning, message, stamp, &mut self.events);
                    }
                    CommandAnswer::ReplyRefused { message, .. } => {
                        let detail = format!("the agent did not take a reply: {message}");
                        timeline.status(StatusLabel::Warning, detail, stamp, &mut self.events);
                    }
                    // The session itself looks out for the end of its settings, and `close` for its own.
                    CommandAnswer::Configured(_) | CommandAnswer::Closed => {}
                }
            }
        }
    }

    /// As [`absorb`](Self::absorb), for what was said until the session was open, or could not be.
    pub(crate) fn absorb_early(&mut self, timeline: &mut Timeline, early: EarlyOutput) {
        if let Some(secrets) = early.secrets {
            timeline.hide(secrets);
        }
        (0..early.replayed).for_each(|_| timeline.dropped(DropReason::Replay));
        self.absorb(timeline, early.translated);
    }

    fn keep(&mut self, bytes: Bytes) -> u64 {
        self.last_frame += 1;
        self.frames.push(Frame { no: self.last_frame, bytes });
        self.last_frame
    }

    pub(crate) fn draft(&mut self, timeline: &mut Timeline, draft: Draft) {
        timeline.apply(draft, self.stamp(), &mut self.events);
    }

    /// Lets the caller use the Timeline with this step's stamp and events.
    pub(crate) fn with<T>(&mut self, act: impl FnOnce(Stamp, &mut Vec<Emitted>) -> T) -> T {
        act(self.stamp(), &mut self.events)
    }

    /// Returns the native frames of this step, without what their events hold back of secrets.
    pub(crate) fn take_frames(&mut self, timeline: &mut Timeline) -> Vec<Frame> {
        for torn in timeline.take_torn_frames() {
            if let Some(frame) = self.frames.iter_mut().find(|frame| frame.no == torn.frame) {
                frame.bytes = torn.mask(&frame.bytes).into();
            }
        }
        std::mem::take(&mut self.frames)
    }

    pub(crate) fn take_events(&mut self) -> Vec<NewEvent> {
        // One allocation for the whole step: events are small and many.
        let mut json = Vec::with_capacity(self.events.len() * USUAL_EVENT);
        let encoded: Vec<_> = self.events.drain(..).map(|emitted| encode(emitted, &mut json)).collect();
        let mut json = Bytes::from(json);
        let cut = |(event, length)| NewEvent { json: json.split_to(length), ..event };
        encoded.into_iter().map(cut).collect()
    }

    /// Returns the blobs that the events of this step name.
    pub(crate) fn take_blobs(&mut self, timeline: &mut Timeline) -> Vec<Blob> {
        self.collect_effects(timeline);
        std::mem::take(&mut self.blobs)
    }

    /// Returns the replies that the agent waits for.
    pub(super) fn take_replies(&mut self, timeline: &mut Timeline) -> Vec<Command> {
        self.collect_effects(timeline);
        std::mem::take(&mut self.replies)
    }

    fn collect_effects(&mut self, timeline: &mut Timeline) {
        for effect in timeline.take_effects() {
            self.replies.push(match effect {
                // The grant is ours to keep: told `always` again, an agent would go back to a mode that the
                // person has left since.
                Effect::Grant(key) => {
                    Command::ReplyPermission { key, reply: PermissionReply::Once, message: None }
                }
                Effect::Decide { key, accept, message } => {
                    let reply = if accept { PermissionReply::Once } else { PermissionReply::Reject };
                    Command::ReplyPermission { key, reply, message }
                }
                Effect::Reject(key) => Command::ReplyQuestion { key, answers: None },
                Effect::Withdraw(key) => Command::Withdraw { key },
                Effect::Keep(omniglot_timeline::Blob { name, mime, bytes }) => {
                    self.blobs.push(Blob { name, mime, bytes: bytes.into() });
                    continue;
                }
            });
        }
    }
}

impl Session {
    pub(super) fn absorb(&mut self, heard: Vec<Translated>) {
        self.configuring.hear(&heard);
        self.decide_by_rules(&heard);
        self.note_client_replies(&heard);
        self.metrics().heard(heard.iter().flat_map(|translated| &translated.stream));
        self.step.absorb(&mut self.timeline, heard);
    }

    pub(super) fn absorb_early(&mut self, early: EarlyOutput) {
        self.configuring.hear(&early.translated);
        early.count(self.metrics());
        self.step.absorb_early(&mut self.timeline, early);
    }

    /// Returns the counters of its agent.
    fn metrics(&self) -> &AgentMetrics {
        self.spec.launcher.metrics.of(&self.spec.agent)
    }

    pub(super) fn draft(&mut self, draft: Draft) {
        self.step.draft(&mut self.timeline, draft);
    }

    /// Appends the step; resolves when it is committed. The end of a turn is always power-safe.
    pub(super) fn commit(&mut self, durability: Durability) -> Commit {
        let record = self.step.events.iter().any(|emitted| matters(&self.timeline, emitted));
        self.append(record, durability)
    }

    /// The last append of a session's life also keeps what was only counted.
    pub(super) fn commit_last(&mut self) -> Commit {
        self.append(true, Durability::Power)
    }

    fn append(&mut self, record: bool, durability: Durability) -> Commit {
        let ends_turn = self.step.events.iter().any(|e| e.event.kind() == UniversalEventType::TurnEnded);
        for Emitted { event, .. } in &self.step.events {
            self.metrics().emitted(event);
            log_context::note(event);
        }
        let without_agent = std::mem::take(&mut self.step.without_agent);
        if ends_turn && !without_agent {
            self.note_credentials();
        }
        let batch = Batch {
            session: self.spec.no,
            frames: self.step.take_frames(&mut self.timeline),
            events: self.step.take_events(),
            blobs: self.step.take_blobs(&mut self.timeline),
            record: record.then(|| record_of(&self.timeline)),
            queue: std::mem::take(&mut self.step.queue),
            receipt: self.step.receipt.take(),
            durability: if ends_turn { Durability::Power } else { durability },
        };
        self.store.append(batch)
    }

    /// Tells what the end of a turn says about the agent's credentials: most ends say nothing.
    fn note_credentials(&self) {
        let SessionSpec { agent, credentials, .. } = &self.spec;
        let trial = if self.agent.is_some() { Trial::Turn } else { Trial::Opening };
        for Emitted { event, .. } in &self.step.events {
            if let EventData::Error(error) = &event.data
                && error.code == Some(ErrorCode::ProviderAuth)
            {
                credentials.refused(agent, trial);
            }
            if let EventData::TurnEnded(end) = &event.data
                && end.metadata.stop_reason == StopReason::EndTurn
            {
                credentials.accepted(agent, trial);
            }
        }
    }

    /// Appends the step, if there is anything in it, without waiting. The log takes nothing more of a session
    /// whose append it has refused, nor of one that is to be deleted. The end of a turn waits for its snapshot.
    pub(super) fn commit_in_flight(&mut self) {
        if self.broken {
            self.step = Step::new(self.step.last_frame);
        } else if !self.step.is_empty() && self.work_tree.hold_deadline().is_none() {
            let commit = self.commit(Durability::Crash);
            self.in_flight.push_back(InFlight { commit, waiting: None });
        }
    }
}

/// The time since the first look at it, by a clock that nobody sets.
fn ticks() -> Duration {
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    FIRST.elapsed()
}

/// Whether an event changes more of the session's row than its last sequence. Within a turn a restart
/// reads the events themselves; outside one the row must be exact.
fn matters(timeline: &Timeline, emitted: &Emitted) -> bool {
    use UniversalEventType as Kind;
    match emitted.event.kind() {
        Kind::ItemStarted | Kind::ItemDelta | Kind::ItemCompleted | Kind::Error | Kind::AgentUnparsed => {
            timeline.fold().open_turn.is_none()
        }
        Kind::SessionStarted
        | Kind::SessionEnded
        | Kind::SessionUpdated
        | Kind::TurnStarted
        | Kind::TurnEnded
        | Kind::PermissionRequested
        | Kind::PermissionResolved
        | Kind::QuestionRequested
        | Kind::QuestionResolved => true,
    }
}

/// The session's row as it is now.
pub(crate) fn record_of(timeline: &Timeline) -> RecordUpdate {
    let fold = timeline.fold();
    // A process is something to close, too: its state says that it is connected.
    let connected = fold.state.connection.map(|_| fold.last_seq + 1);
    RecordUpdate {
        fold: json(&timeline.snapshot()),
        ended: fold.ended,
        open_from: fold.open_turn.as_ref().map(|turn| turn.seq).or(connected),
    }
}

/// Writes an event's JSON behind what `json` has, and tells how long it is.
fn encode(emitted: Emitted, json: &mut Vec<u8>) -> (NewEvent, usize) {
    let Emitted { event, frame } = emitted;
    let before = json.len();
    if let Err(error) = serde_json::to_writer(&mut *json, &event) {
        // Our own types always serialise; see `json`.
        tracing::error!(%error, "an event did not serialise");
    }
    let new = NewEvent {
        seq: event.sequence,
        kind: event.kind(),
        time_us: event.time.as_microsecond(),
        json: Bytes::new(),
        frame_no: frame,
    };
    (new, json.len() - before)
}

/// Our own types always serialise: their maps have string keys and their numbers are finite or null.
fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| {
        tracing::error!(%error, "a value of ours did not serialise");
        "null".to_owned()
    })
}

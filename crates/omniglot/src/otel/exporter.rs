//! Sends the spans of every turn that ends while the daemon runs.
//!
//! It reads the log at its own pace: a collector that is away holds up nothing but this.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use omniglot_runtime::{AllEvents, AllEventsFilter, AllEventsPiece, CommitPosition, Hub, RuntimeError};
use omniglot_schema::{EventData, SessionId, UniversalEvent};
use omniglot_store::{StoreError, StoredEvent};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::otlp::Collector;
use super::spans::{EVENT_TYPES, SessionSpans, Span};

/// The most bytes of events that are read at a time.
const PAGE_BYTES: usize = 1 << 20;
/// The pause before spans are sent again; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The time that a daemon which stops waits for a collector.
const FAREWELL: Duration = Duration::from_secs(5);

/// The task that exports what happens from its start on.
pub(crate) struct Exporter {
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl Exporter {
    pub(crate) async fn start(hub: Hub, collector: Collector) -> Result<Self, RuntimeError> {
        let work = Work::new(hub, collector).await?;
        let (stop, stopped) = oneshot::channel();
        Ok(Self { task: tokio::spawn(work.run(stopped)), stop })
    }

    /// Sends what the log has until now.
    pub(crate) async fn finish(mut self) {
        // A task that has ended hears nothing.
        let _ended = self.stop.send(());
        if tokio::time::timeout(FAREWELL, &mut self.task).await.is_err() {
            tracing::warn!(
                "the collector has not taken the last spans; `omniglot sessions export --otel` has them"
            );
            self.task.abort();
        }
    }
}

struct Work {
    hub: Hub,
    collector: Collector,
    events: AllEvents,
    /// The commit up to which everything was read.
    position: u64,
    /// A turn that began earlier was imported.
    started: Timestamp,
    /// The sessions whose turn is under way.
    sessions: HashMap<SessionId, SessionSpans>,
}

impl Work {
    async fn new(hub: Hub, collector: Collector) -> Result<Self, RuntimeError> {
        let position = hub.commit_head().await?.last;
        let (events, started) = (follow(&hub, position), Timestamp::now());
        Ok(Self { hub, collector, events, position, started, sessions: HashMap::new() })
    }

    async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        let mut last = None;
        while last.is_none_or(|last| self.position < last) {
            let piece = tokio::select! {
                piece = self.events.next(PAGE_BYTES) => piece,
                _ = &mut stopped, if last.is_none() => {
                    last = Some(self.hub.commit_head().await.map_or(0, |head| head.last));
                    continue;
                }
            };
            match piece {
                Ok(piece) => self.piece(piece).await,
                Err(RuntimeError::Stopping) => return,
                Err(RuntimeError::Store(StoreError::Pruned { .. })) => self.skip().await,
                Err(error) => {
                    tracing::warn!(%error, "the log cannot be read for traces");
                    tokio::time::sleep(FIRST_PAUSE).await;
                }
            }
        }
    }

    /// The collector was away for so long that the log does not have the order of what it has missed any more.
    async fn skip(&mut self) {
        let Ok(head) = self.hub.commit_head().await else { return };
        tracing::warn!(from = self.position, to = head.last, "turns are left out of the traces");
        self.sessions.clear();
        self.position = head.last;
        self.events = follow(&self.hub, head.last);
    }

    async fn piece(&mut self, piece: AllEventsPiece) {
        match piece {
            AllEventsPiece::Events { no, last, events } => {
                let is_whole = events.last().is_some_and(|event| event.seq == last);
                for event in events {
                    let spans = self.read(&event).await;
                    self.send(spans).await;
                }
                if is_whole {
                    self.position = no;
                }
            }
            AllEventsPiece::Deleted { no, session_id } => {
                self.sessions.remove(&session_id);
                self.position = no;
            }
            AllEventsPiece::Damaged { no, .. }
            | AllEventsPiece::Lost { no }
            | AllEventsPiece::Nothing { no } => {
                self.position = no;
            }
        }
    }

    async fn read(&mut self, stored: &StoredEvent) -> Vec<Span> {
        let Ok(event) = serde_json::from_slice::<UniversalEvent>(&stored.json) else { return vec![] };
        let id = &event.session_id;
        if matches!(event.data, EventData::TurnStarted(_)) && event.time >= self.started {
            let Ok(detail) = self.hub.detail(id).await else { return vec![] };
            self.sessions.insert(id.clone(), SessionSpans::new(id.clone(), detail.info.agent));
        }
        let Some(session) = self.sessions.get_mut(id) else { return vec![] };
        let spans = session.read(&event);
        if !session.is_open() {
            self.sessions.remove(id);
        }
        spans
    }

    /// Tries until the collector has taken the spans, or says that it never will.
    async fn send(&self, spans: Vec<Span>) {
        if spans.is_empty() {
            return;
        }
        let mut pause = FIRST_PAUSE;
        while let Err(error) = self.collector.send(&spans).await {
            if !error.is_passing() {
                tracing::warn!(%error, spans = spans.len(), "spans were refused and are left out");
                return;
            }
            tracing::warn!(%error, "spans wait for the collector");
            tokio::time::sleep(pause).await;
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }
}

fn follow(hub: &Hub, after: u64) -> AllEvents {
    let filter = AllEventsFilter { types: EVENT_TYPES.to_vec(), ..AllEventsFilter::default() };
    hub.all_events(CommitPosition { no: after, partly: None }, filter)
}

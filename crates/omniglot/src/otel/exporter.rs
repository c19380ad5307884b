//! Sends the spans of every turn that ends while the daemon runs.
//!
//! It reads the log at its own pace: a collector that is away holds up nothing but this.

use std::collections::HashMap;
use std::time::Duration;

use omniglot_runtime::{AllEvents, AllEventsFilter, AllEventsPiece, CommitPosition, Hub, RuntimeError};
use omniglot_schema::{EventData, SessionId, UniversalEvent};
use omniglot_store::StoredEvent;
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
    /// The sessions whose turn is under way.
    sessions: HashMap<SessionId, SessionSpans>,
}

impl Work {
    async fn new(hub: Hub, collector: Collector) -> Result<Self, RuntimeError> {
        let position = hub.commit_head().await?.last;
        let filter = AllEventsFilter { types: EVENT_TYPES.to_vec(), ..AllEventsFilter::default() };
        let events = hub.all_events(CommitPosition { no: position, partly: None }, filter);
        Ok(Self { hub, collector, events, position, sessions: HashMap::new() })
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
                Err(error) => {
                    tracing::warn!(%error, "the log cannot be read for traces");
                    tokio::time::sleep(FIRST_PAUSE).await;
                }
            }
        }
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
        if matches!(event.data, EventData::TurnStarted(_)) {
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

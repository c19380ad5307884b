//! Reads the log once for all hooks, and gives each the events that it is called for.
//!
//! It waits for nobody: a hook whose queue is full loses its oldest calls to its dead letters.

use std::sync::Arc;
use std::time::Duration;

use omniglot_runtime::{AllEvents, AllEventsFilter, AllEventsPiece, CommitPosition, Hub, RuntimeError};
use omniglot_schema::{EventId, EventMetadata, Labels, SessionId, UniversalEventType};
use omniglot_store::{Store, StoreError, StoredEvent};
use serde::Deserialize;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::line::{Line, order};
use super::queue::Delivery;

/// The most bytes of events that are read at a time.
const PAGE_BYTES: usize = 1 << 20;
/// The pause before a log that cannot be read is read again.
const PAUSE: Duration = Duration::from_secs(1);
/// The number of commits after which the position of hooks without calls is kept.
const KEEP_EVERY: u64 = 256;

pub(super) struct Reader {
    hub: Hub,
    store: Store,
    lines: Vec<Arc<Line>>,
    types: Vec<UniversalEventType>,
    events: AllEvents,
    position: CommitPosition,
    kept: u64,
    /// The commit that has made a session. What else is in it happened elsewhere: the session was imported.
    creation: Option<u64>,
}

/// The members of an event that decide who is called for it.
#[derive(Deserialize)]
struct Head {
    event_id: EventId,
    session_id: SessionId,
    r#type: UniversalEventType,
    #[serde(default)]
    metadata: Option<EventMetadata>,
}

impl Reader {
    pub(super) fn new(hub: Hub, store: Store, lines: Vec<Arc<Line>>, head: u64) -> Self {
        let begin = lines.iter().map(|line| line.begin()).min_by_key(|begin| order(*begin));
        let position = begin.unwrap_or(CommitPosition { no: head, partly: None });
        let mut types = vec![UniversalEventType::SessionStarted];
        for kind in lines.iter().flat_map(|line| line.hook.types()) {
            if !types.contains(&kind) {
                types.push(kind);
            }
        }
        let events = follow(&hub, position, &types);
        Self { hub, store, lines, types, events, position, kept: position.no, creation: None }
    }

    /// Reads until `stop`, and then everything that the log has by then.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut last = None;
        while last.is_none_or(|last| self.position.no < last) {
            let piece = tokio::select! {
                piece = self.events.next(PAGE_BYTES) => piece,
                () = stop.cancelled(), if last.is_none() => {
                    last = Some(self.hub.commit_head().await.map_or(0, |head| head.last));
                    continue;
                }
            };
            match piece {
                Ok(piece) => self.piece(piece).await,
                Err(RuntimeError::Stopping | RuntimeError::Store(StoreError::Closed)) => return,
                Err(RuntimeError::Store(StoreError::Pruned { .. })) => self.skip().await,
                Err(error) => {
                    tracing::warn!(%error, "the log cannot be read for hooks");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// The daemon was away for so long that the log does not have the order of what was missed any more.
    async fn skip(&mut self) {
        let Ok(head) = self.hub.commit_head().await else { return };
        tracing::warn!(from = self.position.no, to = head.last, "hooks are not called for what is so old");
        self.events = follow(&self.hub, CommitPosition { no: head.last, partly: None }, &self.types);
        self.reached(CommitPosition { no: head.last, partly: None });
    }

    async fn piece(&mut self, piece: AllEventsPiece) {
        let reached = match piece {
            AllEventsPiece::Events { no, last, events } => {
                for event in &events {
                    self.event(no, event).await;
                }
                let partly = events.last().map(|event| event.seq).filter(|sequence| *sequence < last);
                CommitPosition { no, partly }
            }
            AllEventsPiece::Damaged { no, sequence, .. } => CommitPosition { no, partly: Some(sequence) },
            AllEventsPiece::Deleted { no, .. }
            | AllEventsPiece::Lost { no }
            | AllEventsPiece::Nothing { no } => CommitPosition { no, partly: None },
        };
        self.reached(reached);
    }

    fn reached(&mut self, position: CommitPosition) {
        self.position = position;
        for line in &self.lines {
            line.advance(position);
        }
        if position.no >= self.kept + KEEP_EVERY {
            self.kept = position.no;
            self.keep();
        }
    }

    fn keep(&self) {
        drop(self.store.keep_hook_rows(self.lines.iter().map(|line| line.cursor_row()).collect()));
    }

    async fn event(&mut self, no: u64, stored: &StoredEvent) {
        let Ok(head) = serde_json::from_slice::<Head>(&stored.json) else { return };
        if stored.seq == 1 {
            self.creation = Some(no);
        }
        let copied = head.metadata.is_some_and(|metadata| metadata.copied_from.is_some());
        if copied || (self.creation == Some(no) && stored.seq > 1) {
            return;
        }
        let mut labels = None;
        for line in self.lines.iter().filter(|line| line.hook.types().contains(&head.r#type)) {
            if line.hook.has_labels() {
                if labels.is_none() {
                    labels = Some(self.labels(&head.session_id).await);
                }
                if !labels.iter().flatten().any(|labels| line.hook.wants_session(labels)) {
                    continue;
                }
            }
            let place = (head.session_id.clone(), stored.seq);
            let event = (head.event_id.clone(), head.r#type);
            let rows = line.offer(Delivery::new(Some(no), place, event, Instant::now()));
            if !rows.is_empty() {
                drop(self.store.keep_hook_rows(rows));
            }
        }
    }

    /// Returns the labels of a session that is still there.
    async fn labels(&self, session: &SessionId) -> Option<Labels> {
        Some(self.hub.record(session).await.ok()?.labels)
    }
}

fn follow(hub: &Hub, after: CommitPosition, types: &[UniversalEventType]) -> AllEvents {
    hub.all_events(after, AllEventsFilter { types: types.to_vec(), ..AllEventsFilter::default() })
}

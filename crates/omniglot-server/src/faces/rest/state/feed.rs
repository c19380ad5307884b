//! The source of an event stream: a session's log or one turn of it, behind a trait so that streams are tested
//! without a log.

use std::collections::HashMap;

use omniglot_runtime::{Followed, FollowedTurn, Hub, Posted, RuntimeError, TurnOutcome};
use omniglot_store::{Next, SessionRecord, StoredFrame, Subscription};

pub(crate) trait Feed: Send + Sync + 'static {
    /// Returns the next events of at most `max_bytes` together, but at least one. Cancel-safe.
    fn next(&mut self, max_bytes: usize) -> impl Future<Output = Result<Followed, RuntimeError>> + Send;

    /// Whether every committed event was returned.
    fn caught_up(&self) -> bool;

    fn frames(
        &self,
        numbers: Vec<u64>,
    ) -> impl Future<Output = Result<HashMap<u64, StoredFrame>, RuntimeError>> + Send;
}

/// The log of one session, or the part of it that answers one message.
pub(crate) struct HubFeed {
    hub: Hub,
    record: SessionRecord,
    source: Source,
}

enum Source {
    Log(Subscription),
    Turn(Box<FollowedTurn>),
}

impl HubFeed {
    pub(crate) fn of_log(hub: Hub, record: SessionRecord, after: u64) -> Self {
        let source = Source::Log(hub.subscribe(&record, after));
        Self { hub, record, source }
    }

    pub(crate) fn of_turn(hub: Hub, record: SessionRecord, posted: &Posted) -> Self {
        let source = Source::Turn(Box::new(hub.follow_turn(&record, posted)));
        Self { hub, record, source }
    }
}

impl Feed for HubFeed {
    async fn next(&mut self, max_bytes: usize) -> Result<Followed, RuntimeError> {
        match &mut self.source {
            Source::Log(log) => Ok(match log.next(max_bytes).await? {
                Next::Events(events) => Followed::Events(events),
                Next::Deleted => Followed::Over(TurnOutcome::Deleted),
            }),
            Source::Turn(turn) => turn.next(max_bytes).await,
        }
    }

    fn caught_up(&self) -> bool {
        match &self.source {
            Source::Log(log) => log.caught_up(),
            Source::Turn(turn) => turn.caught_up(),
        }
    }

    async fn frames(&self, numbers: Vec<u64>) -> Result<HashMap<u64, StoredFrame>, RuntimeError> {
        self.hub.frames(&self.record, &numbers).await
    }
}

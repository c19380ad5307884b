//! The source of an event stream: the log, behind a trait so that streams are tested without one.

use std::collections::HashMap;

use omniglot_runtime::{Hub, RuntimeError};
use omniglot_schema::MessageId;
use omniglot_store::{Next, SessionRecord, StoredFrame, Subscription};

pub(crate) trait Feed: Send + Sync + 'static {
    /// Returns the next events of at most `max_bytes` together, but at least one. Cancel-safe.
    fn next(&mut self, max_bytes: usize) -> impl Future<Output = Result<Next, RuntimeError>> + Send;

    /// Whether every committed event was returned.
    fn caught_up(&self) -> bool;

    fn frames(
        &self,
        numbers: Vec<u64>,
    ) -> impl Future<Output = Result<HashMap<u64, StoredFrame>, RuntimeError>> + Send;

    /// Returns whether `message` is in the queue, and as of which sequence.
    fn queued(&self, message: &MessageId) -> impl Future<Output = Result<Queued, RuntimeError>> + Send;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Queued {
    pub(crate) waits: bool,
    pub(crate) as_of: u64,
}

/// The log of one session.
pub(crate) struct HubFeed {
    hub: Hub,
    record: SessionRecord,
    subscription: Subscription,
}

impl HubFeed {
    pub(crate) fn new(hub: Hub, record: SessionRecord, after: u64) -> Self {
        let subscription = hub.subscribe(&record, after);
        Self { hub, record, subscription }
    }
}

impl Feed for HubFeed {
    async fn next(&mut self, max_bytes: usize) -> Result<Next, RuntimeError> {
        Ok(self.subscription.next(max_bytes).await?)
    }

    fn caught_up(&self) -> bool {
        self.subscription.caught_up()
    }

    async fn frames(&self, numbers: Vec<u64>) -> Result<HashMap<u64, StoredFrame>, RuntimeError> {
        self.hub.frames(&self.record, &numbers).await
    }

    async fn queued(&self, message: &MessageId) -> Result<Queued, RuntimeError> {
        let detail = self.hub.detail(&self.record.id).await?;
        let queue = detail.state.queue.unwrap_or_default();
        Ok(Queued {
            // A list that is too long to be inline is fetched again when it has become shorter.
            waits: queue
                .inline()
                .is_none_or(|queue| queue.iter().any(|queued| queued.message_id == *message)),
            as_of: detail.info.event_count,
        })
    }
}

//! The task of one hook: makes its calls one after another.
//!
//! A call is made of the log when its turn comes, so the queue is small, and a request that somebody has answered
//! meanwhile calls nobody.

use std::sync::Arc;

use jiff::Timestamp;
use omniglot_runtime::{Hub, RuntimeError};
use omniglot_schema::{EventData, PendingRequest, SessionInfo, UniversalEvent, UniversalEventType};
use omniglot_store::{SessionRecord, Store};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::line::Line;
use super::links::Links;
use super::message::{EventLinks, Message};
use super::queue::{Delivery, Next};
use super::sender::{Outcome, Transport};

#[derive(Clone)]
pub(super) struct Worker {
    pub(super) line: Arc<Line>,
    pub(super) links: Arc<Links>,
    pub(super) hub: Hub,
    pub(super) store: Store,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) public_url: Option<String>,
}

impl Worker {
    /// Runs until `stop`, and then as long as there is a call that need not wait.
    pub(super) async fn run(self, stop: CancellationToken) {
        loop {
            let until = match self.line.next(Instant::now()) {
                Next::Send(delivery) => {
                    self.attempt(&delivery).await;
                    continue;
                }
                Next::Wait(until) => Some(until),
                Next::Nothing => None,
            };
            let due = async {
                match until {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.line.wake.notified() => {}
                () = due => {}
                () = stop.cancelled() => return,
            }
        }
    }

    async fn attempt(&self, delivery: &Delivery) {
        let outcome = match self.message(delivery).await {
            Ok(message) => self.transport.call(&self.line.hook, &message).await,
            Err(outcome) => outcome,
        };
        tracing::debug!(hook = self.line.hook.name, id = %delivery.event, %outcome, "called");
        let rows = self.line.settle(delivery, &outcome, Instant::now());
        // An error means that the log is closed: the next daemon repeats the call.
        let _closed = self.store.keep_hook_rows(rows).await;
    }

    /// Makes the call of the log, unless nobody needs it any more.
    async fn message(&self, delivery: &Delivery) -> Result<Message, Outcome> {
        let record = self.hub.record(&delivery.session).await.map_err(unreadable)?;
        let event = self.event(&record, delivery).await?;
        if self.line.hook.needs_open_request(delivery.kind) && is_request(delivery.kind) {
            self.check_open(&event).await?;
        }
        let info = Hub::info(&record).map_err(unreadable)?;
        let links = EventLinks { page: self.page(&info), answer: self.answer(&event).await };
        Message::of_event(&self.line.hook, event, info, links)
            .map_err(|_unlikely| Outcome::Moot("the event cannot be told"))
    }

    async fn event(&self, record: &SessionRecord, delivery: &Delivery) -> Result<UniversalEvent, Outcome> {
        let page = self.hub.events(record, delivery.sequence.saturating_sub(1), 1, vec![]).await;
        let page = page.map_err(unreadable)?;
        let event = page.events.first().and_then(|stored| serde_json::from_slice(&stored.json).ok());
        // A session of the same name may have taken the place of a deleted one.
        let event = event.filter(|event: &UniversalEvent| event.event_id == delivery.event);
        event.ok_or(Outcome::Moot("its session was deleted"))
    }

    async fn check_open(&self, event: &UniversalEvent) -> Result<(), Outcome> {
        let pending = self.hub.detail(&event.session_id).await.map_err(unreadable)?.pending;
        let is_open = pending.iter().any(|request| is_same(request, event));
        if is_open { Ok(()) } else { Err(Outcome::Moot("it was answered before the call")) }
    }

    /// Makes the link by which the request of this event can be answered.
    async fn answer(&self, event: &UniversalEvent) -> Option<String> {
        let base = self.public_url.as_ref().filter(|_| self.line.hook.answer_links)?;
        let request = match &event.data {
            EventData::PermissionRequested(asked) => asked.permission_id.as_str(),
            EventData::QuestionRequested(asked) => asked.question_id.as_str(),
            _ => return None,
        };
        let hook = &self.line.hook.name;
        let secret = self.links.make(hook, &event.session_id, request, Timestamp::now()).await?;
        Some(format!("{base}/answer/{secret}"))
    }

    fn page(&self, session: &SessionInfo) -> Option<String> {
        let base = self.public_url.as_ref()?;
        Some(format!("{base}/ui/#/session/{}", session.session_id))
    }
}

fn is_request(kind: UniversalEventType) -> bool {
    matches!(kind, UniversalEventType::PermissionRequested | UniversalEventType::QuestionRequested)
}

fn is_same(request: &PendingRequest, event: &UniversalEvent) -> bool {
    match (request, &event.data) {
        (PendingRequest::Permission(open), EventData::PermissionRequested(asked)) => {
            open.permission_id == asked.permission_id
        }
        (PendingRequest::Question(open), EventData::QuestionRequested(asked)) => {
            open.question_id == asked.question_id
        }
        _ => false,
    }
}

fn unreadable(error: RuntimeError) -> Outcome {
    match error {
        RuntimeError::SessionNotFound(_) => Outcome::Moot("its session was deleted"),
        error => {
            Outcome::Failed { why: format!("the log cannot be read: {error}"), status: None, after: None }
        }
    }
}

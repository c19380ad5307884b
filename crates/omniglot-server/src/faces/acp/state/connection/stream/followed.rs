//! One session on one stream: its log, projected from a position on.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use omniglot_runtime::{Hub, RuntimeError};
use omniglot_schema::{EventData, Scope, UniversalEvent};
use omniglot_store::{Next, SessionNo, SessionRecord, StoreError, StoredEvent, Subscription};

use crate::faces::acp::project::inquiry::Inquiry;
use crate::faces::acp::project::{AgentExited, Blobs, Echo, Outgoing, Projector};
use crate::faces::acp::state::connection::cursor::LogPosition;
use crate::faces::acp::state::connection::outbox::Follow;
use crate::faces::acp::state::connection::{Inquired, Shared};
use crate::faces::acp::state::fetch;
use crate::faces::acp::wire::{meta, rpc};
use crate::http::raw;

pub(super) struct Followed {
    hub: Hub,
    connection: Shared,
    record: SessionRecord,
    /// Whether the client wants the agent's frames, too.
    frames: bool,
    projector: Projector,
    subscription: Subscription,
    /// The client has everything up to this position.
    start: LogPosition,
    /// Up to this sequence the client's own messages are included.
    told_until: u64,
    /// Requests that wait for a person and were not sent to the client: later events may resolve those of the
    /// past, so they are sent when the log is read to its end.
    waiting: BTreeMap<u64, Inquiry>,
}

/// A message, and the client's position once it has it. Without a message only the position changes.
pub(super) struct Told {
    pub(super) message: Option<Bytes>,
    pub(super) place: LogPosition,
}

impl Followed {
    pub(super) fn new(
        hub: &Hub,
        connection: &Shared,
        record: SessionRecord,
        follow: &Follow,
        start: LogPosition,
    ) -> Self {
        let echo = if follow.told_until > 0 { Echo::All } else { Echo::Others };
        Self {
            frames: meta::wants_frames(&connection.client()) && hub.caller().may(Scope::Admin),
            projector: Projector::new(connection.audience(), echo),
            subscription: hub.subscribe(&record, 0),
            hub: hub.clone(),
            connection: connection.clone(),
            record,
            start,
            told_until: follow.told_until,
            waiting: BTreeMap::new(),
        }
    }

    pub(super) fn no(&self) -> SessionNo {
        self.record.no
    }

    /// The last event that was read.
    pub(super) fn read(&self) -> u64 {
        self.subscription.cursor()
    }

    pub(super) fn caught_up(&self) -> bool {
        self.subscription.caught_up()
    }

    /// Cancel-safe.
    pub(super) async fn next(&mut self, max_bytes: usize) -> Result<Next, StoreError> {
        self.subscription.next(max_bytes).await
    }

    /// Projects the events that the client has, without sending, so that later ones are projected in context.
    pub(super) async fn catch_up_silently(&mut self) -> Result<(), RuntimeError> {
        let until = self.start.whole();
        while self.read() < until {
            // Events beyond the position are projected again, from a subscription that begins there.
            let Next::Events(events) = self.next(super::BATCH).await? else { return Ok(()) };
            for event in events.iter().filter(|event| event.seq <= until) {
                self.past(event).await?;
            }
        }
        self.subscription = self.hub.subscribe(&self.record, until);
        Ok(())
    }

    async fn past(&mut self, stored: &StoredEvent) -> Result<(), RuntimeError> {
        for outgoing in self.outgoing(stored).await? {
            match outgoing {
                Outgoing::ClientRequest(inquiry) => drop(self.waiting.insert(stored.seq, *inquiry)),
                Outgoing::Settled(name) => self.settled(name.as_str()),
                Outgoing::Update(_) | Outgoing::TurnEnded(_) | Outgoing::Exited(_) => {}
            }
        }
        Ok(())
    }

    pub(super) async fn project(&mut self, events: &[Arc<StoredEvent>]) -> Result<Vec<Told>, RuntimeError> {
        let mut told = vec![];
        for event in events {
            self.event(event, &mut told).await?;
        }
        told.append(&mut self.open_requests());
        Ok(told)
    }

    async fn event(&mut self, stored: &StoredEvent, told: &mut Vec<Told>) -> Result<(), RuntimeError> {
        let mut messages = vec![];
        for outgoing in self.outgoing(stored).await? {
            match outgoing {
                Outgoing::Update(update) => messages.push(rpc::notification("session/update", &*update)),
                Outgoing::Exited(exited) => messages.push(rpc::notification(AgentExited::METHOD, &*exited)),
                Outgoing::ClientRequest(inquiry) => drop(self.waiting.insert(stored.seq, *inquiry)),
                Outgoing::Settled(name) => self.settled(name.as_str()),
                // The prompt's own task waits for this.
                Outgoing::TurnEnded(_) => {}
            }
        }
        let has = self.start.part.filter(|_| stored.seq == self.start.sequence).unwrap_or(0);
        for (part, message) in (1..).zip(messages) {
            if part > has {
                let place = LogPosition { sequence: stored.seq, part: Some(part) };
                told.push(Told { message: Some(message), place });
            }
        }
        match told.last_mut() {
            Some(last) if last.place.sequence == stored.seq => last.place.part = None,
            _ => told.push(Told { message: None, place: LogPosition::after(stored.seq) }),
        }
        Ok(())
    }

    /// Returns the open requests, once there is nothing more to read that could resolve them.
    pub(super) fn open_requests(&mut self) -> Vec<Told> {
        if !self.caught_up() || !self.hub.caller().may(Scope::Answer) {
            return vec![];
        }
        let place = LogPosition::after(self.read());
        let waiting = std::mem::take(&mut self.waiting).into_values();
        let asked = waiting.filter_map(|inquiry| {
            self.connection.inquire(Inquired { session: self.record.id.clone(), inquiry })
        });
        asked.map(|message| Told { message: Some(message), place }).collect()
    }

    fn settled(&mut self, name: &str) {
        self.waiting.retain(|_, inquiry| inquiry.name().as_str() != name);
        self.connection.settled(name);
    }

    async fn json(&self, stored: &StoredEvent) -> Result<Bytes, RuntimeError> {
        if !self.frames {
            return Ok(stored.json.clone());
        }
        let frames = self.hub.frames(&self.record, &raw::frame_numbers([stored])).await?;
        Ok(raw::with_raw(stored, &frames))
    }

    async fn outgoing(&mut self, stored: &StoredEvent) -> Result<Vec<Outgoing>, RuntimeError> {
        let event: UniversalEvent = match serde_json::from_slice(&self.json(stored).await?) {
            Ok(event) => event,
            Err(error) => {
                tracing::error!(session = %self.record.id, seq = stored.seq, %error, "an event that no longer fits");
                return Ok(vec![]);
            }
        };
        if stored.seq > self.told_until {
            self.projector.echo(Echo::Others);
        }
        if let EventData::TurnStarted(data) = &event.data
            && let Some(message) = &data.metadata.message_id
            && self.connection.is_own(&self.record.id, message).await
        {
            self.projector.own(message.clone());
        }
        let blobs = fetch::blobs(&self.hub, &self.record.id, Blobs::named_by(&event)).await?;
        Ok(self.projector.event(&event, &blobs))
    }
}

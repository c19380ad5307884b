//! Drives a session as a client does: posts, watches, answers, and checks every event.

mod look;

use futures_util::StreamExt as _;
use omniglot_client::{Client, ClientError, EventStream, SseItem, StreamFrom};
use omniglot_schema::{
    CreateSessionRequest, EventData, MessageRequest, PermissionReply, PermissionReplyRequest, SessionId,
    StopReason, UniversalEvent,
};
use omniglot_timeline::check::Allow;

pub use self::look::labels;
use crate::check_session;

pub fn session_id(name: &str) -> SessionId {
    SessionId::parse(name).expect("a lawful session id")
}

pub fn message(text: &str) -> MessageRequest {
    MessageRequest::new(text)
}

/// One session of a daemon under test.
#[derive(Clone)]
pub struct SessionDriver {
    pub client: Client,
    pub id: SessionId,
}

impl SessionDriver {
    /// Creates a session of the built-in agent.
    pub async fn create(client: &Client, name: &str) -> Self {
        Self::create_with(client, name, &CreateSessionRequest::new("mock")).await
    }

    pub async fn create_with(client: &Client, name: &str, request: &CreateSessionRequest) -> Self {
        let id = session_id(name);
        let created = client.create(&id, request).await.expect("the session is created");
        assert!(created.healthy, "{created:?}");
        Self { client: client.clone(), id }
    }

    pub fn of(client: &Client, name: &str) -> Self {
        Self { client: client.clone(), id: session_id(name) }
    }

    pub async fn post(&self, text: &str) -> omniglot_client::Receipt {
        self.client.post(&self.id, &message(text), None).await.expect("the message is taken")
    }

    pub async fn watch(&self, from: StreamFrom) -> EventStream {
        self.client.sse(&self.id, &from, false).await.expect("the stream opens")
    }

    /// Posts a message and watches until its turn has ended; permissions are answered with `reply`.
    pub async fn turn(&self, text: &str, reply: PermissionReply) -> Turn {
        self.turn_with(&message(text), reply).await
    }

    /// As [`Self::turn`], with a message that may be more than text.
    pub async fn turn_with(&self, message: &MessageRequest, reply: PermissionReply) -> Turn {
        let (_, mut stream) =
            self.client.post_stream(&self.id, message, None).await.expect("the message is taken");
        let mut events = vec![];
        while let Some(item) = stream.next().await {
            let SseItem::Event { event, .. } = item.expect("an event") else { continue };
            if let EventData::PermissionRequested(ask) = &event.data {
                self.reply(ask.permission_id.as_str(), reply).await.expect("the reply is taken");
            }
            events.push(*event);
        }
        Turn { events }
    }

    pub async fn reply(&self, permission: &str, reply: PermissionReply) -> Result<(), ClientError> {
        let request = PermissionReplyRequest { reply, message: None };
        self.client.reply_permission(&self.id, permission, &request).await
    }

    /// Reads and checks the whole log.
    pub async fn history(&self) -> Vec<UniversalEvent> {
        self.history_with(Allow::default()).await
    }

    pub async fn history_with(&self, allow: Allow) -> Vec<UniversalEvent> {
        check_session::session(&self.client, &self.id, allow).await
    }

    /// Waits for the first event after `offset` that `wanted` accepts.
    pub async fn wait_for(&self, offset: u64, wanted: impl Fn(&UniversalEvent) -> bool) -> UniversalEvent {
        let mut stream = self.watch(StreamFrom::Offset(offset)).await;
        loop {
            match stream.next().await.expect("the stream stays open").expect("an event") {
                SseItem::Event { event, .. } if wanted(&event) => return *event,
                SseItem::Event { .. } | SseItem::CaughtUp => {}
                SseItem::Deleted => panic!("the session was deleted"),
            }
        }
    }
}

/// The events of one turn, from `turn.started` to `turn.ended`.
pub struct Turn {
    pub events: Vec<UniversalEvent>,
}

impl Turn {
    pub fn stop_reason(&self) -> StopReason {
        match &self.events.last().expect("events").data {
            EventData::TurnEnded(end) => end.metadata.stop_reason,
            other => panic!("the turn ends with {other:?}"),
        }
    }

    /// Returns the assistant's text, from the deltas.
    pub fn text(&self) -> String {
        text_of(&self.events)
    }

    pub fn error(&self) -> Option<&omniglot_schema::ErrorData> {
        self.events.iter().find_map(|event| match &event.data {
            EventData::Error(error) => Some(error),
            _ => None,
        })
    }
}

/// Returns the text deltas of messages, joined.
pub fn text_of(events: &[UniversalEvent]) -> String {
    let delta = |event: &UniversalEvent| match &event.data {
        EventData::ItemDelta(data) if data.part_type.is_none() => Some(data.delta.clone()),
        _ => None,
    };
    events.iter().filter_map(delta).collect()
}

/// Returns the status of a refused call.
pub fn status_of<T: std::fmt::Debug>(result: Result<T, ClientError>) -> u16 {
    result.expect_err("a refusal").status().expect("a problem with a status")
}

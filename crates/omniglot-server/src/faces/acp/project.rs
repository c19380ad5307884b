//! Universal events → ACP messages, for one session and one client connection.
//!
//! Pure, and deterministic from the session's first event: a new projector that is fed the log up to some
//! position continues from there. The connection decides where a message is written, and keeps the client's
//! pending requests; `inquiry` interprets a client's answer.

mod blocks;
mod diff;
mod ended;
mod kind;
mod result;
mod speech;
mod state;
mod status;
mod tool;
mod turn;

use std::collections::HashSet;

use agent_client_protocol_schema::v1::{
    ClientCapabilities, Error, PromptResponse, SessionNotification, SessionUpdate,
};
use omniglot_schema::{
    EventData, ItemEventData, ItemKind, ItemRole, MessageId, PermissionEventData, QuestionEventData,
    SessionId, SessionState, TurnId, UniversalEvent,
};
use serde::Serialize;

use super::inquiry::{Inquiry, RequestName};
use super::meta::{self, Notes};
pub use blocks::Blobs;
pub(crate) use result::edits;
use speech::Speech;
pub(crate) use tool::Call;
use tool::Calls;
use turn::Turn;

/// One message or signal for a client.
#[derive(Debug, Clone)]
pub enum Outgoing {
    /// `session/update`
    Update(Box<SessionNotification>),
    /// A person has to answer; pending until [`Outgoing::Settled`] names it.
    ClientRequest(Box<Inquiry>),
    /// The request is resolved, by this client or elsewhere.
    Settled(RequestName),
    /// The answer to the prompt that began this turn.
    TurnEnded(Box<TurnEnded>),
    /// `_adapter/agent_exited`
    Exited(Box<AgentExited>),
}

#[derive(Debug, Clone)]
pub struct TurnEnded {
    pub turn_id: TurnId,
    /// The posted message that the turn answered; absent for a turn that the agent began by itself.
    pub message_id: Option<MessageId>,
    pub answer: Result<PromptResponse, Error>,
}

/// The end of the agent's process, in the form that the published SDK expects.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentExited {
    pub success: bool,
    /// Absent when a signal ended it.
    pub code: Option<i32>,
    pub session_id: SessionId,
    #[serde(rename = "_meta")]
    pub meta: serde_json::Map<String, serde_json::Value>,
}

impl AgentExited {
    pub const METHOD: &str = "_adapter/agent_exited";
}

/// The client's capabilities that decide how messages are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Audience {
    /// Questions are sent as forms; else as permissions with options.
    pub forms: bool,
    pub notices: bool,
    pub compaction: bool,
}

impl From<&ClientCapabilities> for Audience {
    fn from(capabilities: &ClientCapabilities) -> Self {
        let session = capabilities.session.as_ref();
        Self {
            forms: capabilities.elicitation.as_ref().is_some_and(|elicitation| elicitation.supports_form()),
            notices: session.is_some_and(|session| session.notices.is_some()),
            compaction: session.is_some_and(|session| session.compaction.is_some()),
        }
    }
}

/// The authors of the messages that a client receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// `session/load`: the whole conversation.
    All,
    /// During a connection: a client has its own messages already ([`Projector::own`]).
    Others,
}

/// Maps one session's events for one client.
#[derive(Debug)]
pub struct Projector {
    audience: Audience,
    echo: Echo,
    own: HashSet<MessageId>,
    turn: Option<Turn>,
    state: SessionState,
    speech: Speech,
    calls: Calls,
}

impl Projector {
    pub fn new(audience: Audience, echo: Echo) -> Self {
        Self {
            audience,
            echo,
            own: HashSet::new(),
            turn: None,
            state: SessionState::default(),
            speech: Speech::default(),
            calls: Calls::default(),
        }
    }

    /// Marks a message as the client's own, so that it is not echoed. To be called before the event of its
    /// turn is projected: hold the projection while a message is being posted.
    pub fn own(&mut self, message: MessageId) {
        self.own.insert(message);
    }

    pub fn echo(&mut self, echo: Echo) {
        self.echo = echo;
    }

    /// The state after the last event; lists that are blobs are inline where their blob was given.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// `blobs` holds the blobs of [`Blobs::named_by`]; a missing one is sent as its address.
    pub fn event(&mut self, event: &UniversalEvent, blobs: &Blobs) -> Vec<Outgoing> {
        let mut out = Out { event, turn: self.turn.as_ref().map(|turn| turn.id.clone()), sent: vec![] };
        match &event.data {
            EventData::SessionStarted(data) => status::session_started(data, &mut out),
            EventData::SessionEnded(data) => ended::session_ended(data, &mut out),
            EventData::SessionUpdated(patch) => self.state_changed(patch, blobs, &mut out),
            EventData::TurnStarted(data) => self.turn = Some(Turn::started(data)),
            EventData::TurnEnded(data) => self.turn_ended(data, &mut out),
            EventData::ItemStarted(data) => self.item_started(data, &mut out),
            EventData::ItemDelta(data) => self.item_delta(data, &mut out),
            EventData::ItemCompleted(data) => self.item_completed(data, blobs, &mut out),
            EventData::Error(data) => self.failed(data, &mut out),
            EventData::PermissionRequested(data) => self.permission_requested(data, &mut out),
            EventData::QuestionRequested(data) => self.question_requested(data, &mut out),
            EventData::PermissionResolved(data) => out.settled(RequestName::of_permission(data)),
            EventData::QuestionResolved(data) => out.settled(RequestName::of_question(data)),
            EventData::AgentUnparsed(data) => status::unparsed(data, &mut out),
        }
        out.sent
    }

    fn item_started(&mut self, data: &ItemEventData, out: &mut Out<'_>) {
        match data.item.kind {
            ItemKind::ToolCall => self.calls.call_started(&data.item, out),
            ItemKind::ToolResult => self.calls.result_started(&data.item, out),
            ItemKind::Message | ItemKind::System | ItemKind::Unknown => {
                let is_user = data.item.role == Some(ItemRole::User);
                let is_known = is_user && self.takes_own_words();
                self.speech.started(&data.item, is_known);
            }
            // A status item is sent when it is complete.
            ItemKind::Status => {}
        }
    }

    fn item_delta(&mut self, data: &omniglot_schema::ItemDeltaData, out: &mut Out<'_>) {
        if !self.speech.delta(data, out) {
            self.calls.delta(data, out);
        }
    }

    fn item_completed(&mut self, data: &ItemEventData, blobs: &Blobs, out: &mut Out<'_>) {
        match data.item.kind {
            ItemKind::ToolCall => self.calls.call_completed(&data.item, out),
            ItemKind::ToolResult => self.calls.result_completed(&data.item, blobs, out),
            ItemKind::Message | ItemKind::System | ItemKind::Unknown => {
                self.speech.completed(&data.item, blobs, out);
            }
            ItemKind::Status => status::happened(&data.item, self.audience, out),
        }
    }

    fn permission_requested(&mut self, data: &PermissionEventData, out: &mut Out<'_>) {
        let call = data.metadata.as_ref().and_then(|metadata| self.calls.of_item(metadata.item_id.as_ref()));
        let inquiry = Inquiry::permission(out.event, data, call, out.notes());
        out.sent.push(Outgoing::ClientRequest(Box::new(inquiry)));
    }

    fn question_requested(&mut self, data: &QuestionEventData, out: &mut Out<'_>) {
        let call = data.metadata.as_ref().and_then(|metadata| self.calls.of_item(metadata.item_id.as_ref()));
        let inquiry = Inquiry::question(out.event, data, call, self.audience, out.notes());
        out.sent.push(Outgoing::ClientRequest(Box::new(inquiry)));
    }

    /// Whether the user message that arrives now is the client's own. A turn begins with it; a later one is
    /// of another person, who steers the turn.
    fn takes_own_words(&mut self) -> bool {
        let message = self.turn.as_mut().and_then(|turn| turn.unsaid.take());
        self.echo == Echo::Others && message.is_some_and(|message| self.own.contains(&message))
    }
}

/// The messages of one event.
struct Out<'a> {
    event: &'a UniversalEvent,
    /// The turn that the event belongs to.
    turn: Option<TurnId>,
    sent: Vec<Outgoing>,
}

impl Out<'_> {
    fn update(&mut self, update: SessionUpdate) {
        let session = self.event.session_id.as_str().to_owned();
        let notification = SessionNotification::new(session, update).meta(self.notes().into_meta());
        self.sent.push(Outgoing::Update(Box::new(notification)));
    }

    fn settled(&mut self, name: RequestName) {
        self.sent.push(Outgoing::Settled(name));
    }

    /// The keys from the event's envelope.
    fn notes(&self) -> Notes {
        Notes::of_event(self.event).with(meta::TURN_ID, self.turn.as_ref())
    }
}

#[cfg(test)]
mod tests;

//! Universal events → ACP messages, for one session and one client connection.
//!
//! Pure, and deterministic from the session's first event: a new projector that is fed the log up to some
//! position continues from there. The connection decides where a message is written, and keeps the client's
//! pending requests; `inquiry` interprets a client's answer.

mod blocks;
mod diff;
mod ended;
pub mod inquiry;
mod kind;
mod result;
pub mod settings;
pub mod setup;
mod speech;
mod state;
mod status;
mod tool;
mod turn;

use std::collections::HashSet;

use agent_client_protocol_schema::v1::{
    Error, InitializeRequest, PromptResponse, SessionNotification, SessionUpdate,
};
use omniglot_schema::{
    EventData, ItemId, MessageId, PermissionEventData, QuestionEventData, RequestMetadata, SessionId,
    SessionState, TurnId, UniversalEvent,
};
use omniglot_timeline::view::{Change, View};
use serde::Serialize;

use crate::faces::acp::wire::meta::{self, Notes};
pub use blocks::Blobs;
use inquiry::{Inquiry, RequestName};
pub(crate) use result::edits;
pub(crate) use tool::Call;
use tool::Shown;
pub use turn::with_session_end;

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

/// The properties of the client that decide how messages are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Audience {
    /// Questions are sent as forms; else as permissions with options.
    pub forms: bool,
    pub notices: bool,
    pub compaction: bool,
    pub results: ResultForms,
}

/// The forms in which a client gets the result of a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResultForms {
    /// Content for people, and beside it the output as it is and structured data, for programs.
    #[default]
    All,
    /// One of them: the client prints all that it gets, one after the other.
    One,
}

impl From<&InitializeRequest> for Audience {
    fn from(request: &InitializeRequest) -> Self {
        let capabilities = &request.client_capabilities;
        let session = capabilities.session.as_ref();
        let is_acpx = request.client_info.as_ref().is_some_and(|client| client.name == "acpx");
        Self {
            forms: capabilities.elicitation.as_ref().is_some_and(|elicitation| elicitation.supports_form()),
            notices: session.is_some_and(|session| session.notices.is_some()),
            compaction: session.is_some_and(|session| session.compaction.is_some()),
            results: if is_acpx { ResultForms::One } else { ResultForms::All },
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
    state: SessionState,
    view: View,
    shown: Shown,
    /// Open messages that are the client's own.
    known: HashSet<ItemId>,
}

impl Projector {
    pub fn new(audience: Audience, echo: Echo) -> Self {
        Self {
            audience,
            echo,
            own: HashSet::new(),
            state: SessionState::default(),
            view: View::default(),
            shown: Shown::default(),
            known: HashSet::new(),
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
        let turn = self.view.turn().map(|turn| turn.id.clone());
        let out = &mut Out { event, turn, sent: vec![] };
        match self.view.apply(event) {
            Change::TurnStarted(_) => {}
            Change::TurnEnded { turn, end } => turn::ended(turn, end, out),
            Change::MessageStarted(message) => {
                let is_own = message.posted.as_ref().is_some_and(|posted| self.own.contains(posted));
                if is_own && self.echo == Echo::Others {
                    self.known.insert(message.item.item_id.clone());
                }
            }
            Change::MessageText { message, .. } if self.known.contains(&message.item.item_id) => {}
            Change::MessageText { message, part, delta } => speech::delta(message, part, delta, out),
            Change::MessageEnded(message) if self.known.remove(&message.item.item_id) => {}
            Change::MessageEnded(message) => speech::ended(&message, blobs, out),
            Change::CallStarted(call) => tool::started(call, out),
            // ACP has no place for a preview of the input.
            Change::CallInput { .. } => {}
            Change::CallReady { call, before } => tool::ready(call, before.as_deref(), out),
            Change::CallRunning(call) => tool::running(call, out),
            Change::CallOutput { call, .. } => self.shown.output(call, out),
            Change::CallEnded(call) => {
                self.shown.forget(&call.item);
                tool::ended(&call, self.audience.results, blobs, out);
            }
            Change::Happened(item) => status::happened(item, self.audience, out),
            Change::Other => self.beside_the_turn(&event.data, blobs, out),
        }
        std::mem::take(&mut out.sent)
    }

    fn beside_the_turn(&mut self, data: &EventData, blobs: &Blobs, out: &mut Out<'_>) {
        match data {
            EventData::SessionStarted(data) => status::session_started(data, out),
            EventData::SessionEnded(data) => ended::session_ended(data, out),
            EventData::SessionUpdated(patch) => self.state_changed(patch, blobs, out),
            // A failure of a turn is told as the answer to its prompt; outside of turns no client waits for one.
            EventData::Error(data) if out.turn.is_none() => status::failed_outside_a_turn(data, out),
            EventData::PermissionRequested(data) => self.permission_requested(data, out),
            EventData::QuestionRequested(data) => self.question_requested(data, out),
            EventData::PermissionResolved(data) => out.settled(RequestName::of_permission(data)),
            EventData::QuestionResolved(data) => out.settled(RequestName::of_question(data)),
            EventData::AgentUnparsed(data) => status::unparsed(data, out),
            EventData::Error(_)
            | EventData::TurnStarted(_)
            | EventData::TurnEnded(_)
            | EventData::ItemStarted(_)
            | EventData::ItemDelta(_)
            | EventData::ItemCompleted(_) => {}
        }
    }

    fn permission_requested(&mut self, data: &PermissionEventData, out: &mut Out<'_>) {
        let call = self.call(data.metadata.as_ref());
        let inquiry = Inquiry::permission(out.event, data, call.as_ref(), out.notes());
        out.sent.push(Outgoing::ClientRequest(Box::new(inquiry)));
    }

    fn question_requested(&mut self, data: &QuestionEventData, out: &mut Out<'_>) {
        let call = self.call(data.metadata.as_ref());
        let inquiry = Inquiry::question(out.event, data, call.as_ref(), self.audience, out.notes());
        out.sent.push(Outgoing::ClientRequest(Box::new(inquiry)));
    }

    /// Returns the call that a request is about.
    fn call(&self, metadata: Option<&RequestMetadata>) -> Option<Call> {
        self.view.call(metadata?.item_id.as_ref()?).map(Call::of)
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

//! Projects a session's events into OpenCode's events and messages.
//!
//! Pure and deterministic: the same events from the first on give the same events, ids and messages, so any
//! position can be made again from the log. Events and messages are one fold: `say` alone emits an event, and
//! applies it to the messages.
//!
//! A turn has one assistant message; a message that is steered into it begins another. A subagent's work is in a
//! session of its own (`subagents`).

mod diffs;
mod failure;
mod happened;
pub(super) mod initial_state;
mod messages;
pub(super) mod provider_list;
mod requests;
mod rewound;
mod state;
mod subagents;
mod text;
mod tool;
mod turn;
mod user;

use std::collections::HashMap;

use omniglot_schema::{EventData, ItemId, ItemKind, ItemRole, SessionId, SessionState, UniversalEvent};
use omniglot_timeline::prompt_title;
use omniglot_timeline::view::{Change, Message, View};

use self::diffs::Diffs;
use self::messages::Messages;
use self::requests::PendingRequest;
use self::rewound::BegunTurn;
use self::subagents::Subagent;
use self::text::TextPart;
use self::tool::CallPart;
use self::turn::Turn;
use self::user::Waiting;
use super::wire::{
    FileDiff, MessageInfo, MessageWithParts, OcEvent, Part, PartBody, Payload, PermissionRequest,
    QuestionRequest, Session, Status, Todo, Tokens,
};
use crate::faces::opencode::wire::ids::{self, Id, Minter};

pub use self::state::VERSION;

/// The facts of a session that the log does not have, or not at once.
#[derive(Debug, Clone)]
pub struct SessionSummary {
    pub session: SessionId,
    /// The agent that the session drives: a provider, to clients.
    pub agent: String,
    pub directory: String,
    /// The top of the repository, or the directory; changed files are told by their path below it.
    pub worktree: String,
    pub project: String,
    /// Milliseconds since 1970.
    pub created: i64,
    /// The title before the first event that names one.
    pub title: Option<String>,
    pub model: Option<String>,
    pub agent_mode: Option<String>,
}

/// The model of an agent that names none. Agents list models named `default`, so it is no name that one would have.
pub const DEFAULT_MODEL: &str = "agent-default";
/// The mode of an agent that names none.
pub const DEFAULT_MODE: &str = "build";

/// One session, folded up to some event.
#[derive(Debug, Clone)]
pub struct Projector {
    summary: SessionSummary,
    id: Id,
    ids: Minter,
    /// The time of the current event, in milliseconds since 1970.
    now: i64,
    /// Whether the current event is a copy of another session's, and counts only there.
    is_copy: bool,
    out: Vec<OcEvent>,
    sequence: u64,
    messages: Messages,
    subagents: Vec<Subagent>,
    state: SessionState,
    /// The title of a session that has no other.
    first_prompt: Option<String>,
    status: Status,
    tokens: Tokens,
    /// The start of the running compaction.
    compacting: Option<i64>,
    todos: Vec<Todo>,
    diffs: Diffs,
    turn: Option<Turn>,
    turns: Vec<BegunTurn>,
    /// The message from which on the conversation is taken back.
    hidden_from: Option<Id>,
    /// The user's last message that was delivered.
    user: Option<Id>,
    waiting: Vec<Waiting>,
    view: View,
    /// The parts of open messages.
    texts: HashMap<ItemId, TextPart>,
    /// The parts of open calls.
    calls: HashMap<ItemId, CallPart>,
    asked: Vec<PendingRequest>,
}

impl Projector {
    pub fn new(summary: SessionSummary) -> Self {
        let state = SessionState {
            title: summary.title.clone(),
            model: summary.model.clone(),
            agent_mode: summary.agent_mode.clone(),
            ..SessionState::default()
        };
        Self {
            id: ids::session(&summary.session),
            ids: Minter::new(summary.session.clone()),
            now: summary.created,
            is_copy: false,
            out: vec![],
            sequence: 0,
            messages: Messages::default(),
            subagents: vec![],
            state,
            first_prompt: None,
            status: Status::Idle,
            tokens: Tokens::default(),
            compacting: None,
            todos: vec![],
            diffs: Diffs::default(),
            turn: None,
            turns: vec![],
            hidden_from: None,
            user: None,
            waiting: vec![],
            view: View::default(),
            texts: HashMap::new(),
            calls: HashMap::new(),
            asked: vec![],
            summary,
        }
    }

    /// Folds the next event of the log into events for clients. An event that is already folded gives none.
    pub fn event(&mut self, event: &UniversalEvent) -> Vec<OcEvent> {
        if event.sequence <= self.sequence {
            return vec![];
        }
        self.sequence = event.sequence;
        self.now = event.time.as_millisecond();
        self.is_copy = event.copied_from().is_some();
        // Out of the projector while its change is projected, which is all that the projection looks at.
        let mut view = std::mem::take(&mut self.view);
        let is_other = self.change(view.apply(event));
        self.view = view;
        if is_other {
            self.beside_the_turn(&event.data);
        }
        self.name_after(&event.data);
        std::mem::take(&mut self.out)
    }

    /// Projects a change of the conversation; returns whether the event is about something else.
    fn change(&mut self, change: Change<'_>) -> bool {
        match change {
            Change::TurnStarted(turn) => self.turn_started(turn),
            Change::TurnEnded { end, .. } => self.turn_ended(&end.metadata),
            Change::MessageStarted(message) if is_of_user(message) => self.user_started(message),
            Change::MessageStarted(_) => {}
            Change::MessageText { message, delta, .. } => self.text_grew(message, delta),
            Change::MessageEnded(message) if is_of_user(&message) => self.user_completed(&message),
            Change::MessageEnded(message) => match message.item.kind {
                ItemKind::Message => self.text_completed(*message),
                ItemKind::System => self.system_said(*message),
                // An unknown item cannot be displayed; the stream has it.
                _ => {}
            },
            Change::CallStarted(call) => self.call_started(call),
            Change::CallReady { call, .. } => self.call_ready(call),
            Change::CallOutput { call, .. } => self.say_running(call),
            Change::CallEnded(call) => self.call_ended(&call),
            // OpenCode displays a call's input when it is complete.
            Change::CallInput { .. } | Change::CallRunning(_) => {}
            Change::Happened(item) => self.happened(item),
            Change::Other => return true,
        }
        false
    }

    /// A session is named after its first prompt until it has a better title.
    fn name_after(&mut self, data: &EventData) {
        if self.first_prompt.is_none() {
            self.first_prompt = prompt_title(data);
            if self.first_prompt.is_some() && self.state.title.is_none() {
                self.say_session();
            }
        }
    }

    fn beside_the_turn(&mut self, data: &EventData) {
        match data {
            EventData::SessionStarted(data) => self.session_started(data),
            EventData::SessionUpdated(patch) => self.patched(patch),
            EventData::Error(error) => self.failed(error),
            EventData::PermissionRequested(asked) => self.permission_asked(asked),
            EventData::PermissionResolved(answered) => self.permission_answered(answered),
            EventData::QuestionRequested(asked) => self.question_asked(asked),
            EventData::QuestionResolved(answered) => self.question_answered(answered),
            // An ended session is one that is not in use at the moment; its turn has ended before.
            EventData::SessionEnded(_)
            | EventData::AgentUnparsed(_)
            | EventData::TurnStarted(_)
            | EventData::TurnEnded(_)
            | EventData::ItemStarted(_)
            | EventData::ItemDelta(_)
            | EventData::ItemCompleted(_) => {}
        }
    }

    /// The sequence of the last event that is folded.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    pub fn messages(&self) -> &[MessageWithParts] {
        self.messages.messages()
    }

    pub fn message(&self, id: &str) -> Option<&MessageWithParts> {
        self.messages.message(id)
    }

    /// Returns the last message of the assistant: the answer, when no turn runs.
    pub fn answer(&self) -> Option<&MessageWithParts> {
        self.messages().iter().rev().find(|message| matches!(message.info, MessageInfo::Assistant(_)))
    }

    pub fn status(&self) -> &Status {
        &self.status
    }

    pub fn todos(&self) -> &[Todo] {
        &self.todos
    }

    /// Returns the changes of the turn of this user message, or of all turns.
    pub fn diffs(&self, message: Option<&str>) -> Vec<FileDiff> {
        match message.map(|id| self.message(id).map(|message| &message.info)) {
            None => self.diffs.all(),
            Some(Some(MessageInfo::User(user))) => {
                user.summary.as_ref().map(|summary| summary.diffs.clone()).unwrap_or_default()
            }
            Some(_) => vec![],
        }
    }

    pub fn permissions(&self) -> Vec<&PermissionRequest> {
        self.asked.iter().filter_map(PendingRequest::permission).collect()
    }

    pub fn questions(&self) -> Vec<&QuestionRequest> {
        self.asked.iter().filter_map(PendingRequest::question).collect()
    }

    /// Returns the open requests, as a new stream must receive them again.
    pub fn pending(&self) -> Vec<OcEvent> {
        self.asked.iter().map(|asked| asked.event(self.now)).collect()
    }

    /// Returns the size of the context of the model that runs, with its agent and its name.
    pub fn window(&self) -> Option<(&str, &str, u64)> {
        Some((&self.summary.agent, self.state.model.as_deref()?, self.state.context?.window))
    }

    /// Returns the session's record in the form of `session.updated`.
    pub fn session(&self) -> Session {
        state::session(self)
    }

    /// Emits an event, and applies it to the messages.
    fn say(&mut self, payload: Payload) {
        let subagent = self.subagents.iter_mut().find(|subagent| payload.is_about(&subagent.id));
        subagent.map_or(&mut self.messages, |subagent| &mut subagent.messages).apply(&payload);
        self.out.push(OcEvent { id: self.ids.event(self.now), payload });
    }

    fn say_message(&mut self, info: MessageInfo) {
        self.say(Payload::MessageUpdated { session_id: info.session_id().clone(), info });
    }

    fn say_part(&mut self, id: Id, message: Id, body: PartBody) {
        let session_id = self.session_with(&message);
        let part = Part { id, session_id: session_id.clone(), message_id: message, body };
        self.say(Payload::PartUpdated { session_id, part: Box::new(part), time: self.now });
    }

    /// Appends a part to a message.
    fn add_part(&mut self, message: Id, body: PartBody) -> Id {
        let id = self.ids.part(self.now);
        self.say_part(id.clone(), message, body);
        id
    }

    fn say_status(&mut self, status: Status) {
        if self.status != status {
            self.status = status.clone();
            self.say(Payload::SessionStatus { session_id: self.id.clone(), status });
        }
    }

    fn say_session(&mut self) {
        let info = Box::new(self.session());
        self.say(Payload::SessionUpdated { session_id: self.id.clone(), info });
    }
}

fn is_of_user(message: &Message) -> bool {
    message.item.kind == ItemKind::Message && message.item.role == Some(ItemRole::User)
}

#[cfg(test)]
mod tests;

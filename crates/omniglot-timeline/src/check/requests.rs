//! Permissions and questions: each is asked once, within a turn, and resolved once, by somebody.

use std::fmt;

use indexmap::IndexMap;
use omniglot_schema::{
    ItemKind, PermissionEventData, PermissionId, PermissionStatus, QuestionEventData, QuestionId,
    QuestionStatus, RequestMetadata, ResolvedBy,
};

use super::Code;
use super::session::Session;

#[derive(Debug, Default)]
pub(super) struct Requests {
    states: IndexMap<RequestId, State>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum RequestId {
    Permission(PermissionId),
    Question(QuestionId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Open for too long, and reported.
    Reported,
    Resolved,
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Permission(id) => write!(f, "permission {id}"),
            Self::Question(id) => write!(f, "question {id}"),
        }
    }
}

impl Requests {
    pub(super) fn report_open(&mut self) -> Vec<String> {
        let open = self.states.iter_mut().filter(|(_, state)| **state == State::Open);
        open.map(|(id, state)| {
            *state = State::Reported;
            id.to_string()
        })
        .collect()
    }
}

impl Session {
    pub(super) fn permission_requested(&mut self, data: &PermissionEventData) {
        self.prefix("perm_", data.permission_id.as_str());
        if data.status != PermissionStatus::Requested {
            self.say(Code::RequestStatus, format!("{:?} in permission.requested", data.status));
        }
        self.requested(RequestId::Permission(data.permission_id.clone()), data.metadata.as_ref());
    }

    pub(super) fn permission_resolved(&mut self, data: &PermissionEventData) {
        if data.status == PermissionStatus::Requested {
            self.say(Code::RequestStatus, "requested in permission.resolved");
        }
        let yes = matches!(data.status, PermissionStatus::Accept | PermissionStatus::AcceptForSession);
        self.resolved(RequestId::Permission(data.permission_id.clone()), data.metadata.as_ref(), yes);
    }

    pub(super) fn question_requested(&mut self, data: &QuestionEventData) {
        self.prefix("qst_", data.question_id.as_str());
        if data.status != QuestionStatus::Requested {
            self.say(Code::RequestStatus, format!("{:?} in question.requested", data.status));
        }
        self.question_shape(data);
        self.requested(RequestId::Question(data.question_id.clone()), data.metadata.as_ref());
    }

    pub(super) fn question_resolved(&mut self, data: &QuestionEventData) {
        if data.status == QuestionStatus::Requested {
            self.say(Code::RequestStatus, "requested in question.resolved");
        }
        self.question_shape(data);
        let yes = data.status == QuestionStatus::Answered;
        self.resolved(RequestId::Question(data.question_id.clone()), data.metadata.as_ref(), yes);
    }

    fn question_shape(&mut self, data: &QuestionEventData) {
        if let Some(first) = data.metadata.as_ref().and_then(|metadata| metadata.questions.first()) {
            let labels = first.options.iter().map(|option| &option.label);
            if first.prompt != data.prompt || !labels.eq(data.options.iter()) {
                self.say(Code::QuestionShape, "prompt and options are not those of the first question");
            }
        }
        if data.response.is_some() != (data.status == QuestionStatus::Answered) {
            self.say(Code::QuestionShape, format!("{:?} with response {:?}", data.status, data.response));
        }
    }

    fn requested(&mut self, id: RequestId, metadata: Option<&RequestMetadata>) {
        if self.turns.open.is_none() {
            self.say(Code::RequestOutsideTurn, format!("{id} requested outside a turn"));
        }
        let item = metadata.and_then(|metadata| metadata.item_id.as_ref());
        if item.and_then(|item| self.items.kind(item)) != Some(ItemKind::ToolCall) {
            self.say(Code::RequestItem, format!("{id} names no tool call that waits for it"));
        }
        if self.requests.states.contains_key(&id) {
            self.say(Code::RequestTwice, format!("{id} requested twice"));
        }
        self.requests.states.insert(id, State::Open);
    }

    fn resolved(&mut self, id: RequestId, metadata: Option<&RequestMetadata>, yes: bool) {
        match metadata.and_then(|metadata| metadata.resolved_by) {
            None => self.say(Code::ResolvedBy, format!("{id} resolved by nobody")),
            Some(ResolvedBy::Person | ResolvedBy::Agent | ResolvedBy::Link) => {}
            Some(ResolvedBy::Policy) if metadata.is_some_and(|metadata| metadata.rule.is_some()) => {}
            Some(by) if yes => self.say(Code::ResolvedBy, format!("{id} accepted by {by:?}")),
            Some(_) => {}
        }
        match self.requests.states.get(&id) {
            None => self.say(Code::RequestUnknown, format!("{id} resolved but never requested")),
            Some(State::Resolved) => self.say(Code::RequestTwice, format!("{id} resolved twice")),
            Some(State::Open | State::Reported) => {}
        }
        self.requests.states.insert(id, State::Resolved);
    }
}

//! Permissions and questions: asked, answered, and listed while they wait.

use omniglot_schema::{
    ItemId, PermissionEventData, PermissionStatus, QuestionEventData, QuestionStatus, RequestMetadata,
};
use serde_json::json;

use super::Projector;
use super::diffs::changes;
use crate::faces::opencode::wire::ids::Id;
use crate::faces::opencode::wire::{
    OcEvent, Payload, PermissionRequest, QuestionInfo, QuestionOption, QuestionRequest, Record, Reply,
    ToolReference, tool_names,
};

/// A request that waits, and our own name for it.
#[derive(Debug, Clone)]
pub(super) struct PendingRequest {
    ours: String,
    request: Request,
}

#[derive(Debug, Clone)]
enum Request {
    Permission(Box<PermissionRequest>),
    Question(Box<QuestionRequest>),
}

impl PendingRequest {
    pub(super) fn permission(&self) -> Option<&PermissionRequest> {
        match &self.request {
            Request::Permission(request) => Some(request),
            Request::Question(_) => None,
        }
    }

    pub(super) fn question(&self) -> Option<&QuestionRequest> {
        match &self.request {
            Request::Permission(_) => None,
            Request::Question(request) => Some(request),
        }
    }

    /// Asks once more.
    pub(super) fn event(&self, now: i64) -> OcEvent {
        OcEvent::loose(now, self.payload())
    }

    fn payload(&self) -> Payload {
        match &self.request {
            Request::Permission(request) => Payload::PermissionAsked(request.clone()),
            Request::Question(request) => Payload::QuestionAsked(request.clone()),
        }
    }

    fn id(&self) -> &Id {
        match &self.request {
            Request::Permission(request) => &request.id,
            Request::Question(request) => &request.id,
        }
    }
}

impl Projector {
    pub(super) fn permission_asked(&mut self, data: &PermissionEventData) {
        let nothing = RequestMetadata::default();
        let metadata = data.metadata.as_ref().unwrap_or(&nothing);
        let pattern = metadata.pattern.clone().unwrap_or_else(|| data.action.clone());
        let (permission, subject) = self.permission(data, metadata);
        let request = PermissionRequest {
            id: self.ids.permission(self.now, &data.permission_id),
            session_id: self.id.clone(),
            permission,
            patterns: vec![pattern.clone()],
            metadata: about(data, metadata, subject),
            always: vec![pattern],
            tool: self.tool_of(metadata.item_id.as_ref()),
        };
        self.ask(data.permission_id.to_string(), Request::Permission(Box::new(request)));
    }

    /// Returns OpenCode's word for what is asked, and what it is about.
    fn permission(&self, data: &PermissionEventData, metadata: &RequestMetadata) -> (String, Record) {
        let asked = metadata.tool.as_deref().unwrap_or(&data.action);
        let of_call = metadata.item_id.as_ref().and_then(|item| self.permission_of(item));
        match of_call {
            Some((permission, subject)) if !tool_names::is_beside_tools(asked) => {
                (permission.to_owned(), subject)
            }
            Some(_) | None => (asked.to_owned(), Record::new()),
        }
    }

    pub(super) fn question_asked(&mut self, data: &QuestionEventData) {
        let item = data.metadata.as_ref().and_then(|metadata| metadata.item_id.as_ref());
        let questions = questions(data);
        if let Some(item) = item {
            self.call_asks(item, &questions);
        }
        let request = QuestionRequest {
            id: self.ids.question(self.now, &data.question_id),
            session_id: self.id.clone(),
            questions,
            tool: self.tool_of(item),
        };
        self.ask(data.question_id.to_string(), Request::Question(Box::new(request)));
    }

    fn ask(&mut self, ours: String, request: Request) {
        let asked = PendingRequest { ours, request };
        self.say(asked.payload());
        self.asked.push(asked);
    }

    pub(super) fn permission_answered(&mut self, data: &PermissionEventData) {
        let Some(request_id) = self.answered(data.permission_id.as_str()) else { return };
        let reply = match data.status {
            PermissionStatus::Accept => Reply::Once,
            PermissionStatus::AcceptForSession => Reply::Always,
            PermissionStatus::Reject | PermissionStatus::Requested => Reply::Reject,
        };
        self.say(Payload::PermissionReplied { session_id: self.id.clone(), request_id, reply });
    }

    pub(super) fn question_answered(&mut self, data: &QuestionEventData) {
        let Some(request_id) = self.answered(data.question_id.as_str()) else { return };
        let session_id = self.id.clone();
        if data.status != QuestionStatus::Answered {
            return self.say(Payload::QuestionRejected { session_id, request_id });
        }
        let answers = answers(data);
        if let Some(item) = data.metadata.as_ref().and_then(|metadata| metadata.item_id.as_ref()) {
            self.call_answered(item, &answers);
        }
        self.say(Payload::QuestionReplied { session_id, request_id, answers });
    }

    fn answered(&mut self, ours: &str) -> Option<Id> {
        let place = self.asked.iter().position(|asked| asked.ours == ours)?;
        Some(self.asked.remove(place).id().clone())
    }

    fn tool_of(&self, item: Option<&ItemId>) -> Option<ToolReference> {
        let (part, call) = (self.calls.get(item?)?, self.view.call(item?)?);
        Some(ToolReference { message_id: part.message.clone(), call_id: call.call_id.to_string() })
    }
}

/// Returns the details of a permission that clients show beside the call.
fn about(data: &PermissionEventData, metadata: &RequestMetadata, subject: Record) -> Record {
    let mut about = Record::from_iter([("action".to_owned(), json!(data.action))]);
    about.extend(subject);
    if let Some(detail) = &metadata.detail {
        about.insert("detail".to_owned(), json!(detail));
    }
    let changes = changes(&metadata.files);
    if let Some(first) = changes.first() {
        about.insert("filepath".to_owned(), json!(first.file));
        let diff: String = changes.iter().map(|change| change.patch.as_str()).collect();
        about.insert("diff".to_owned(), json!(diff));
    }
    about
}

fn questions(data: &QuestionEventData) -> Vec<QuestionInfo> {
    let told = data.metadata.as_ref().map(|metadata| &*metadata.questions).unwrap_or_default();
    if told.is_empty() {
        return vec![only(data)];
    }
    told.iter().map(question).collect()
}

/// A question of which only the contract's fields are known.
fn only(data: &QuestionEventData) -> QuestionInfo {
    let option = |label: &String| QuestionOption { label: label.clone(), description: String::new() };
    QuestionInfo {
        question: data.prompt.clone(),
        header: header(&data.prompt),
        options: data.options.iter().map(option).collect(),
        multiple: false,
        custom: data.options.is_empty(),
    }
}

fn question(info: &omniglot_schema::QuestionInfo) -> QuestionInfo {
    let option = |option: &omniglot_schema::QuestionOption| QuestionOption {
        label: option.label.clone(),
        description: option.description.clone().unwrap_or_default(),
    };
    let question = match &info.detail {
        Some(detail) => format!("{detail}\n\n{}", info.prompt),
        None => info.prompt.clone(),
    };
    QuestionInfo {
        question,
        header: info.header.clone().unwrap_or_else(|| header(&info.prompt)),
        options: info.options.iter().map(option).collect(),
        multiple: info.multi_select,
        custom: info.free_text,
    }
}

/// A few words for a tab: OpenCode allows 30 characters. What is asked stands at the end of a longer text.
fn header(prompt: &str) -> String {
    let last = prompt.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    last.trim().chars().take(30).collect()
}

/// The answers, question by question.
fn answers(data: &QuestionEventData) -> Vec<Vec<String>> {
    data.metadata.as_ref().map(|metadata| metadata.answers.clone()).unwrap_or_default()
}

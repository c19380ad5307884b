//! Permissions and questions as requests to a client, and its answers as our replies.
//!
//! Pure. The connection decides which client is asked, and when a request is withdrawn. An inquiry is derived
//! from the log, so a client that reconnects is asked the same again.

mod form;
mod options;

use agent_client_protocol_schema::v1::{
    CreateElicitationRequest, CreateElicitationResponse, Error, ErrorCode, RequestPermissionRequest,
    RequestPermissionResponse,
};
use omniglot_schema::{
    PermissionEventData, PermissionId, PermissionReply, QuestionEventData, QuestionId, QuestionInfo,
    QuestionOption, UniversalEvent,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::faces::acp::project::{Audience, Call};
use crate::faces::acp::wire::meta::{self, Notes};

/// The name of a request of ours, by which its answers are found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RequestName {
    Permission(PermissionId),
    Question(QuestionId),
}

impl RequestName {
    pub(super) fn of_permission(data: &PermissionEventData) -> Self {
        Self::Permission(data.permission_id.clone())
    }

    pub(super) fn of_question(data: &QuestionEventData) -> Self {
        Self::Question(data.question_id.clone())
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Permission(id) => id.as_str(),
            Self::Question(id) => id.as_str(),
        }
    }
}

/// A request to a client, step by step.
#[derive(Debug, Clone)]
pub struct Inquiry {
    name: RequestName,
    matter: Matter,
    /// The answers so far, one list per question.
    answers: Vec<Vec<String>>,
}

#[derive(Debug, Clone)]
enum Matter {
    Permission(Box<RequestPermissionRequest>),
    /// All questions at once, as a form.
    Form {
        request: Box<CreateElicitationRequest>,
        questions: Vec<QuestionInfo>,
    },
    /// A client without forms: one question after the other, as a choice.
    Choices(Vec<options::Choice>),
}

/// One JSON-RPC request to the client.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientRequest {
    /// Ours, so that it never collides and is the same on every stream.
    pub id: String,
    pub request: ClientRequestBody,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ClientRequestBody {
    Permission(Box<RequestPermissionRequest>),
    Elicitation(Box<CreateElicitationRequest>),
}

impl ClientRequestBody {
    pub fn method(&self) -> &'static str {
        match self {
            Self::Permission(_) => "session/request_permission",
            Self::Elicitation(_) => "elicitation/create",
        }
    }
}

/// The result of a client's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// There is more to ask: [`Inquiry::ask`].
    More,
    Permission(PermissionReply),
    /// `None` rejects the question.
    Question(Option<Vec<Vec<String>>>),
    /// The client only confirms that it has stopped asking.
    Withdrawn,
}

impl Inquiry {
    pub(super) fn permission(
        event: &UniversalEvent,
        data: &PermissionEventData,
        call: Option<&Call>,
        notes: Notes,
    ) -> Self {
        let notes = notes.with(meta::REQUEST, data.metadata.as_ref());
        let request = options::permission(event, data, call, notes);
        Self {
            name: RequestName::of_permission(data),
            matter: Matter::Permission(Box::new(request)),
            answers: vec![],
        }
    }

    pub(super) fn question(
        event: &UniversalEvent,
        data: &QuestionEventData,
        call: Option<&Call>,
        audience: Audience,
        notes: Notes,
    ) -> Self {
        let notes = notes.with(meta::REQUEST, data.metadata.as_ref());
        let questions = questions(data);
        let matter = if audience.forms {
            let request = Box::new(form::request(event, &questions, call, notes));
            Matter::Form { request, questions }
        } else {
            let choice =
                |question: &QuestionInfo| options::Choice::new(event, data, question, call, notes.clone());
            Matter::Choices(questions.iter().map(choice).collect())
        };
        Self { name: RequestName::of_question(data), matter, answers: vec![] }
    }

    pub fn name(&self) -> &RequestName {
        &self.name
    }

    /// Returns the request to send now; the same until an answer was given to [`Inquiry::answer`].
    pub fn ask(&self) -> Option<ClientRequest> {
        let request = match &self.matter {
            Matter::Permission(request) => ClientRequestBody::Permission(request.clone()),
            Matter::Form { request, .. } => ClientRequestBody::Elicitation(request.clone()),
            Matter::Choices(choices) => {
                ClientRequestBody::Permission(Box::new(choices.get(self.answers.len())?.request.clone()))
            }
        };
        Some(ClientRequest { id: self.id(), request })
    }

    /// Each step has an id of its own.
    fn id(&self) -> String {
        match self.answers.len() {
            0 => self.name.as_str().to_owned(),
            answered => format!("{}.{}", self.name.as_str(), answered + 1),
        }
    }

    /// Processes the answer to the request of [`Inquiry::ask`]. An invalid answer rejects: no agent waits
    /// forever, and nothing is allowed by mistake.
    pub fn answer(&mut self, answer: Result<Value, Error>) -> Verdict {
        let is_withdrawn = |error: &Error| error.code == ErrorCode::RequestCancelled;
        if answer.as_ref().is_err_and(is_withdrawn) {
            return Verdict::Withdrawn;
        }
        match &self.matter {
            Matter::Permission(_) => Verdict::Permission(match read(answer) {
                Some(response) => options::reply(&response),
                None => PermissionReply::Reject,
            }),
            Matter::Form { questions, .. } => Verdict::Question(
                read(answer)
                    .and_then(|response: CreateElicitationResponse| form::answers(questions, response)),
            ),
            Matter::Choices(choices) => {
                let choice = choices.get(self.answers.len());
                let response: Option<RequestPermissionResponse> = read(answer);
                let chosen = choice.zip(response).and_then(|(choice, response)| choice.chosen(&response));
                let Some(chosen) = chosen else { return Verdict::Question(None) };
                let is_last = self.answers.len() + 1 == choices.len();
                self.answers.push(vec![chosen]);
                if is_last {
                    Verdict::Question(Some(std::mem::take(&mut self.answers)))
                } else {
                    Verdict::More
                }
            }
        }
    }
}

fn read<T: DeserializeOwned>(answer: Result<Value, Error>) -> Option<T> {
    serde_json::from_value(answer.ok()?).ok()
}

/// Returns all questions, also where only the contract's fields have one.
fn questions(data: &QuestionEventData) -> Vec<QuestionInfo> {
    match &data.metadata {
        Some(metadata) if !metadata.questions.is_empty() => metadata.questions.clone(),
        _ => {
            let option = |label: &String| QuestionOption { label: label.clone(), description: None };
            vec![QuestionInfo {
                prompt: data.prompt.clone(),
                options: data.options.iter().map(option).collect(),
                free_text: data.options.is_empty(),
                ..QuestionInfo::default()
            }]
        }
    }
}

#[cfg(test)]
mod tests;

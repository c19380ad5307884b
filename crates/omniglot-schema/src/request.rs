//! The data of permissions and questions: the agent asks, a person answers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::{ItemId, PermissionId, QuestionId};

/// The data of `permission.requested` and `permission.resolved`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PermissionEventData {
    /// The request; replies name it.
    pub permission_id: PermissionId,
    /// The action that the agent asks for.
    pub action: String,
    /// The resolution, or `requested` while there is none.
    pub status: PermissionStatus,
    /// The call that waits, the choices, and who resolved the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RequestMetadata>,
}

/// The resolution of a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionStatus {
    Requested,
    Accept,
    AcceptForSession,
    Reject,
}

/// The data of `question.requested` and `question.resolved`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QuestionEventData {
    /// The request; replies name it.
    pub question_id: QuestionId,
    /// The first question.
    pub prompt: String,
    /// The labels of the first question's options.
    pub options: Vec<String>,
    /// The resolution, or `requested` while there is none.
    pub status: QuestionStatus,
    /// The first answer, once it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// All questions, the call that waits, and who resolved the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RequestMetadata>,
}

/// The resolution of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionStatus {
    Requested,
    Answered,
    Rejected,
}

/// The data of a permission or question beside its contract fields.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RequestMetadata {
    /// The tool call that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<ItemId>,
    /// The agent's own id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_request_id: Option<serde_json::Value>,
    /// The tool that the agent wants to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The agent's own pattern: together with `tool`, the scope of `always`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The choices that the replies stand for, under the agent's own names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<PermissionOption>,
    /// The changes of an edit, one `file_ref` each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<crate::item::ContentPart>,
    /// The agent's details beside the action: arguments, a plan, the directory of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// All questions, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionInfo>,
    /// The person or cause that resolved the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<ResolvedBy>,
    /// The name of the token with which a person has answered; absent for the daemon's own token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The rule that asks about the call, or has decided about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The answers that were given, one array per question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Vec<String>>,
    /// The message of the person who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// One choice of a permission request, under the agent's own name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PermissionOption {
    /// The agent's own id of the choice.
    pub id: String,
    /// The name to show.
    pub name: String,
    /// The reply that the choice stands for, in the agent's words.
    pub kind: String,
}

/// One of several questions asked at once (T12).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuestionInfo {
    /// The question.
    pub prompt: String,
    /// A short title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The options to choose from.
    pub options: Vec<QuestionOption>,
    /// Whether several options may be chosen.
    pub multi_select: bool,
    /// Whether an answer beside the options is allowed.
    pub free_text: bool,
    /// The required format of a free text; absent means any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<AnswerFormat>,
    /// A longer text that the question is about, such as a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The format of an answer that is more than text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerFormat {
    Integer,
    Number,
}

/// One option of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QuestionOption {
    /// The words to answer with.
    pub label: String,
    /// The meaning of the option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The person or cause that resolved a request (T10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolvedBy {
    Person,
    Cancel,
    Agent,
    Crash,
    Restart,
    TurnEnd,
    Expiry,
    /// A rule has decided, which `rule` names; or the session was created with the policy to reject all questions.
    Policy,
    /// A person who had the link of a call.
    Link,
}

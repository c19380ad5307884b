//! Requests of the server, and the forms of our answers, typed.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::contract::{Unparsed, decode};
use crate::form::Content;

#[derive(Debug)]
pub(crate) enum ServerRequest {
    Command(CommandApproval),
    FileChange(FileApproval),
    Permissions(PermissionsApproval),
    UserInput(UserInputRequest),
    Elicitation(Elicitation),
    /// Known or not, it is not served.
    Unserved,
}

impl ServerRequest {
    pub(crate) fn parse(method: &str, params: &RawValue) -> Result<Self, Unparsed> {
        Ok(match method {
            "item/commandExecution/requestApproval" => Self::Command(decode(method, params)?),
            "item/fileChange/requestApproval" => Self::FileChange(decode(method, params)?),
            "item/permissions/requestApproval" => Self::Permissions(decode(method, params)?),
            "item/tool/requestUserInput" => Self::UserInput(decode(method, params)?),
            "mcpServer/elicitation/request" => Self::Elicitation(decode(method, params)?),
            _ => Self::Unserved,
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommandApproval {
    pub(crate) thread_id: String,
    pub(crate) item_id: String,
    #[serde(default)]
    pub(crate) reason: Option<String>,
    #[serde(default)]
    pub(crate) command: Option<String>,
    #[serde(default)]
    pub(crate) cwd: Option<String>,
    #[serde(default)]
    pub(crate) additional_permissions: Option<Value>,
    #[serde(default)]
    pub(crate) network_approval_context: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileApproval {
    pub(crate) thread_id: String,
    pub(crate) item_id: String,
    #[serde(default)]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionsApproval {
    pub(crate) thread_id: String,
    #[serde(default)]
    pub(crate) item_id: Option<String>,
    pub(crate) permissions: Value,
    #[serde(default)]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserInputRequest {
    pub(crate) thread_id: String,
    #[serde(default)]
    pub(crate) item_id: Option<String>,
    pub(crate) questions: Vec<UserQuestion>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserQuestion {
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) header: Option<String>,
    pub(crate) question: String,
    #[serde(default)]
    pub(crate) is_other: bool,
    #[serde(default)]
    pub(crate) is_secret: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) options: Option<Vec<UserOption>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct UserOption {
    pub(crate) label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Elicitation {
    #[serde(default)]
    pub(crate) thread_id: Option<String>,
    pub(crate) server_name: String,
    pub(crate) mode: String,
    #[serde(default)]
    pub(crate) message: Option<String>,
    #[serde(default)]
    pub(crate) url: Option<String>,
    #[serde(default)]
    pub(crate) requested_schema: Option<Box<RawValue>>,
    #[serde(default, rename = "_meta")]
    pub(crate) meta: Option<ElicitationMeta>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ElicitationMeta {
    pub(crate) codex_approval_kind: Option<String>,
    pub(crate) persist: Option<Value>,
}

impl ElicitationMeta {
    /// Whether an answer can be remembered for the session.
    pub(crate) fn persists(&self) -> bool {
        match &self.persist {
            Some(Value::String(word)) => word == "session",
            Some(Value::Array(words)) => words.iter().any(|word| word == "session"),
            Some(_) | None => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DecisionAnswer {
    pub(crate) decision: Decision,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Decision {
    Accept,
    AcceptForSession,
    Decline,
    Cancel,
    /// A rule for all sessions of the user: only seen in recordings.
    AcceptWithExecpolicyAmendment(Value),
    ApplyNetworkPolicyAmendment(Value),
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PermissionsAnswer {
    pub(crate) permissions: Value,
    pub(crate) scope: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct UserInputAnswer {
    pub(crate) answers: IndexMap<String, QuestionAnswer>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct QuestionAnswer {
    pub(crate) answers: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ElicitationAnswer {
    pub(crate) action: String,
    #[serde(default)]
    pub(crate) content: Option<Content>,
    #[serde(default, rename = "_meta")]
    pub(crate) meta: Option<PersistMeta>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PersistMeta {
    #[serde(default)]
    pub(crate) persist: Option<String>,
}

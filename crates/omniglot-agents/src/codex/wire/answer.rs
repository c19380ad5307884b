//! The server's answers to our requests, typed.

use serde::Deserialize;

use super::{SandboxPolicy, Turn};

/// To `initialize`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Initialized {
    /// Our name, its version, and what it runs on.
    pub(crate) user_agent: String,
}

/// To `thread/start`, `thread/resume` and `thread/fork`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadAnswer {
    pub(crate) thread: Thread,
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) reasoning_effort: Option<String>,
    #[serde(default)]
    pub(crate) approval_policy: Option<serde_json::Value>,
    #[serde(default)]
    pub(crate) sandbox: Option<SandboxPolicy>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Thread {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) cli_version: Option<String>,
    #[serde(default)]
    pub(crate) name: Option<String>,
}

/// To `thread/read`.
#[derive(Debug, Deserialize)]
pub(crate) struct ThreadTurns {
    pub(crate) thread: ListedTurns,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ListedTurns {
    pub(crate) turns: Vec<ListedTurn>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ListedTurn {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) items: Vec<ListedItem>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ListedItem {
    #[serde(default)]
    pub(crate) id: Option<String>,
}

/// To `turn/start` and `review/start`.
#[derive(Debug, Deserialize)]
pub(crate) struct TurnAnswer {
    pub(crate) turn: Turn,
}

/// To `model/list`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelList {
    pub(crate) data: Vec<Model>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Model {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) display_name: Option<String>,
    #[serde(default)]
    pub(crate) supported_reasoning_efforts: Vec<Effort>,
    #[serde(default)]
    pub(crate) default_reasoning_effort: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Effort {
    pub(crate) reasoning_effort: String,
}

/// To `account/read`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccountAnswer {
    #[serde(default)]
    pub(crate) account: Option<Account>,
    pub(crate) requires_openai_auth: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Account {
    #[expect(dead_code, reason = "an account is there or not; that is all that is shown of it")]
    r#type: String,
}

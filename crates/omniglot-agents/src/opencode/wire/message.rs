//! Messages as whole records, and what an error is.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Debug, Deserialize)]
pub(crate) struct MessageUpdated {
    pub(crate) info: Message,
}

#[derive(Debug, Deserialize)]
pub(crate) struct MessageRemoved {
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    #[serde(rename = "messageID")]
    pub(crate) message: String,
}

/// A message as one record: sent again, whole, whenever something about it changes.
#[derive(Debug, Deserialize)]
pub(crate) struct Message {
    pub(crate) id: String,
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    #[serde(flatten)]
    pub(crate) by: By,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(crate) enum By {
    User(User),
    Assistant(Box<Assistant>),
}

#[derive(Debug, Deserialize)]
pub(crate) struct User {
    /// The agent that it is addressed to.
    pub(crate) agent: Option<String>,
    #[serde(default)]
    pub(crate) time: Times,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Assistant {
    /// The user's message that it answers.
    #[serde(rename = "parentID")]
    pub(crate) answers: Option<String>,
    #[serde(rename = "providerID")]
    pub(crate) provider: Option<String>,
    #[serde(rename = "modelID")]
    pub(crate) model: Option<String>,
    pub(crate) variant: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) tokens: Option<Tokens>,
    pub(crate) cost: Option<f64>,
    pub(crate) finish: Option<String>,
    pub(crate) error: Option<NamedError>,
    /// The text of a compaction, written for the model.
    #[serde(default)]
    pub(crate) summary: bool,
    pub(crate) structured: Option<Value>,
    #[serde(default)]
    pub(crate) time: Times,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Times {
    pub(crate) created: Option<f64>,
    pub(crate) updated: Option<f64>,
    pub(crate) completed: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    /// Without reasoning.
    pub(crate) output: u64,
    #[serde(default)]
    pub(crate) reasoning: u64,
    #[serde(default)]
    pub(crate) cache: Cache,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Cache {
    #[serde(default)]
    pub(crate) read: u64,
    #[serde(default)]
    pub(crate) write: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct NamedError {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) data: ErrorData,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ErrorData {
    pub(crate) message: Option<String>,
    pub(crate) status_code: Option<u16>,
    pub(crate) response_body: Option<String>,
}

/// One message of a read history.
#[derive(Debug, Deserialize)]
pub(crate) struct Stored<'a> {
    pub(crate) info: Message,
    #[serde(borrow)]
    pub(crate) parts: Vec<&'a RawValue>,
}

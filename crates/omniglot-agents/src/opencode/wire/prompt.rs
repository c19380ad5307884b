//! Prompts, as they are sent.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::File;

#[derive(Debug, Deserialize)]
pub(crate) struct PromptBody<'a> {
    #[serde(default, borrow)]
    pub(crate) parts: Vec<&'a RawValue>,
}

/// Parts of a prompt, as far as they show.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum PromptPart {
    Text { text: String },
    File(File),
    Agent { name: String },
    Subtask { prompt: String },
}

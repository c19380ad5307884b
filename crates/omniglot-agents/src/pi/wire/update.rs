//! A change of the message that is being written.

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Update {
    pub(crate) assistant_message_event: Change,
    /// Older versions repeat the message, which has its id from the first update on.
    #[serde(default)]
    pub(crate) message: Option<Named>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Named {
    #[serde(default)]
    pub(crate) response_id: Option<String>,
}

/// A change of one block of the message that is being written.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Change {
    pub(crate) r#type: String,
    #[serde(default)]
    pub(crate) content_index: u64,
    #[serde(default)]
    pub(crate) delta: String,
    #[serde(default)]
    pub(crate) content: Option<String>,
    #[serde(default)]
    pub(crate) tool_call: Option<WholeCall>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    tool_name: Option<String>,
    /// The whole message so far, in older versions.
    #[serde(default)]
    partial: Option<Partial>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct WholeCall {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) arguments: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
struct Partial {
    #[serde(default)]
    content: Vec<PartialBlock>,
}

#[derive(Debug, Deserialize)]
struct PartialBlock {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
}

impl Change {
    /// Returns the id and the name of a call that begins, where they are told.
    pub(crate) fn call(&self) -> (Option<String>, Option<String>) {
        let index = usize::try_from(self.content_index).unwrap_or(usize::MAX);
        let block = self.partial.as_ref().and_then(|partial| partial.content.get(index));
        let id = self.id.clone().or_else(|| block?.id.clone());
        let name = self.tool_name.clone().or_else(|| block?.name.clone());
        (id, name)
    }
}

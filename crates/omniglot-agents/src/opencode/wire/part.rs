//! Parts of messages: texts, thoughts, files, and the marks between them.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{NamedError, Tokens, Tool};
use crate::about::if_fitting;
use crate::contract::{Unparsed, decode};

#[derive(Debug, Deserialize)]
pub(crate) struct PartRemoved {
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    #[serde(rename = "messageID")]
    pub(crate) message: String,
    #[serde(rename = "partID")]
    pub(crate) part: String,
}

#[derive(Debug)]
pub(crate) struct PartUpdated {
    pub(crate) head: PartHead,
    pub(crate) body: PartBody,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PartHead {
    pub(crate) id: String,
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    #[serde(rename = "messageID")]
    pub(crate) message: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Debug)]
pub(crate) enum PartBody {
    Text(Text),
    Reasoning(Text),
    Tool(Box<Tool>),
    File(File),
    Compaction(Compaction),
    Retry(Retry),
    StepStart,
    StepFinish(StepFinish),
    /// The state of the files: bookkeeping.
    Snapshot,
    /// A reference in the user's message, beside its text.
    Mention,
    Unknown {
        kind: String,
    },
}

#[derive(Debug, Deserialize)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// Written by OpenCode in the user's name.
    #[serde(default)]
    pub(crate) synthetic: bool,
    #[serde(default)]
    pub(crate) ignored: bool,
    #[serde(default)]
    pub(crate) time: Span,
    /// Further data of providers and OpenCode itself, in no common form.
    metadata: Option<Value>,
}

impl Text {
    /// Whether it is a thought that its provider keeps to itself.
    pub(crate) fn is_hidden(&self) -> bool {
        let mut notes = self.metadata.iter().filter_map(Value::as_object).flat_map(|notes| notes.values());
        notes.any(|note| note.get("redactedData").is_some())
            || (self.time.end.is_some() && self.text.is_empty())
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Span {
    pub(crate) start: Option<f64>,
    pub(crate) end: Option<f64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct File {
    pub(crate) mime: String,
    pub(crate) url: String,
    pub(crate) filename: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Compaction {
    #[serde(default)]
    pub(crate) auto: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct StepFinish {
    pub(crate) reason: Option<String>,
    #[serde(default, deserialize_with = "if_fitting")]
    pub(crate) tokens: Option<Tokens>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Retry {
    pub(crate) attempt: Option<u64>,
    pub(crate) error: Option<NamedError>,
}

impl PartUpdated {
    pub(crate) fn parse(body: &RawValue) -> Result<Self, Unparsed> {
        #[derive(Deserialize)]
        struct Properties<'a> {
            #[serde(borrow)]
            part: &'a RawValue,
        }
        let Properties { part } = decode("message.part.updated", body)?;
        Self::of_part(part)
    }

    pub(crate) fn of_part(part: &RawValue) -> Result<Self, Unparsed> {
        let head: PartHead = decode("message.part.updated part", part)?;
        let body = match head.kind.as_str() {
            "text" => PartBody::Text(decode("part text", part)?),
            "reasoning" => PartBody::Reasoning(decode("part reasoning", part)?),
            "tool" => PartBody::Tool(decode("part tool", part)?),
            "file" => PartBody::File(decode("part file", part)?),
            "compaction" => PartBody::Compaction(decode("part compaction", part)?),
            "retry" => PartBody::Retry(decode("part retry", part)?),
            "step-start" => PartBody::StepStart,
            "step-finish" => PartBody::StepFinish(decode("part step-finish", part)?),
            "patch" | "snapshot" => PartBody::Snapshot,
            "agent" | "subtask" => PartBody::Mention,
            kind => PartBody::Unknown { kind: kind.to_owned() },
        };
        Ok(Self { head, body })
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct PartDelta {
    #[serde(rename = "sessionID")]
    pub(crate) session: String,
    #[serde(rename = "messageID", default)]
    pub(crate) message: String,
    #[serde(rename = "partID")]
    pub(crate) part: String,
    pub(crate) field: String,
    pub(crate) delta: String,
}

//! The messages of `pi --mode rpc`, typed: one JSON object per line, read tag first, body later.
//!
//! Adds no meaning. Pi repeats the whole message in every update; only the change is read.

use std::borrow::Cow;

use omniglot_schema::ContentPart;
use omniglot_timeline::inline_image;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contract::{Unparsed, decode};
use crate::fault::unparsed;

/// One line of Pi.
#[derive(Debug)]
pub(crate) enum Line<'a> {
    Response(Response<'a>),
    Dialog(Dialog),
    AgentStart,
    AgentEnd(AgentEnd),
    Settled(Settled),
    MessageStart(Message<'a>),
    MessageUpdate(Box<Update>),
    MessageEnd(Message<'a>),
    ToolUpdate(ToolUpdate),
    ToolEnd(Box<ToolEnd>),
    ToolStart(ToolStart),
    Level(Level),
    Name(Name),
    CompactionStart(CompactionStart),
    CompactionEnd(CompactionEnd),
    RetryStart(RetryStart),
    RetryEnd(RetryEnd),
    ExtensionError(ExtensionError),
    /// It repeats what others tell, or counts what nobody waits for.
    Repeated,
    Unknown {
        kind: String,
    },
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
}

impl<'a> Line<'a> {
    pub(crate) fn parse(frame: &'a RawValue) -> Result<Self, Unparsed> {
        let Tag { r#type: kind } = decode("line", frame)?;
        Ok(match &*kind {
            "response" => Self::Response(decode(&kind, frame)?),
            "extension_ui_request" => Self::Dialog(decode(&kind, frame)?),
            "agent_start" => Self::AgentStart,
            "agent_end" => Self::AgentEnd(decode(&kind, frame)?),
            "agent_settled" => Self::Settled(decode(&kind, frame)?),
            "message_start" => Self::MessageStart(decode::<OfMessage<'_>>(&kind, frame)?.message),
            "message_update" => Self::MessageUpdate(decode(&kind, frame)?),
            "message_end" => Self::MessageEnd(decode::<OfMessage<'_>>(&kind, frame)?.message),
            "tool_execution_start" => Self::ToolStart(decode(&kind, frame)?),
            "tool_execution_update" => Self::ToolUpdate(decode(&kind, frame)?),
            "tool_execution_end" => Self::ToolEnd(decode(&kind, frame)?),
            "thinking_level_changed" => Self::Level(decode(&kind, frame)?),
            "session_info_changed" => Self::Name(decode(&kind, frame)?),
            "compaction_start" => Self::CompactionStart(decode(&kind, frame)?),
            "compaction_end" => Self::CompactionEnd(decode(&kind, frame)?),
            "auto_retry_start" => Self::RetryStart(decode(&kind, frame)?),
            "auto_retry_end" => Self::RetryEnd(decode(&kind, frame)?),
            "extension_error" => Self::ExtensionError(decode(&kind, frame)?),
            "turn_start" | "turn_end" | "queue_update" | "entry_appended" | "bash_execution_update" => {
                Self::Repeated
            }
            _ => Self::Unknown { kind: kind.into_owned() },
        })
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Response<'a> {
    #[serde(default)]
    pub(crate) id: Option<String>,
    pub(crate) command: String,
    pub(crate) success: bool,
    #[serde(borrow, default)]
    pub(crate) data: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) error: Option<String>,
}

impl Response<'_> {
    pub(crate) fn words(&self) -> String {
        self.error.clone().unwrap_or_else(|| format!("{} was refused", self.command))
    }
}

/// A request of an extension to the person, or a note for the screen.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Dialog {
    pub(crate) id: String,
    pub(crate) method: String,
    #[serde(default)]
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) message: Option<String>,
    #[serde(default)]
    pub(crate) options: Vec<String>,
    #[serde(default)]
    pub(crate) placeholder: Option<String>,
    #[serde(default)]
    pub(crate) prefill: Option<String>,
    /// The milliseconds after which Pi takes no answer any more.
    #[serde(default)]
    pub(crate) timeout: Option<f64>,
    #[serde(default, rename = "statusKey")]
    pub(crate) status_key: Option<String>,
    #[serde(default, rename = "statusText")]
    pub(crate) status_text: Option<String>,
    #[serde(default, rename = "notifyType")]
    pub(crate) notify_type: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AgentEnd {
    /// Only versions that end with `agent_settled` have it.
    #[serde(default, rename = "willRetry")]
    pub(crate) will_retry: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Settled {
    #[serde(default)]
    pub(crate) aborted: bool,
}

#[derive(Deserialize)]
struct OfMessage<'a> {
    #[serde(borrow)]
    message: Message<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Message<'a> {
    pub(crate) role: String,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) provider: Option<String>,
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) usage: Option<Tokens>,
    #[serde(default)]
    pub(crate) stop_reason: Option<String>,
    #[serde(default)]
    pub(crate) error_message: Option<String>,
    #[serde(default)]
    pub(crate) display: Option<bool>,
}

impl<'a> Message<'a> {
    /// Returns the blocks of the content, each by itself: a bad one takes none of the others away.
    pub(crate) fn blocks(&self, faults: &mut Vec<Unparsed>) -> Vec<Block<'a>> {
        blocks(self.content, faults)
    }
}

fn blocks<'a>(content: Option<&'a RawValue>, faults: &mut Vec<Unparsed>) -> Vec<Block<'a>> {
    let Some(content) = content else { return vec![] };
    if let Ok(text) = serde_json::from_str::<String>(content.get()) {
        return vec![Block::Text { text }];
    }
    let list: Vec<&RawValue> = decode("content", content).unwrap_or_else(|fault| {
        faults.push(fault);
        vec![]
    });
    list.into_iter().map(|block| Block::parse(block, faults)).collect()
}

/// A block of a message. An unknown one keeps its position.
#[derive(Debug, Clone)]
pub(crate) enum Block<'a> {
    Text { text: String },
    Thinking { text: String },
    Call(ToolCall<'a>),
    Image(ContentPart),
    Unknown,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ToolCall<'a> {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TextBlock {
    text: String,
}

#[derive(Deserialize)]
struct ThinkingBlock {
    #[serde(default)]
    thinking: String,
}

#[derive(Deserialize)]
struct ImageBlock {
    data: String,
    #[serde(rename = "mimeType")]
    mime_type: String,
}

impl<'a> Block<'a> {
    fn parse(block: &'a RawValue, faults: &mut Vec<Unparsed>) -> Self {
        Self::read(block).unwrap_or_else(|fault| {
            faults.push(fault);
            Self::Unknown
        })
    }

    fn read(block: &'a RawValue) -> Result<Self, Unparsed> {
        let Tag { r#type: kind } = decode("content", block)?;
        Ok(match &*kind {
            "text" => Self::Text { text: decode::<TextBlock>("text", block)?.text },
            "thinking" => Self::Thinking { text: decode::<ThinkingBlock>("thinking", block)?.thinking },
            "toolCall" => Self::Call(decode("toolCall", block)?),
            "image" => {
                let ImageBlock { data, mime_type } = decode("image", block)?;
                Self::Image(inline_image(&mime_type, &data))
            }
            other => return Err(unparsed(format!("content.{other}"), "unknown block")),
        })
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
    pub(crate) reasoning: Option<u64>,
    pub(crate) total_tokens: u64,
    pub(crate) cost: Cost,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Cost {
    pub(crate) total: f64,
}

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

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolStart {
    pub(crate) tool_call_id: String,
    pub(crate) tool_name: String,
    #[serde(default)]
    pub(crate) args: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolUpdate {
    pub(crate) tool_call_id: String,
    #[serde(default)]
    pub(crate) partial_result: ToolOutput,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolEnd {
    pub(crate) tool_call_id: String,
    pub(crate) tool_name: String,
    #[serde(default)]
    pub(crate) result: ToolOutput,
    #[serde(default)]
    pub(crate) is_error: bool,
    #[serde(default)]
    pub(crate) duration_ms: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ToolOutput {
    content: Option<Box<RawValue>>,
    pub(crate) details: Option<Box<RawValue>>,
    pub(crate) structured_content: Option<Box<RawValue>>,
}

impl ToolOutput {
    pub(crate) fn blocks(&self, faults: &mut Vec<Unparsed>) -> Vec<Block<'_>> {
        blocks(self.content.as_deref(), faults)
    }
}

/// The details of an edit.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EditDetails {
    /// A unified diff; newer versions only.
    pub(crate) patch: Option<String>,
    /// Lines with their numbers.
    pub(crate) diff: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CommandOutcome {
    pub(crate) exit_code: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Level {
    pub(crate) level: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Name {
    #[serde(default)]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CompactionStart {
    #[serde(default)]
    pub(crate) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CompactionEnd {
    #[serde(default)]
    pub(crate) reason: String,
    #[serde(default)]
    pub(crate) result: Option<Compacted>,
    #[serde(default)]
    pub(crate) aborted: bool,
    #[serde(default)]
    pub(crate) will_retry: bool,
    #[serde(default)]
    pub(crate) error_message: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Compacted {
    #[serde(default)]
    pub(crate) summary: String,
    #[serde(default)]
    pub(crate) tokens_before: Option<u64>,
    #[serde(default)]
    pub(crate) estimated_tokens_after: Option<u64>,
    #[serde(default)]
    pub(crate) usage: Option<Tokens>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RetryStart {
    #[serde(default)]
    pub(crate) attempt: u64,
    #[serde(default)]
    pub(crate) max_attempts: u64,
    #[serde(default)]
    pub(crate) delay_ms: u64,
    #[serde(default)]
    pub(crate) error_message: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RetryEnd {
    #[serde(default)]
    pub(crate) success: bool,
    #[serde(default)]
    pub(crate) final_error: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExtensionError {
    #[serde(default)]
    pub(crate) extension_path: String,
    #[serde(default)]
    pub(crate) event: String,
    #[serde(default)]
    pub(crate) error: String,
}

/// The state of a session, as `get_state` tells it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct State {
    #[serde(default)]
    pub(crate) model: Option<Model>,
    #[serde(default)]
    pub(crate) thinking_level: Option<String>,
    #[serde(default)]
    pub(crate) session_id: Option<String>,
    #[serde(default)]
    pub(crate) session_name: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Model {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) provider: String,
    #[serde(default)]
    pub(crate) reasoning: bool,
    #[serde(default)]
    pub(crate) context_window: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Models {
    #[serde(default)]
    pub(crate) models: Vec<Model>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Commands {
    #[serde(default)]
    pub(crate) commands: Vec<CommandEntry>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CommandEntry {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) description: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Accepted {
    pub(crate) disposition: Option<String>,
}

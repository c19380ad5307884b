//! The items of a turn, typed. Unknown kinds stay whole.

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::UserInput;
use crate::about::text;
use crate::contract::{Unparsed, decode};

#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) id: String,
    pub(crate) body: ItemBody,
}

#[derive(Debug)]
pub(crate) enum ItemBody {
    UserMessage(UserMessage),
    AgentMessage(AgentMessage),
    /// The plan of the plan mode.
    Plan(Text),
    Reasoning(Reasoning),
    Command(CommandExecution),
    FileChange(FileChange),
    McpToolCall(McpToolCall),
    DynamicToolCall(DynamicToolCall),
    FunctionCallOutput(FunctionCallOutput),
    CollabAgent(CollabAgentToolCall),
    SubAgent(SubAgentActivity),
    WebSearch(WebSearch),
    ImageView(ImageView),
    ImageGeneration(ImageGeneration),
    Sleep(Sleep),
    HookPrompt(HookPrompt),
    /// It begins; its words are the message that asked for it.
    EnteredReview,
    /// It ends; its words come again as a message.
    ExitedReview,
    Compaction,
    Unknown(Value),
}

#[derive(Deserialize)]
struct Tag {
    r#type: String,
    id: String,
}

impl Item {
    pub(crate) fn parse(raw: &RawValue) -> Result<Self, Unparsed> {
        let Tag { r#type: kind, id } = decode("item", raw)?;
        let body = match kind.as_str() {
            "userMessage" => ItemBody::UserMessage(decode(&kind, raw)?),
            "agentMessage" => ItemBody::AgentMessage(decode(&kind, raw)?),
            "plan" => ItemBody::Plan(decode(&kind, raw)?),
            "reasoning" => ItemBody::Reasoning(decode(&kind, raw)?),
            "commandExecution" => ItemBody::Command(decode(&kind, raw)?),
            "fileChange" => ItemBody::FileChange(decode(&kind, raw)?),
            "mcpToolCall" => ItemBody::McpToolCall(decode(&kind, raw)?),
            "dynamicToolCall" => ItemBody::DynamicToolCall(decode(&kind, raw)?),
            "functionCallOutput" => ItemBody::FunctionCallOutput(decode(&kind, raw)?),
            "collabAgentToolCall" => ItemBody::CollabAgent(decode(&kind, raw)?),
            "subAgentActivity" => ItemBody::SubAgent(decode(&kind, raw)?),
            "webSearch" => ItemBody::WebSearch(decode(&kind, raw)?),
            "imageView" => ItemBody::ImageView(decode(&kind, raw)?),
            "imageGeneration" => ItemBody::ImageGeneration(decode(&kind, raw)?),
            "sleep" => ItemBody::Sleep(decode(&kind, raw)?),
            "hookPrompt" => ItemBody::HookPrompt(decode(&kind, raw)?),
            "enteredReviewMode" => ItemBody::EnteredReview,
            "exitedReviewMode" => ItemBody::ExitedReview,
            "contextCompaction" => ItemBody::Compaction,
            _ => ItemBody::Unknown(decode(&kind, raw)?),
        };
        Ok(Self { id, body })
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserMessage {
    /// The id given by the client that sent it.
    #[serde(default)]
    pub(crate) client_id: Option<String>,
    #[serde(default)]
    pub(crate) content: Vec<UserInput>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AgentMessage {
    pub(crate) text: String,
    /// Questions that do not wait; their answer is the next message.
    #[serde(default)]
    pub(crate) questions: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Text {
    pub(crate) text: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Reasoning {
    #[serde(default)]
    pub(crate) summary: Vec<String>,
    /// The thoughts themselves.
    #[serde(default)]
    pub(crate) content: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommandExecution {
    pub(crate) command: String,
    pub(crate) cwd: String,
    /// Codex's own number of the running command; not an id of the system.
    #[serde(default)]
    pub(crate) process_id: Option<String>,
    pub(crate) status: CallStatus,
    #[serde(default)]
    pub(crate) aggregated_output: Option<String>,
    #[serde(default)]
    pub(crate) exit_code: Option<i64>,
    #[serde(default)]
    pub(crate) duration_ms: Option<u64>,
    #[serde(default, deserialize_with = "actions")]
    pub(crate) command_actions: Vec<CommandAction>,
}

/// A part of a command as Codex understands it: `read`, `listFiles`, `search` or `unknown`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CommandAction {
    #[serde(rename = "type", deserialize_with = "text")]
    pub(crate) kind: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) path: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(crate) query: Option<String>,
}

/// Reads what Codex understands of a command; an entry that has another form takes no other away.
fn actions<'de, D: Deserializer<'de>>(list: D) -> Result<Vec<CommandAction>, D::Error> {
    let entries = match Value::deserialize(list)? {
        Value::Array(entries) => entries,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => vec![],
    };
    let objects = entries.iter().filter(|entry| entry.is_object());
    Ok(objects.filter_map(|entry| CommandAction::deserialize(entry).ok()).collect())
}

/// The states of all kinds of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum CallStatus {
    InProgress,
    Completed,
    Failed,
    Declined,
}

#[derive(Debug, Deserialize)]
pub(crate) struct FileChange {
    pub(crate) changes: Vec<FileUpdate>,
    pub(crate) status: CallStatus,
}

#[derive(Debug, Clone, Deserialize, serde::Serialize)]
pub(crate) struct FileUpdate {
    pub(crate) path: String,
    pub(crate) kind: UpdateKind,
    /// Hunks without a header for an update; the whole content of a file that is added or deleted.
    pub(crate) diff: String,
}

#[derive(Debug, Clone, Deserialize, serde::Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(crate) enum UpdateKind {
    Add,
    Delete,
    Update {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        move_path: Option<String>,
    },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct McpToolCall {
    pub(crate) server: String,
    pub(crate) tool: String,
    pub(crate) status: CallStatus,
    #[serde(default)]
    pub(crate) arguments: Value,
    #[serde(default)]
    pub(crate) result: Option<McpResult>,
    #[serde(default)]
    pub(crate) error: Option<McpError>,
    #[serde(default)]
    pub(crate) duration_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct McpResult {
    pub(crate) content: Vec<Value>,
    #[serde(default)]
    pub(crate) structured_content: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct McpError {
    pub(crate) message: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DynamicToolCall {
    #[serde(default)]
    pub(crate) namespace: Option<String>,
    pub(crate) tool: String,
    #[serde(default)]
    pub(crate) arguments: Value,
    pub(crate) status: CallStatus,
    #[serde(default)]
    pub(crate) content_items: Option<Vec<Value>>,
    #[serde(default)]
    pub(crate) duration_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct FunctionCallOutput {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) namespace: Option<String>,
    pub(crate) output: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CollabAgentToolCall {
    pub(crate) tool: String,
    pub(crate) status: CallStatus,
    #[serde(default)]
    pub(crate) receiver_thread_ids: Vec<String>,
    #[serde(default)]
    pub(crate) prompt: Option<String>,
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) reasoning_effort: Option<String>,
    #[serde(default)]
    pub(crate) agents_states: IndexMap<String, AgentState>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct AgentState {
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubAgentActivity {
    pub(crate) kind: String,
    pub(crate) agent_thread_id: String,
    /// A name such as `/root/lister`, not a file.
    pub(crate) agent_path: String,
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default)]
    pub(crate) reasoning_effort: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct WebSearch {
    pub(crate) query: String,
    #[serde(default)]
    pub(crate) action: Option<Value>,
    #[serde(default)]
    pub(crate) results: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ImageView {
    pub(crate) path: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImageGeneration {
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) revised_prompt: Option<String>,
    /// The picture, in base64.
    #[serde(default)]
    pub(crate) result: Option<String>,
    #[serde(default)]
    pub(crate) saved_path: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sleep {
    pub(crate) duration_ms: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HookPrompt {
    pub(crate) fragments: Vec<Text>,
}

//! Lines of type `system`: what the CLI says about itself.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contract::{Unparsed, decode};

#[derive(Debug)]
pub(crate) enum System {
    Init(Box<InitLine>),
    Status(Status),
    CompactBoundary(CompactMetadata),
    ApiRetry(ApiRetry),
    TaskStarted(TaskLine),
    TaskProgress(TaskLine),
    TaskUpdated(TaskLine),
    TaskNotification(TaskLine),
    PermissionDenied(PermissionDenied),
    HookStarted(Hook),
    HookResponse(Hook),
    CommandsChanged(Vec<CommandEntry>),
    TitleChanged(Option<String>),
    Informational(String),
    /// The words for it come with the `result`.
    ModelRefusal,
    ThinkingTokens,
    BackgroundTasksChanged,
    SessionStateChanged,
    ControlRequestProgress,
    Unknown {
        subtype: String,
    },
}

/// Emitted at the start of every turn.
#[derive(Debug, Deserialize)]
pub(crate) struct InitLine {
    pub(crate) session_id: String,
    #[serde(default)]
    pub(crate) model: Option<String>,
    #[serde(default, rename = "permissionMode")]
    pub(crate) permission_mode: Option<String>,
    #[serde(default)]
    pub(crate) claude_code_version: Option<String>,
    #[serde(default)]
    pub(crate) mcp_servers: Vec<McpServer>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct McpServer {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) status: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Status {
    #[serde(default)]
    pub(crate) status: Option<String>,
    #[serde(default)]
    pub(crate) compact_result: Option<String>,
    #[serde(default)]
    pub(crate) compact_error: Option<String>,
    #[serde(default, rename = "permissionMode")]
    pub(crate) permission_mode: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CompactMetadata {
    pub(crate) trigger: Option<String>,
    pub(crate) pre_tokens: Option<u64>,
    pub(crate) post_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ApiRetry {
    #[serde(default)]
    pub(crate) attempt: u64,
    #[serde(default)]
    pub(crate) max_retries: u64,
    #[serde(default)]
    pub(crate) retry_delay_ms: f64,
    #[serde(default)]
    pub(crate) error_status: Option<u16>,
    #[serde(default)]
    pub(crate) error: Option<String>,
}

/// A command or subagent that runs for itself; the four kinds of lines share their fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TaskLine {
    pub(crate) task_id: String,
    pub(crate) tool_use_id: Option<String>,
    pub(crate) description: Option<String>,
    /// `local_bash` or `local_agent`.
    pub(crate) task_type: Option<String>,
    pub(crate) subagent_type: Option<String>,
    pub(crate) last_tool_name: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) patch: Option<TaskPatch>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TaskPatch {
    pub(crate) status: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct PermissionDenied {
    pub(crate) tool_name: String,
    #[serde(default)]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Hook {
    pub(crate) hook_id: String,
    pub(crate) hook_name: String,
    #[serde(default)]
    pub(crate) output: Option<String>,
    #[serde(default)]
    pub(crate) exit_code: Option<i64>,
    #[serde(default)]
    pub(crate) outcome: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommandEntry {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) description: String,
    #[serde(default)]
    pub(crate) argument_hint: Option<String>,
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(borrow)]
    subtype: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Boundary {
    #[serde(default)]
    compact_metadata: CompactMetadata,
}

#[derive(Deserialize)]
struct Commands {
    commands: Vec<CommandEntry>,
}

#[derive(Deserialize)]
struct Title {
    #[serde(default)]
    title: Option<String>,
}

#[derive(Deserialize)]
struct Informational {
    content: String,
}

impl System {
    pub(crate) fn parse(frame: &RawValue) -> Result<Self, Unparsed> {
        let Tag { subtype } = decode("system", frame)?;
        let location = format!("system.{subtype}");
        let place = location.as_str();
        Ok(match &*subtype {
            "init" => Self::Init(Box::new(decode(place, frame)?)),
            "status" => Self::Status(decode(place, frame)?),
            "compact_boundary" => Self::CompactBoundary(decode::<Boundary>(place, frame)?.compact_metadata),
            "api_retry" => Self::ApiRetry(decode(place, frame)?),
            "task_started" => Self::TaskStarted(decode(place, frame)?),
            "task_progress" => Self::TaskProgress(decode(place, frame)?),
            "task_updated" => Self::TaskUpdated(decode(place, frame)?),
            "task_notification" => Self::TaskNotification(decode(place, frame)?),
            "permission_denied" => Self::PermissionDenied(decode(place, frame)?),
            "hook_started" => Self::HookStarted(decode(place, frame)?),
            "hook_response" => Self::HookResponse(decode(place, frame)?),
            "commands_changed" => Self::CommandsChanged(decode::<Commands>(place, frame)?.commands),
            "session_title_changed" => Self::TitleChanged(decode::<Title>(place, frame)?.title),
            "informational" => Self::Informational(decode::<Informational>(place, frame)?.content),
            "model_refusal_no_fallback" => Self::ModelRefusal,
            "thinking_tokens" => Self::ThinkingTokens,
            "background_tasks_changed" => Self::BackgroundTasksChanged,
            "session_state_changed" => Self::SessionStateChanged,
            "control_request_progress" => Self::ControlRequestProgress,
            _ => Self::Unknown { subtype: subtype.into_owned() },
        })
    }
}

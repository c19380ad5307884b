//! The notifications of the server, typed.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::ignored::ignored;
use crate::contract::{DropReason, Unparsed, decode};
use crate::rpc::RpcId;

#[derive(Debug)]
pub(crate) enum Notice<'a> {
    TurnStarted(TurnNotice),
    TurnCompleted(TurnNotice),
    TurnPlan(TurnPlan),
    ItemStarted(ItemNotice<'a>),
    ItemCompleted(ItemNotice<'a>),
    /// More of an agent message or a plan.
    TextDelta(Delta),
    CommandOutput(Delta),
    TerminalInteraction(TerminalInteraction),
    SummaryPart(SummaryPart),
    SummaryDelta(Delta),
    ThoughtDelta(Delta),
    McpProgress(McpProgress),
    TokenUsage(TokenUsageNotice),
    Error(ErrorNotice),
    Settings(SettingsNotice),
    Name(NameNotice),
    Resolved(Resolved),
    McpStartup(McpStartup),
    Warning(Warning),
    ConfigWarning(ConfigWarning),
    Hook(HookNotice),
    Rerouted(Rerouted),
    Reverted(AtThread),
    AccountUpdated(AccountUpdated),
    LoginCompleted(LoginCompleted),
    /// Known, and nothing for the stream.
    Ignored(DropReason),
    Unknown,
}

impl<'a> Notice<'a> {
    pub(crate) fn parse(method: &str, params: &'a RawValue) -> Result<Self, Unparsed> {
        Ok(match method {
            "item/agentMessage/delta" | "item/plan/delta" => Self::TextDelta(decode(method, params)?),
            "item/commandExecution/outputDelta" => Self::CommandOutput(decode(method, params)?),
            "item/reasoning/summaryTextDelta" => Self::SummaryDelta(decode(method, params)?),
            "item/reasoning/summaryPartAdded" => Self::SummaryPart(decode(method, params)?),
            "item/reasoning/textDelta" => Self::ThoughtDelta(decode(method, params)?),
            "item/started" => Self::ItemStarted(decode(method, params)?),
            "item/completed" => Self::ItemCompleted(decode(method, params)?),
            "item/commandExecution/terminalInteraction" => Self::TerminalInteraction(decode(method, params)?),
            "item/mcpToolCall/progress" => Self::McpProgress(decode(method, params)?),
            "turn/started" => Self::TurnStarted(decode(method, params)?),
            "turn/completed" => Self::TurnCompleted(decode(method, params)?),
            "turn/plan/updated" => Self::TurnPlan(decode(method, params)?),
            "thread/tokenUsage/updated" => Self::TokenUsage(decode(method, params)?),
            "thread/settings/updated" => Self::Settings(decode(method, params)?),
            "thread/name/updated" => Self::Name(decode(method, params)?),
            "thread/reverted" => Self::Reverted(decode(method, params)?),
            "error" => Self::Error(decode(method, params)?),
            "serverRequest/resolved" => Self::Resolved(decode(method, params)?),
            "mcpServer/startupStatus/updated" => Self::McpStartup(decode(method, params)?),
            "warning" | "guardianWarning" => Self::Warning(decode(method, params)?),
            "configWarning" => Self::ConfigWarning(decode(method, params)?),
            "hook/completed" => Self::Hook(decode(method, params)?),
            "model/rerouted" => Self::Rerouted(decode(method, params)?),
            "account/updated" => Self::AccountUpdated(decode(method, params)?),
            "account/login/completed" => Self::LoginCompleted(decode(method, params)?),
            _ => ignored(method).map_or(Self::Unknown, Self::Ignored),
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AtThread {
    pub(crate) thread_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnNotice {
    pub(crate) thread_id: String,
    pub(crate) turn: Turn,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Turn {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) root_turn_id: Option<String>,
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) error: Option<TurnError>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnError {
    pub(crate) message: String,
    /// A word, or an object with one key.
    #[serde(default)]
    pub(crate) codex_error_info: Option<serde_json::Value>,
    #[serde(default)]
    pub(crate) additional_details: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorNotice {
    pub(crate) thread_id: String,
    pub(crate) error: TurnError,
    pub(crate) will_retry: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnPlan {
    pub(crate) thread_id: String,
    #[serde(default)]
    pub(crate) explanation: Option<String>,
    pub(crate) plan: Vec<PlanStep>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PlanStep {
    pub(crate) step: String,
    pub(crate) status: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ItemNotice<'a> {
    pub(crate) thread_id: String,
    #[serde(borrow)]
    pub(crate) item: &'a RawValue,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Delta {
    pub(crate) thread_id: String,
    pub(crate) item_id: String,
    pub(crate) delta: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SummaryPart {
    pub(crate) thread_id: String,
    pub(crate) item_id: String,
    pub(crate) summary_index: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TerminalInteraction {
    pub(crate) thread_id: String,
    pub(crate) item_id: String,
    pub(crate) stdin: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct McpProgress {
    pub(crate) thread_id: String,
    pub(crate) item_id: String,
    pub(crate) message: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TokenUsageNotice {
    pub(crate) thread_id: String,
    pub(crate) token_usage: TokenUsage,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TokenUsage {
    /// Of the thread since it began.
    pub(crate) total: Tokens,
    /// Of the last call of the model.
    pub(crate) last: Tokens,
    #[serde(default)]
    pub(crate) model_context_window: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Tokens {
    pub(crate) total_tokens: u64,
    /// With the cached ones.
    pub(crate) input_tokens: u64,
    pub(crate) cached_input_tokens: u64,
    pub(crate) cache_write_input_tokens: u64,
    /// With the reasoning.
    pub(crate) output_tokens: u64,
    pub(crate) reasoning_output_tokens: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SettingsNotice {
    pub(crate) thread_id: String,
    pub(crate) thread_settings: ThreadSettings,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThreadSettings {
    pub(crate) model: String,
    #[serde(default)]
    pub(crate) effort: Option<String>,
    /// A word, or an object of finer rules.
    pub(crate) approval_policy: serde_json::Value,
    pub(crate) sandbox_policy: SandboxPolicy,
    pub(crate) collaboration_mode: CollaborationMode,
}

/// A sandbox policy, whose fields beside the type are kept verbatim, to be sent back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SandboxPolicy {
    pub(crate) r#type: String,
    #[serde(flatten)]
    pub(crate) rest: serde_json::Map<String, serde_json::Value>,
}

/// Its settings repeat model and effort, and may hold long built-in instructions.
#[derive(Debug, Deserialize)]
pub(crate) struct CollaborationMode {
    pub(crate) mode: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NameNotice {
    pub(crate) thread_id: String,
    #[serde(default)]
    pub(crate) thread_name: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Resolved {
    pub(crate) request_id: RpcId,
}

#[derive(Debug, Deserialize)]
pub(crate) struct McpStartup {
    pub(crate) name: String,
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) error: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Warning {
    pub(crate) message: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ConfigWarning {
    pub(crate) summary: String,
    #[serde(default)]
    pub(crate) details: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct HookNotice {
    pub(crate) run: HookRun,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HookRun {
    pub(crate) event_name: String,
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) status_message: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Rerouted {
    pub(crate) from_model: String,
    pub(crate) to_model: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccountUpdated {
    #[serde(default)]
    pub(crate) auth_mode: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct LoginCompleted {
    pub(crate) success: bool,
}

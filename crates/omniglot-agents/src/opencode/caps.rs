//! What OpenCode can do.

use omniglot_schema::AgentCapabilities;

pub fn capabilities() -> AgentCapabilities {
    AgentCapabilities {
        plan_mode: true,
        permissions: true,
        questions: true,
        tool_calls: true,
        tool_results: true,
        text_messages: true,
        images: true,
        file_attachments: true,
        session_lifecycle: true,
        error_events: true,
        reasoning: true,
        status: true,
        command_execution: true,
        file_changes: true,
        mcp_tools: true,
        streaming_deltas: true,
        item_started: true,
        shared_process: true,
    }
}

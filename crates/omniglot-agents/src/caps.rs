//! What an agent can do, as far as its protocol tells before it runs.

use omniglot_schema::AgentCapabilities;

use crate::registry::Protocol;

pub fn capabilities(protocol: Protocol) -> AgentCapabilities {
    match protocol {
        // Which modes it has, only the agent itself can tell.
        Protocol::Acp => AgentCapabilities { plan_mode: false, ..OF_ONE_PROCESS },
        Protocol::Claude => OF_ONE_PROCESS,
        Protocol::Codex | Protocol::OpenCode => AgentCapabilities { shared_process: true, ..OF_ONE_PROCESS },
    }
}

/// Everything, for an agent with a process for each session.
const OF_ONE_PROCESS: AgentCapabilities = AgentCapabilities {
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
    shared_process: false,
};

//! claude-agent-acp 0.49 and 0.99, the wrapper of the Claude Agent SDK. The agent `claude` is the native one.

use super::{McpNames, Offers, Quirks, Repairs, Resumable};
use crate::acp::adapter::VERIFIED;
use crate::acp::with_quirks;
use crate::adapter::Adapter;
use crate::claude;
use crate::launch::{Install, Start};

pub const ADAPTER: Adapter = Adapter {
    install: Install::Npm("@agentclientprotocol/claude-agent-acp"),
    credentials: claude::adapter::CREDENTIALS,
    skills: claude::adapter::SKILLS,
    ..with_quirks!(CLAUDE_ACP)
};

pub const CLAUDE_ACP: Quirks = Quirks {
    name: "claude-acp",
    calls_itself: &["@agentclientprotocol/claude-agent-acp", "@zed-industries/claude-agent-acp"],
    start: Start {
        command: &["claude-agent-acp"],
        env: &[
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
        ],
        sandbox_env: claude::launch::SANDBOX_ENV,
        login: "run `claude /login`, or set ANTHROPIC_API_KEY",
        ..Start::NONE
    },
    // The agent reads, writes and runs by itself, whatever is offered.
    offers: Offers { read_files: false, write_files: false, terminals: false, forms: true },
    permission_modes: &[("default", "default"), ("acceptEdits", "acceptEdits"), ("plan", "plan")],
    resume: Resumable::Anytime,
    capabilities: VERIFIED,
    tools: claude::tool_kinds::TOOLS,
    repairs: Repairs {
        // 0.49 reports it as text, 0.99 as a call.
        compaction_texts: &["Compacting...", "\n\nCompacting "],
        compaction_call: Some("Compact conversation"),
        // The code that 0.49 sends beside it is always 1.
        exit_code_line: Some("Exit code "),
        mcp_names: Some(McpNames::Doubled),
        ..Repairs::NONE
    },
};

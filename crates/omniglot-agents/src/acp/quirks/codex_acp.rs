//! codex-acp: 0.16, which links Codex, and its successor 2.6, which drives `codex app-server`. The agent
//! `codex` is the native one.
//!
//! With 2.6 a failed model call is a state of its thread and a text, and the turn ends without an error:
//! `turn` makes an error of it.

use omniglot_schema::AgentCapabilities;

use super::{Offers, Quirks, Repairs, Resumable};
use crate::acp::adapter::VERIFIED;
use crate::acp::with_quirks;
use crate::adapter::Adapter;
use crate::codex;
use crate::launch::{Install, Start};

pub const ADAPTER: Adapter = Adapter {
    install: Install::Npm("@agentclientprotocol/codex-acp"),
    credentials: codex::adapter::CREDENTIALS,
    skills: codex::adapter::SKILLS,
    ..with_quirks!(CODEX_ACP)
};

pub const CODEX_ACP: Quirks = Quirks {
    name: "codex-acp",
    calls_itself: &["@agentclientprotocol/codex-acp", "codex-acp"],
    start: Start {
        command: &["codex-acp"],
        login: "run `codex login`, or set OPENAI_API_KEY",
        ..Start::NONE
    },
    // The agent reads, writes and runs by itself, whatever is offered.
    offers: Offers { read_files: false, write_files: false, terminals: false, forms: true },
    permission_modes: &[
        ("default", "agent"),
        ("default", "auto"),
        ("acceptEdits", "workspace-write"),
        ("plan", "read-only"),
        ("bypass", "agent-full-access"),
        ("bypass", "full-access"),
    ],
    resume: Resumable::Anytime,
    capabilities: AgentCapabilities { mcp_sse: false, ..VERIFIED },
    tools: &[],
    repairs: Repairs {
        thought_break: Some("\n\n"),
        notices: &["Warning: Model metadata for ", "Heads up: Long threads and multiple compactions "],
        // 0.16 reports it as text, 2.6 as a call.
        compaction_texts: &["Context compacted\n"],
        compaction_call: Some("Compact conversation"),
        mcp_in_arguments: true,
        // Both are written to Codex's own files, for all later sessions.
        too_wide_options: &["approved-always", "approved-execpolicy-amendment"],
        ..Repairs::NONE
    },
};

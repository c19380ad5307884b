//! Qwen Code 0.24 in ACP mode. It counts tokens in the extensions of its chunks, which the adapter reads from
//! any agent, and lists its commands in one line of half a megabyte.
//!
//! The extensions of a call have its `toolName`. Its `provenance` and `serverId` are made of that name, and are
//! missing where a subagent uses the tool of an MCP server, so the name alone is read.

use omniglot_schema::ToolKind;

use super::{McpNames, Offers, Quirks, Repairs, Resumable};
use crate::acp::adapter::VERIFIED;
use crate::acp::with_quirks;
use crate::adapter::{Adapter, Credential, SkillsDir};
use crate::launch::{Install, Start};

pub const ADAPTER: Adapter = Adapter {
    install: Install::Npm("@qwen-code/qwen-code"),
    credentials: &[
        Credential::Env("OPENAI_API_KEY"),
        Credential::Env("ANTHROPIC_API_KEY"),
        Credential::Env("GEMINI_API_KEY"),
        Credential::Env("GOOGLE_API_KEY"),
        Credential::Env("DASHSCOPE_API_KEY"),
        Credential::Env("BAILIAN_CODING_PLAN_API_KEY"),
        Credential::Env("BAILIAN_TOKEN_PLAN_API_KEY"),
        Credential::File("~/.qwen/oauth_creds.json"),
        Credential::File("~/.qwen/.env"),
        Credential::FileBelow { variable: "QWEN_HOME", path: "oauth_creds.json" },
    ],
    skills: SkillsDir::Project(".qwen/skills"),
    ..with_quirks!(QWEN)
};

pub const QWEN: Quirks = Quirks {
    name: "qwen",
    calls_itself: &["qwen-code"],
    start: Start {
        command: &["qwen", "--acp"],
        env: &[("QWEN_TELEMETRY_ENABLED", "false"), ("QWEN_USAGE_STATISTICS_ENABLED", "false")],
        login: "run `qwen` once and log in, or set OPENAI_API_KEY (with OPENAI_BASE_URL and OPENAI_MODEL)",
        ..Start::NONE
    },
    // The agent is a fork of Gemini CLI, which cannot write new files through a client.
    offers: Offers { read_files: false, write_files: false, terminals: false, forms: true },
    permission_modes: &[
        ("default", "default"),
        ("acceptEdits", "auto-edit"),
        ("plan", "plan"),
        ("bypass", "yolo"),
    ],
    resume: Resumable::Anytime,
    capabilities: VERIFIED,
    // To delegate has no word of its own, and neither have plans.
    tools: &[
        (ToolKind::Read, &["read_file"]),
        (ToolKind::Edit, &["write_file", "edit", "notebook_edit"]),
        (ToolKind::Search, &["list_directory", "glob", "grep_search", "web_search"]),
        (ToolKind::Fetch, &["web_fetch"]),
        (ToolKind::Execute, &["run_shell_command"]),
        (ToolKind::Plan, &["todo_write", "task_create", "task_update", "task_list"]),
        (
            ToolKind::Agent,
            &["agent", "send_message", "list_agents", "team_create", "team_delete", "workflow"],
        ),
        (ToolKind::Mode, &["enter_plan_mode", "exit_plan_mode"]),
        (ToolKind::Mcp, &["read_mcp_resource"]),
    ],
    // The agent notifies its own clients of modes, titles and artifacts beside the protocol, and requests
    // messages that arrived while a tool ran; a refusal means that there are none.
    repairs: Repairs {
        own_methods: &["qwen/notify/", "craft/"],
        mcp_names: Some(McpNames::Doubled),
        ..Repairs::NONE
    },
};

//! Gemini CLI 0.61 in ACP mode.
//!
//! Beside the entries below it first names a call in a permission request, sends nothing more about a
//! rejected one, and uses HTTP statuses as JSON-RPC codes: all of that is lawful enough for the adapter to
//! accept it from any agent.

use omniglot_schema::ToolKind;

use super::{McpNames, Offers, Quirks, Repairs, Resumable};
use crate::acp::adapter::VERIFIED;
use crate::acp::with_quirks;
use crate::adapter::{Adapter, Credential, SkillsDir};
use crate::launch::{EmptyTranscripts, Install, SettingsFile, Start};

pub const ADAPTER: Adapter = Adapter {
    install: Install::Npm("@google/gemini-cli"),
    credentials: &[
        Credential::Env("GEMINI_API_KEY"),
        Credential::Env("GOOGLE_API_KEY"),
        Credential::Env("GOOGLE_APPLICATION_CREDENTIALS"),
        Credential::Env("GOOGLE_GENAI_USE_VERTEXAI"),
        Credential::Env("GOOGLE_GENAI_USE_GCA"),
        Credential::File("~/.gemini/oauth_creds.json"),
        Credential::File("~/.gemini/gemini-credentials.json"),
        Credential::File("~/.gemini/.env"),
        Credential::FileBelow { variable: "GEMINI_CLI_HOME", path: ".gemini/oauth_creds.json" },
    ],
    skills: SkillsDir::Project(".gemini/skills"),
    ..with_quirks!(GEMINI)
};

pub const GEMINI: Quirks = Quirks {
    name: "gemini",
    calls_itself: &["gemini-cli"],
    start: Start {
        command: &["gemini", "--acp"],
        // Without the second the agent runs as two processes, the outer of which ignores signals.
        env: &[("GEMINI_TELEMETRY_ENABLED", "false"), ("GEMINI_CLI_NO_RELAUNCH", "true")],
        // Defaults of the lowest rank: settings of the user or the machine take precedence. With the
        // interactive shell the output of a command never reaches the client.
        settings: Some(SettingsFile {
            variable: "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
            name: "settings.json",
            content: r#"{
  "tools": { "shell": { "enableInteractiveShell": false } },
  "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
  "privacy": { "usageStatisticsEnabled": false }
}
"#,
        }),
        login: "run `gemini` once and log in, or set GEMINI_API_KEY",
        // A load begins a transcript before it goes on with that of its session. The next process, of any session of
        // the project, takes the empty one for damaged and deletes all transcripts with its id.
        empty_transcripts: Some(EmptyTranscripts {
            home: "GEMINI_CLI_HOME",
            projects: ".gemini/tmp",
            folder: "chats",
            id_length: 8,
            extension: ".jsonl",
            answer: r#""type":"gemini""#,
        }),
        ..Start::NONE
    },
    // The agent cannot write a new file where the client reads files: it does not recognise the error of a
    // missing one. It never calls a terminal.
    offers: Offers { read_files: false, write_files: false, terminals: false, forms: true },
    permission_modes: &[
        ("default", "default"),
        ("acceptEdits", "autoEdit"),
        ("plan", "plan"),
        ("bypass", "yolo"),
    ],
    // The name of its transcript has the minute of its creation; a load within it overwrites the file.
    resume: Resumable::AfterItsMinute,
    capabilities: VERIFIED,
    tools: &[
        (ToolKind::Read, &["read_file", "read_many_files"]),
        (ToolKind::Edit, &["write_file", "replace"]),
        (ToolKind::Search, &["list_directory", "glob", "grep_search", "google_web_search"]),
        (ToolKind::Fetch, &["web_fetch"]),
        (ToolKind::Execute, &["run_shell_command"]),
        (ToolKind::Plan, &["write_todos"]),
        (ToolKind::Agent, &["invoke_agent"]),
        (ToolKind::Mode, &["enter_plan_mode", "exit_plan_mode"]),
        (ToolKind::Other, &["ask_user", "activate_skill"]),
    ],
    repairs: Repairs {
        tool_name_in_call_id: true,
        silent_rejections: true,
        late_replay: true,
        whole_thoughts: true,
        mode_announcement: Some("[MODE_UPDATE] "),
        arguments_in_request: true,
        // The agent offers the second only where its settings allow that.
        too_wide_options: &["proceed_always_server", "proceed_always_and_save"],
        mcp_names: Some(McpNames::Titled),
        command_in_title: true,
        ..Repairs::NONE
    },
};

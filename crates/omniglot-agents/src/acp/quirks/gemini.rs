//! Gemini CLI 0.61 in ACP mode.
//!
//! Beside what is below it names a call for the first time in a permission request, says nothing more about
//! one that was rejected, and gives HTTP statuses as JSON-RPC codes: all of that is lawful enough for the
//! adapter to take it from any agent.

use super::{Offers, Quirks, Repairs, Resumable};
use crate::acp::with_quirks;
use crate::adapter::Adapter;
use crate::launch::{SettingsFile, Start};

pub const ADAPTER: Adapter = with_quirks!(GEMINI);

pub const GEMINI: Quirks = Quirks {
    name: "gemini",
    calls_itself: &["gemini-cli"],
    start: Start {
        command: &["gemini", "--acp"],
        // Without the second it runs as two processes, the outer of which ignores signals.
        env: &[("GEMINI_TELEMETRY_ENABLED", "false"), ("GEMINI_CLI_NO_RELAUNCH", "true")],
        // Defaults of the lowest rank: what the user or the machine has set counts more. With the
        // interactive shell the output of a command never reaches the client.
        settings: Some(SettingsFile {
            variable: "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
            content: r#"{
  "tools": { "shell": { "enableInteractiveShell": false } },
  "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
  "privacy": { "usageStatisticsEnabled": false }
}
"#,
        }),
        install: "npm install -g @google/gemini-cli",
        login: "run `gemini` once and log in, or set GEMINI_API_KEY",
    },
    // It cannot write a new file where the client reads files: a missing one is an error to it that it does
    // not recognise. It never calls a terminal.
    offers: Offers { read_files: false, write_files: false, terminals: false, forms: true },
    permission_modes: &[
        ("default", "default"),
        ("acceptEdits", "autoEdit"),
        ("plan", "plan"),
        ("bypass", "yolo"),
    ],
    // The name of its transcript holds the minute of its creation; a load within it begins the file anew.
    resume: Resumable::AfterItsMinute,
    repairs: Repairs {
        tool_name_in_call_id: true,
        late_replay: true,
        whole_thoughts: true,
        mode_announcement: Some("[MODE_UPDATE] "),
        arguments_in_request: true,
        // The second it offers only where its settings allow that.
        too_wide_options: &["proceed_always_server", "proceed_always_and_save"],
        mode_tools: &["enter_plan_mode", "exit_plan_mode"],
        ..Repairs::NONE
    },
};

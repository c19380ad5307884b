//! Qwen Code 0.24 in ACP mode. It counts tokens in the extensions of its chunks, which the adapter reads from
//! any agent, and lists its commands in one line of half a megabyte.

use super::{Offers, Quirks, Repairs, Resumable};
use crate::acp::with_quirks;
use crate::adapter::Adapter;
use crate::launch::{Install, Start};

pub const ADAPTER: Adapter = with_quirks!(QWEN);

pub const QWEN: Quirks = Quirks {
    name: "qwen",
    calls_itself: &["qwen-code"],
    start: Start {
        command: &["qwen", "--acp"],
        env: &[("QWEN_TELEMETRY_ENABLED", "false"), ("QWEN_USAGE_STATISTICS_ENABLED", "false")],
        settings: None,
        install: Install::Npm("@qwen-code/qwen-code"),
        login: "run `qwen` once and log in, or set OPENAI_API_KEY (with OPENAI_BASE_URL and OPENAI_MODEL)",
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
    // The agent notifies its own clients of modes, titles and artifacts beside the protocol, and requests
    // messages that arrived while a tool ran; a refusal means that there are none.
    repairs: Repairs { own_methods: &["qwen/notify/", "craft/"], ..Repairs::NONE },
};

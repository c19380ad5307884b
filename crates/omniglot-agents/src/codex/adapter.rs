//! Codex as a value.

use omniglot_schema::{AgentCapabilities, AgentStability};

use super::launch::START;
use super::link::CodexLink;
use super::settings::preview_settings;
use super::{COMPACT, Codex};
use crate::adapter::{Adapter, Compact, EVERYTHING, Lifetime, Program, Shared, Steer, at_once, same_command};

pub const ADAPTER: Adapter = Adapter {
    id: "codex",
    protocol: "codex",
    stability: AgentStability::Verified,
    lifetime: Lifetime::Shared(|| Shared { link: Box::new(CodexLink::default()), serving: None }),
    program: Program::Installed(&START),
    launch: same_command,
    translator: || Box::new(Codex::new()),
    capabilities: AgentCapabilities { shared_process: true, ..EVERYTHING },
    preview_settings,
    steer: Steer::Native,
    compact: Compact::Prompt(COMPACT),
    history: None,
    resumable_from: at_once,
};

//! OpenCode as a value.

use omniglot_schema::{AgentCapabilities, AgentStability};

use super::launch::{SERVING, START, launch};
use super::link::OpenCodeLink;
use super::settings::preview_settings;
use super::{COMPACT, OpenCode};
use crate::adapter::{Adapter, Compact, EVERYTHING, Lifetime, Program, Shared, Steer, at_once};

pub const ADAPTER: Adapter = Adapter {
    id: "opencode",
    protocol: "opencode",
    stability: AgentStability::Verified,
    lifetime: Lifetime::Shared(|| Shared { link: Box::new(OpenCodeLink::default()), serving: Some(SERVING) }),
    program: Program::Installed(&START),
    launch,
    translator: || Box::new(OpenCode::new()),
    capabilities: AgentCapabilities { shared_process: true, ..EVERYTHING },
    preview_settings,
    steer: Steer::Native,
    compact: Compact::Prompt(COMPACT),
    history: None,
    resumable_from: at_once,
};

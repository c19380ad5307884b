//! Claude Code as a value.

use omniglot_schema::AgentStability;

use super::history::HISTORY;
use super::launch::{START, launch};
use super::settings::preview_settings;
use super::{COMPACT, Claude};
use crate::adapter::{Adapter, Compact, EVERYTHING, Lifetime, Program, Steer, at_once};

pub const ADAPTER: Adapter = Adapter {
    id: "claude",
    protocol: "claude",
    stability: AgentStability::Verified,
    lifetime: Lifetime::Session,
    program: Program::Installed(&START),
    launch,
    translator: || Box::new(Claude::new()),
    capabilities: EVERYTHING,
    preview_settings,
    // It answers several prompts with one result, so that a turn of ours would end without its own.
    steer: Steer::Queued,
    compact: Compact::Prompt(COMPACT),
    history: Some(HISTORY),
    resumable_from: at_once,
};

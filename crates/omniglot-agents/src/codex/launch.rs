//! How Codex is started, as data: one server for all sessions, quiet.

use crate::contract::Open;
use crate::launch::{LaunchSpec, Start};

/// The plugin catalogue, updates, analytics and feedback are calls to the vendor that no session needs. A thread
/// that its session has left is unloaded soon, and the MCP servers that it started with it.
pub(crate) const START: Start = Start {
    command: &[
        "codex",
        "app-server",
        "--disable",
        "plugins",
        "-c",
        "check_for_update_on_startup=false",
        "-c",
        "analytics.enabled=false",
        "-c",
        "feedback.enabled=false",
        "-c",
        "thread_unload_delay_secs=10",
    ],
    env: &[("NO_COLOR", "1")],
    login: "codex login",
    ..Start::NONE
};

/// Makes the server of a session with skills differ from all others: a server has one list of folders with skills for
/// all its threads.
const SKILLS: &str = "CODEX_OMNIGLOT_SKILLS";

pub(crate) fn launch(base: &LaunchSpec, open: &Open) -> LaunchSpec {
    let mut spec = base.clone();
    if let Some(skills) = &open.skills {
        spec.env.insert(SKILLS.to_owned(), skills.dir.to_string_lossy().into_owned());
    }
    spec
}

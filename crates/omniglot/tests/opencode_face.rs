//! Unmodified clients of OpenCode drive any agent: its terminal interface, `opencode run --attach`, both
//! clients of its SDK, and its web page in a browser.
//!
//! The tests of each client are in the file of its name; the daemons are here.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

#[path = "opencode_face/command.rs"]
mod command;
#[path = "opencode_face/modes.rs"]
mod modes;
#[path = "opencode_face/run.rs"]
mod run;
#[path = "opencode_face/sdk.rs"]
mod sdk;
#[path = "opencode_face/tui.rs"]
mod tui;
#[path = "opencode_face/tui_agents.rs"]
mod tui_agents;
#[path = "opencode_face/tui_refusals.rs"]
mod tui_refusals;
#[path = "opencode_face/tui_undo.rs"]
mod tui_undo;
#[path = "opencode_face/web.rs"]
mod web;

use std::path::PathBuf;

use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::models::{Model, Reply, Script};
use serde_json::json;

const OMNIGLOT: &str = env!("CARGO_BIN_EXE_omniglot");

fn mock() -> Daemon {
    Setup::new(OMNIGLOT).start()
}

/// A daemon with one real agent behind a scripted model, and no session yet.
struct Real {
    // In drop order: the daemon stops its agent before the model ends.
    daemon: Daemon,
    model: Model,
    _agent: RealAgent,
}

impl Real {
    fn claude() -> Self {
        Self::claude_in(Setup::new(OMNIGLOT))
    }

    fn claude_in(setup: Setup) -> Self {
        Self::new(setup, Model::anthropic(), RealAgent::claude)
    }

    fn codex() -> Self {
        Self::new(Setup::new(OMNIGLOT), Model::responses(), RealAgent::codex)
    }

    fn new(setup: Setup, script: Script, agent: impl FnOnce(&Model) -> RealAgent) -> Self {
        let model = script.start();
        let agent = agent(&model);
        let config = format!("default_agent = \"{}\"\n{}", agent.name(), agent.toml());
        Self { daemon: setup.config(config).start(), model, _agent: agent }
    }

    /// Adds these replies to the model's script.
    fn says(&self, replies: impl IntoIterator<Item = Reply>) {
        replies.into_iter().for_each(|reply| self.model.push(reply));
    }

    fn file(&self, name: &str) -> PathBuf {
        self.daemon.work().join(name)
    }
}

/// The reply in which Claude creates a file, which needs a permission.
fn claude_makes(path: &std::path::Path) -> Reply {
    let command = format!("touch {}", path.display());
    Reply::tool("Bash", json!({"command": command, "description": "Make it."}))
}

fn claude_asks() -> Reply {
    let option = |label: &str| json!({"label": label, "description": format!("{label} it is.")});
    Reply::tool(
        "AskUserQuestion",
        json!({"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false,
            "options": [option("Red"), option("Blue")]}]}),
    )
}

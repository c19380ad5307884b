//! The same steps for every agent: words control the built-in one, a scripted model the real ones.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use omniglot_schema::{UniversalEvent, UniversalEventType};
use omniglot_testkit::agents::RealAgent;
use omniglot_testkit::daemon::{Daemon, Setup, descendants};
use omniglot_testkit::models::{Gate, Model, Reply, Script};
use omniglot_testkit::sandbox_sdk::SandboxSdk;
use omniglot_testkit::session_driver::SessionDriver;
use serde_json::json;

pub(crate) struct Play {
    // In drop order: the daemon stops its agent before the model ends.
    pub(crate) daemon: Daemon,
    pub(crate) name: &'static str,
    real: Option<Real>,
    /// Our ids of the SDK's sessions.
    sessions: Mutex<HashMap<String, String>>,
}

struct Real {
    model: Model,
    /// Creates a file, and asks before.
    make: fn(&Path) -> Reply,
    gates: Mutex<Vec<Gate>>,
    _agent: RealAgent,
}

impl Play {
    pub(crate) fn mock() -> Self {
        let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).start();
        Self { daemon, name: "mock", real: None, sessions: Mutex::default() }
    }

    pub(crate) fn claude() -> Self {
        Self::real(Model::anthropic(), RealAgent::claude, |path| {
            let command = format!("touch {}", path.display());
            Reply::tool("Bash", json!({"command": command, "description": "Make it."}))
        })
    }

    pub(crate) fn codex() -> Self {
        Self::real(Model::responses(), RealAgent::codex, |path| {
            let command = format!("touch {}", path.display());
            let leave = json!({"cmd": command, "sandbox_permissions": "require_escalated", "justification": "May I?"});
            Reply::tool("exec_command", leave)
        })
    }

    fn real(script: Script, agent: fn(&Model) -> RealAgent, make: fn(&Path) -> Reply) -> Self {
        let model = script.start();
        let agent = agent(&model);
        let daemon = Setup::new(env!("CARGO_BIN_EXE_omniglot")).config(agent.toml()).start();
        let name = agent.name();
        let real = Real { model, make, gates: Mutex::default(), _agent: agent };
        Self { daemon, name, real: Some(real), sessions: Mutex::default() }
    }

    pub(crate) async fn session(&self, sdk: &mut SandboxSdk) -> String {
        let made = sdk.session(self.name, &self.daemon.work()).await;
        self.sessions.lock().unwrap().insert(made.id.clone(), made.ours);
        made.id
    }

    /// Returns the session through our own face.
    pub(crate) fn watched(&self, session: &str) -> SessionDriver {
        SessionDriver::of(&self.daemon.client, &self.sessions.lock().unwrap()[session])
    }

    /// Returns the prompt that leads to a text.
    pub(crate) fn says(&self, text: &str) -> String {
        let Some(real) = &self.real else { return "[[text]]".into() };
        real.model.push(Reply::text(text));
        "Say something.".into()
    }

    /// Returns the prompt that leads to a tool that asks; the tool writes a file of that name.
    pub(crate) fn asks(&self, name: &str) -> String {
        let Some(real) = &self.real else { return "[[edit]]".into() };
        real.model.push((real.make)(&self.file(name)));
        real.model.push(Reply::text("Done."));
        format!("Make {name}.")
    }

    /// Whether the tool that asked has run; the built-in agent's is always the same one.
    pub(crate) fn has_done(&self, name: &str) -> bool {
        match &self.real {
            Some(_) => self.file(name).exists(),
            None => std::fs::read_to_string(self.file("notes.txt"))
                .is_ok_and(|text| text.lines().count() > usize::from(name == "second")),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.daemon.work().join(name)
    }

    /// Returns the prompt that leads to a turn that does not end by itself.
    pub(crate) fn hangs(&self) -> String {
        let Some(real) = &self.real else { return "[[silence]]".into() };
        let (reply, gate) = Reply::text("It takes").hold();
        real.model.push(reply);
        real.gates.lock().unwrap().push(gate);
        "Talk long.".into()
    }

    /// Waits until such a turn runs.
    pub(crate) async fn turn_runs(&self, session: &str) {
        let begun = |event: &UniversalEvent| event.kind() == UniversalEventType::TurnStarted;
        self.watched(session).wait_for(0, begun).await;
        let gate = self.real.as_ref().and_then(|real| real.gates.lock().unwrap().last().cloned());
        if let Some(gate) = gate {
            gate.reached().await;
        }
    }

    /// Lets the model continue where it was held.
    pub(crate) fn release(&self) {
        for gate in self.real.iter().flat_map(|real| std::mem::take(&mut *real.gates.lock().unwrap())) {
            gate.open();
        }
    }

    /// Kills the agent, which is the process without children: above it are only its guards.
    pub(crate) fn kill_agent(&self) {
        for pid in self.daemon.descendants().into_iter().filter(|pid| descendants(*pid).is_empty()) {
            assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
        }
    }
}

impl Drop for Play {
    fn drop(&mut self) {
        self.release();
    }
}

//! Codex: its own app-server, which all sessions share, and the ACP wrapper, which has its own Codex.

use super::{RealAgent, program, script, text};
use crate::models::Model;

const PROGRAM: &str = "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex";
const WRAPPER: &str = "node_modules/@agentclientprotocol/codex-acp/dist/index.js";

/// The daemon's default arguments, with a shorter unload delay.
const SERVER: &[&str] = &["app-server", "--disable", "plugins", "-c", "thread_unload_delay_secs=1"];

impl RealAgent {
    /// The server, which the daemon drives in its own protocol. Tools may write in the session's directory,
    /// and the model may keep a list of tasks.
    pub fn codex(model: &Model) -> Self {
        let more = "sandbox_mode = \"workspace-write\"\napproval_policy = \"on-request\"\n";
        let agent = Self::new("codex", "codex", program("codex", PROGRAM));
        SERVER.iter().fold(agent, |agent, word| agent.arg(word)).with_config(model, more)
    }

    pub fn codex_acp(model: &Model) -> Self {
        Self::new("codex-acp", "acp", script("codex-acp", WRAPPER)).with_config(model, "")
    }

    fn with_config(self, model: &Model, more: &str) -> Self {
        let url = model.url();
        self.file(
            ".codex/config.toml",
            &format!(
                "model = \"gpt-5.5\"\n\
                 model_provider = \"scripted\"\n\
                 check_for_update_on_startup = false\n\
                 {more}\
                 [analytics]\nenabled = false\n\
                 [feedback]\nenabled = false\n\
                 [features]\nplugins = false\n\
                 [tools.update_plan]\nenabled = true\n\
                 [model_providers.scripted]\n\
                 name = \"Scripted\"\n\
                 base_url = \"{url}/v1\"\n\
                 wire_api = \"responses\"\n\
                 env_key = \"OPENAI_API_KEY\"\n\
                 request_max_retries = 1\n\
                 stream_max_retries = 1\n"
            ),
        );
        let home = text(&self.home().join(".codex"));
        self.env("CODEX_HOME", &home).env("OPENAI_API_KEY", "dummy")
    }
}

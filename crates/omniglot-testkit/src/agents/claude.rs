//! Claude Code: the command line itself, and the ACP wrapper around it.

use super::{RealAgent, program, script};
use crate::models::Model;

const PROGRAM: &str = "node_modules/@anthropic-ai/claude-code-linux-x64/claude";
const WRAPPER: &str = "node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js";

impl RealAgent {
    /// The command line, which the daemon drives in its own protocol.
    pub fn claude(model: &Model) -> Self {
        Self::new("claude", "claude", program("claude", PROGRAM)).isolated(model)
    }

    /// The wrapper, which contains a Claude Code of its own.
    pub fn claude_acp(model: &Model) -> Self {
        Self::new("claude-acp", "acp", script("claude-acp", WRAPPER)).isolated(model)
    }

    fn isolated(self, model: &Model) -> Self {
        self.env("ANTHROPIC_BASE_URL", &model.url())
            .env("ANTHROPIC_API_KEY", "dummy")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .env("DISABLE_TELEMETRY", "1")
            .env("DISABLE_ERROR_REPORTING", "1")
            .env("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION", "false")
            // One retry: a failure is reported at once instead of after minutes.
            .env("CLAUDE_CODE_MAX_RETRIES", "1")
    }
}

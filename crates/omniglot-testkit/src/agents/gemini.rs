//! Gemini CLI in its ACP mode.

use serde_json::json;

use super::{RealAgent, script};
use crate::models::Model;

impl RealAgent {
    pub fn gemini(model: &Model) -> Self {
        let command = script("gemini", "node_modules/@google/gemini-cli/bundle/gemini.js");
        let agent = Self::new("gemini", "acp", command).arg("--acp");
        agent.settings(
            ".gemini/settings.json",
            &json!({
                "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
                "privacy": {"usageStatisticsEnabled": false},
                "telemetry": {"enabled": false},
                // Two attempts: a failure is reported at once instead of after minutes.
                "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 2},
                // The result of its interactive shell never reaches an ACP client.
                "tools": {"shell": {"enableInteractiveShell": false}},
                "model": {"name": "gemini-2.5-flash"},
            }),
        );
        agent
            .env("GEMINI_API_KEY", "dummy")
            .env("GOOGLE_GEMINI_BASE_URL", &model.url())
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .env("GEMINI_TELEMETRY_ENABLED", "false")
            .env("GEMINI_CLI_NO_RELAUNCH", "true")
            .env("NO_BROWSER", "true")
    }
}

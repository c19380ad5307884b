//! Pi, with a model behind Anthropic's API.

use serde_json::json;

use super::{RealAgent, script};
use crate::models::Model;

const PROGRAM: &str = "node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js";

/// A version that does not say when a turn is over.
const OLDER_PROGRAM: &str = "node_modules/@mariozechner/pi-coding-agent/dist/cli.js";

impl RealAgent {
    pub fn pi(model: &Model) -> Self {
        Self::pi_with(model, script("pi", PROGRAM))
    }

    pub fn older_pi(model: &Model) -> Self {
        Self::pi_with(model, script("pi-0.73", OLDER_PROGRAM))
    }

    fn pi_with(model: &Model, command: Vec<String>) -> Self {
        let agent = Self::new("pi", "pi", command);
        let known = |id: &str| {
            json!({
                "id": id, "name": id, "reasoning": true, "input": ["text", "image"],
                "contextWindow": 200_000, "maxTokens": 8_000,
                "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
            })
        };
        let models = json!({"providers": {"scripted": {
            "baseUrl": model.url(), "api": "anthropic-messages", "apiKey": "dummy",
            "models": [known("scripted-model"), known("other-model")],
        }}});
        let settings = json!({
            "defaultProvider": "scripted",
            "defaultModel": "scripted-model",
            "enableInstallTelemetry": false,
            // A short conversation can be compacted, too.
            "compaction": {"keepRecentTokens": 1},
            // A failure is told at once instead of after three tries.
            "retry": {"enabled": false, "provider": {"maxRetries": 0}},
        });
        agent.file(".pi/agent/models.json", &models.to_string());
        agent.file(".pi/agent/settings.json", &settings.to_string());
        agent.env("PI_OFFLINE", "1").env("PI_TELEMETRY", "0").env("PI_SKIP_VERSION_CHECK", "1")
    }
}

//! Qwen Code in its ACP mode, with a model behind OpenAI's chat completions.

use serde_json::json;

use super::{RealAgent, script};
use crate::models::Model;

impl RealAgent {
    pub fn qwen(model: &Model) -> Self {
        let command = script("qwen", "node_modules/@qwen-code/qwen-code/cli-entry.js");
        let agent = Self::new("qwen", "acp", command).arg("--acp");
        let url = format!("{}/v1", model.url());
        let known = |name: &str| {
            let generation = json!({"modalities": {"image": true}, "maxRetries": 0});
            json!({"id": name, "name": name, "envKey": "OPENAI_API_KEY", "baseUrl": url, "generationConfig": generation})
        };
        agent.settings(
            ".qwen/settings.json",
            &json!({
                "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": false}},
                "privacy": {"usageStatisticsEnabled": false},
                "telemetry": {"enabled": false},
                "general": {"enableAutoUpdate": false},
                "ui": {"enableFollowupSuggestions": false},
                "memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false, "enableAutoSkill": false},
                // Its own default asks a model whether a tool may run.
                "tools": {"approvalMode": "default", "shell": {"enableInteractiveShell": false}},
                "modelProviders": {"openai": [known("scripted-model"), known("other-model")]},
                "model": {"name": "scripted-model"},
            }),
        );
        agent
            .env("OPENAI_API_KEY", "dummy")
            .env("OPENAI_BASE_URL", &url)
            .env("OPENAI_MODEL", "scripted-model")
            .env("QWEN_TELEMETRY_ENABLED", "false")
            .env("QWEN_CODE_SKIP_UPDATE_CHECK_ONCE", "1")
            .env("NO_BROWSER", "true")
    }
}

//! OpenCode's own server, with a model behind OpenAI's chat completions.

use serde_json::json;

use super::{RealAgent, program, script_beside};
use crate::models::Model;

impl RealAgent {
    pub fn opencode(model: &Model) -> Self {
        Self::opencode_through(model, "@ai-sdk/openai-compatible")
    }

    /// With a model behind Anthropic's API.
    pub fn opencode_with_anthropic(model: &Model) -> Self {
        Self::opencode_through(model, "@ai-sdk/anthropic")
    }

    fn opencode_through(model: &Model, package: &str) -> Self {
        let agent = Self::new(
            "opencode",
            "opencode",
            program("opencode", "node_modules/opencode-linux-x64/bin/opencode"),
        );
        let known = |name: &str| {
            json!({
                "name": name, "reasoning": true, "attachment": true, "tool_call": true,
                "modalities": {"input": ["text", "image"], "output": ["text"]},
                "limit": {"context": 100_000, "output": 8_000},
            })
        };
        let config = json!({
            "autoupdate": false,
            "share": "disabled",
            "lsp": false,
            "formatter": false,
            "enabled_providers": ["scripted"],
            "model": "scripted/scripted-model",
            "small_model": "scripted/scripted-model",
            "permission": {"bash": "ask", "edit": "ask"},
            // The rule above would apply to the agent that plans, too.
            "agent": {"plan": {"permission": {"edit": {"*": "deny", "*opencode/plans/*.md": "allow"}}}},
            "provider": {"scripted": {
                "npm": package,
                "name": "Scripted",
                "options": {"baseURL": format!("{}/v1", model.url()), "apiKey": "dummy"},
                "models": {
                    "scripted-model": known("Scripted"),
                    "other-model": known("Other"),
                    // The name decides which tools the model receives.
                    "gpt-5-scripted": known("Patching"),
                },
            }},
        });
        let home = agent.home().display().to_string();
        agent
            .env("OPENCODE_CONFIG_CONTENT", &config.to_string())
            .env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1")
            .env("OPENCODE_DISABLE_CLAUDE_CODE", "1")
            .env("OPENCODE_DISABLE_EXTERNAL_SKILLS", "1")
            .env("XDG_CONFIG_HOME", &format!("{home}/.config"))
            .env("XDG_DATA_HOME", &format!("{home}/.local/share"))
            .env("XDG_STATE_HOME", &format!("{home}/.local/state"))
            .env("XDG_CACHE_HOME", &format!("{home}/.cache"))
    }

    /// OpenCode with plan mode: its agent `plan` submits its plan.
    pub fn opencode_that_plans(model: &Model) -> Self {
        Self::opencode(model).env("OPENCODE_EXPERIMENTAL_PLAN_MODE", "1")
    }

    /// OpenCode whose subagents may work in the background.
    pub fn opencode_with_background(model: &Model) -> Self {
        Self::opencode(model).env("OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS", "1")
    }

    /// OpenCode behind a proxy that cuts its event streams as long as a file `cut` exists in its HOME.
    pub fn opencode_behind_a_proxy(model: &Model) -> Self {
        let mut agent = Self::opencode(model);
        let proxy = script_beside("cutting_proxy.mjs");
        agent.command.splice(0..0, proxy);
        agent
    }
}

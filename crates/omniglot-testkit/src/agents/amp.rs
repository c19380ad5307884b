//! Amp's CLI, with a stand-in for Amp's server.

use serde_json::json;

use super::{RealAgent, program};
use crate::models::Model;

impl RealAgent {
    pub fn amp(model: &Model) -> Self {
        let agent = Self::new("amp", "amp", program("amp", "node_modules/@ampcode/cli-linux-x64/amp"));
        agent.settings(".config/amp/settings.json", &json!({"amp.updates.mode": "disabled"}));
        agent
            .env("AMP_URL", &model.url())
            .env("AMP_API_KEY", "sgamp_dummy")
            .env("AMP_SKIP_UPDATE_CHECK", "1")
            // Its searches would download ripgrep, and a program that does not exist would crash them.
            .env("AMP_RIPGREP_PATH", "/bin/false")
    }
}

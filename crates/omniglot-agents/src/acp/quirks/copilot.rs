//! GitHub Copilot CLI 1.0 in ACP mode. Its modes have URLs as names.

use super::{Offers, Quirks, Repairs, Resumable};
use crate::acp::adapter::VERIFIED;
use crate::acp::with_quirks;
use crate::adapter::{Adapter, Credential, SkillsDir};
use crate::launch::{Install, Start};

pub const ADAPTER: Adapter = Adapter {
    install: Install::Npm("@github/copilot"),
    credentials: &[
        Credential::Env("COPILOT_GITHUB_TOKEN"),
        Credential::Env("GH_TOKEN"),
        Credential::Env("GITHUB_TOKEN"),
        Credential::File("~/.copilot/config.json"),
        Credential::File("~/.config/gh/hosts.yml"),
    ],
    skills: SkillsDir::Project(".github/skills"),
    ..with_quirks!(COPILOT)
};

pub const COPILOT: Quirks = Quirks {
    name: "copilot",
    calls_itself: &["Copilot"],
    start: Start {
        command: &["copilot", "--acp", "--no-auto-update"],
        env: &[("COPILOT_AUTO_UPDATE", "false")],
        login: "run `copilot login`",
        ..Start::NONE
    },
    offers: Offers { read_files: true, write_files: true, terminals: true, forms: true },
    permission_modes: &[
        ("default", "https://agentclientprotocol.com/protocol/session-modes#agent"),
        ("plan", "https://agentclientprotocol.com/protocol/session-modes#plan"),
    ],
    resume: Resumable::Anytime,
    capabilities: VERIFIED,
    tools: &[],
    repairs: Repairs::NONE,
};

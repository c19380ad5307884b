//! ACP agents that were read about and never recorded: they are taken at their word.
//!
//! Where most of them keep a login is not known, so they are believed to have one.

use super::{PLAIN, launch};
use crate::adapter::{Adapter, Credential, Program, SkillsDir};
use crate::launch::{Install, Start};

pub const GOOSE: Adapter = Adapter {
    install: Install::Page("https://block.github.io/goose/docs/getting-started/installation"),
    ..installed("goose", &launch::GOOSE)
};

pub const CURSOR: Adapter = Adapter {
    install: Install::Page("https://cursor.com/docs/cli/installation"),
    credentials: &[
        Credential::Env("CURSOR_API_KEY"),
        Credential::File("~/.config/cursor/auth.json"),
        Credential::File("~/.cursor/cli-config.json"),
    ],
    skills: SkillsDir::Project(".cursor/skills"),
    ..installed("cursor", &launch::CURSOR)
};

pub const CLINE: Adapter = Adapter { install: Install::Npm("cline"), ..installed("cline", &launch::CLINE) };

pub const KIMI: Adapter = Adapter {
    install: Install::Page("https://moonshotai.github.io/kimi-cli/en/guides/getting-started.html"),
    ..installed("kimi", &launch::KIMI)
};

const fn installed(id: &'static str, start: &'static Start) -> Adapter {
    Adapter { id, program: Program::Installed(start), ..PLAIN }
}

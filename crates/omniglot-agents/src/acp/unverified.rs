//! ACP agents that were read about and never recorded: they are taken at their word.

use super::{PLAIN, launch};
use crate::adapter::{Adapter, Program};
use crate::launch::Start;

pub const GOOSE: Adapter = installed("goose", &launch::GOOSE);
pub const CURSOR: Adapter = installed("cursor", &launch::CURSOR);
pub const CLINE: Adapter = installed("cline", &launch::CLINE);
pub const KIMI: Adapter = installed("kimi", &launch::KIMI);

const fn installed(id: &'static str, start: &'static Start) -> Adapter {
    Adapter { id, program: Program::Installed(start), ..PLAIN }
}

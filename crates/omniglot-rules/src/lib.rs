//! Rules about the calls of agents: which are denied, asked about or allowed, and why.
//!
//! Pure: the one thing asked of the machine, the target of a path with all its links, is a function that the caller
//! passes in. A rule that denies or asks fits generously: within wrappers, behind options, by the text alone where a
//! command cannot be read. A rule that allows fits strictly: whatever is not understood to the last word is asked
//! about. `docs/RULES.md` tells users the same.

mod argv;
mod evaluate;
mod host;
mod path;
mod policy;
mod programs;
mod rule;
mod shell;
mod tool_call;

pub use evaluate::{Decision, Ruling};
pub use policy::{Floor, Layer, Policy};
pub use rule::{RuleError, check};
pub use tool_call::{Call, Machine, Resolve};

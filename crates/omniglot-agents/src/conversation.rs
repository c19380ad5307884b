//! The parts that adapters share, whatever protocol their agent speaks.
//!
//! Knows drafts and commands, and no wire type of any agent.
//!
//! The models of text are not here, because what makes an item of a text differs with each protocol: Claude streams
//! numbered blocks and tells each once more as a whole line, which alone counts; Pi streams numbered blocks that end
//! with their message; Codex names every item; OpenCode tells parts whole and by deltas, in any order; ACP has chunks
//! without a name, and an item ends when something else begins. They share the drafts that they make.

pub(crate) mod attached;
pub(crate) mod configuring;
pub(crate) mod cost;
pub(crate) mod items;
pub(crate) mod requests;

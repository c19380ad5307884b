//! The parts that adapters share, whatever protocol their agent speaks.
//!
//! Knows drafts and commands, and no wire type of any agent.

pub(crate) mod attached;
pub(crate) mod cost;
pub(crate) mod items;
pub(crate) mod requests;

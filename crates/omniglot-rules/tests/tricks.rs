//! Commands and paths that try to pass for something else: none of them is allowed, and those that a rule denies are
//! denied however they are written.

#[path = "tricks/commands.rs"]
mod commands;
#[path = "tricks/fixture.rs"]
mod fixture;
#[path = "tricks/paths.rs"]
mod paths;
#[path = "tricks/wrappers.rs"]
mod wrappers;

//! One file per resource, one function per route. A handler reads, calls the hub, converts, answers.

pub(crate) mod agents;
pub(crate) mod all_events;
pub(crate) mod blobs;
pub(crate) mod desktop;
pub(crate) mod directory_config;
pub(crate) mod events;
pub(crate) mod files;
pub(crate) mod health;
pub(crate) mod hooks;
pub(crate) mod import;
pub(crate) mod install;
pub(crate) mod messages;
pub(crate) mod metrics;
pub(crate) mod process_io;
pub(crate) mod process_terminal;
pub(crate) mod processes;
pub(crate) mod requests;
pub(crate) mod revert;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod tokens;
pub(crate) mod uploads;

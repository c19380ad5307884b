//! The daemon's own log, on stderr, so that stdout carries answers only.
//!
//! Tokens and environment values never reach it: their types do not print them.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// The default level when `OMNIGLOT_LOG` is not set.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Verbosity {
    /// For a person who watches an agent: only errors.
    Quiet,
    /// For a daemon: its activity.
    Normal,
}

/// Selects the logged events by level and module, in the form of `EnvFilter`.
const VARIABLE: &str = "OMNIGLOT_LOG";

pub(crate) fn init(verbosity: Verbosity) {
    let default = match verbosity {
        Verbosity::Quiet => "error",
        Verbosity::Normal => "info",
    };
    let request = std::env::var(VARIABLE).ok().filter(|request| !request.is_empty());
    let filter = EnvFilter::try_new(request.as_deref().unwrap_or(default));
    let refused = filter.as_ref().err().map(ToString::to_string);
    tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(|_| EnvFilter::new(default)))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .init();
    if let Some(error) = refused {
        tracing::error!("{VARIABLE} is not understood and ignored: {error}");
    }
}

//! The daemon's own log, on stderr, so that stdout carries answers only.
//!
//! Tokens and environment values never reach it: their types do not print them.

mod json;

use std::io::IsTerminal as _;

use omniglot_runtime::LOG_CONTEXT;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use json::Json;

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

/// Selects the form of the log: `json`, or `text`, which is the default.
const FORMAT: &str = "OMNIGLOT_LOG_FORMAT";

pub(crate) fn init(verbosity: Verbosity) {
    let default = match verbosity {
        Verbosity::Quiet => "error",
        Verbosity::Normal => "info",
    };
    let request = std::env::var(VARIABLE).ok().filter(|request| !request.is_empty());
    let filter = EnvFilter::try_new(request.as_deref().unwrap_or(default));
    let refused = filter.as_ref().err().map(ToString::to_string);
    let filter = filter.unwrap_or_else(|_| EnvFilter::new(default));
    let format = std::env::var(FORMAT).ok().filter(|format| !format.is_empty());
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr);
    if format.as_deref() == Some("json") {
        let log = log.with_env_filter(with_context(filter, LevelFilter::INFO));
        log.with_ansi(false).fmt_fields(Json).event_format(Json).init();
    } else {
        // Lines of text name the session themselves where it matters.
        let log = log.with_env_filter(with_context(filter, LevelFilter::OFF));
        log.with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()).init();
    }
    if let Some(format) = format.filter(|format| !["json", "text"].contains(&format.as_str())) {
        tracing::error!("{FORMAT} is `{format}`, which is neither `json` nor `text`, and ignored");
    }
    if let Some(error) = refused {
        tracing::error!("{VARIABLE} is not understood and ignored: {error}");
    }
}

/// Chooses whether lines carry the session and turn that they happened in.
fn with_context(filter: EnvFilter, level: LevelFilter) -> EnvFilter {
    match format!("{LOG_CONTEXT}={level}").parse() {
        Ok(directive) => filter.add_directive(directive),
        // A name and a level are always one.
        Err(_) => filter,
    }
}

//! How many files may be open: the daemon takes as many as it may, its agents get what it was given.
//!
//! Programs that use `select` break with numbers over 1,024, so what a daemon needs is not passed on.

use std::ffi::OsStr;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit that this process was started with, once it has another.
static GIVEN: OnceLock<u64> = OnceLock::new();

const OPTION: &str = "--files=";

/// Takes as many as this process may have.
pub fn take_all() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => {
            current.map(|given| GIVEN.get_or_init(|| given));
        }
        Err(error) => tracing::warn!(%error, "the limit of open files stays as it is"),
    }
}

/// Returns how many files this process may have open.
pub fn limit() -> usize {
    getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX)
}

/// The argument that tells a guard what its agent gets.
pub(crate) fn argument() -> Option<String> {
    GIVEN.get().map(|given| format!("{OPTION}{given}"))
}

/// Takes the limit that such an argument names; whether it is one.
pub(crate) fn obeyed(argument: &OsStr) -> bool {
    let given = argument.to_str().and_then(|text| text.strip_prefix(OPTION));
    if let Some(given) = given.and_then(|text| text.parse().ok()) {
        let maximum = getrlimit(Resource::Nofile).maximum;
        if setrlimit(Resource::Nofile, Rlimit { current: Some(given), maximum }).is_err() {
            // An agent with more than it expects is better than none, and a guard has nobody to tell.
            return true;
        }
    }
    given.is_some()
}

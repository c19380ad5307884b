//! Whether an agent can work as it is, or somebody has to log in first.

use omniglot_schema::{AuthState, AuthStatus, Listed, SessionState, StatePatch};
use omniglot_timeline::{Draft, Timeline};

use super::Hub;
use crate::agent::catalog::Entry;
use crate::session::Step;

impl Hub {
    /// Returns what the agent's sessions have shown, which counts more than what can be found.
    pub(super) fn login_status(&self, entry: &Entry) -> AuthStatus {
        match self.inner.credentials.shown(&entry.name).or_else(|| entry.finds_credentials()) {
            Some(true) => AuthStatus::Ready,
            Some(false) => AuthStatus::Required,
            None => AuthStatus::Unknown,
        }
    }

    /// Whether a session that is opened now would surely have no credentials. A login that was refused may have been
    /// done meanwhile.
    pub(super) fn lacks_credentials(&self, entry: &Entry) -> bool {
        self.inner.credentials.shown(&entry.name) != Some(true) && entry.finds_credentials() == Some(false)
    }
}

/// Notes in the state that a login is required, for an agent that does not tell: it has no model to offer, and no
/// credentials are found.
pub(super) fn note_missing(timeline: &mut Timeline, step: &mut Step, lacks_credentials: bool) {
    let state = &timeline.fold().state;
    if lacks_credentials && state.auth.is_none() && offers_no_model(state) {
        let auth = Some(Some(AuthState { state: AuthStatus::Required, methods: vec![] }));
        step.draft(timeline, Draft::State(Box::new(StatePatch { auth, ..StatePatch::default() })));
    }
}

fn offers_no_model(state: &SessionState) -> bool {
    state.models.as_ref().and_then(Listed::inline).is_some_and(<[_]>::is_empty)
}

pub(super) fn is_required(state: &SessionState) -> bool {
    state.auth.as_ref().is_some_and(|auth| auth.state == AuthStatus::Required)
}

/// Says that nobody is logged in, with the ways to do it and the places where credentials were looked for.
pub(super) fn logged_out(state: &SessionState, entry: &Entry) -> String {
    let methods = state.auth.iter().flat_map(|auth| &auth.methods);
    let ways: Vec<&str> = methods.map(|method| method.name.as_str()).collect();
    let mut message = "nobody is logged in".to_owned();
    if !ways.is_empty() {
        message += &format!("; the ways to do it: {}", ways.join(", "));
    }
    message + &looked_for(entry)
}

/// Continues a message with the places in which credentials were looked for, if none were found.
pub(super) fn looked_for(entry: &Entry) -> String {
    match entry.finds_credentials() {
        Some(false) => format!("; nothing was found in {}", entry.credential_places().join(", ")),
        Some(true) | None => String::new(),
    }
}

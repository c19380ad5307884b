//! Whether each agent has credentials that its provider takes, as its sessions have last found out.
//!
//! Shared by the hub, which opens agents, and the sessions, whose turns fail or succeed. Nothing of it is
//! kept over a restart: until it was tried, an agent is believed to have them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Clone, Default)]
pub(crate) struct Credentials {
    refused: Arc<Mutex<HashMap<String, Trial>>>,
}

/// Where they are put to the test. Most agents open a session without a look at their key, so that an
/// opening takes nothing back of what a turn has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trial {
    Opening,
    Turn,
}

impl Credentials {
    pub(crate) fn available(&self, agent: &str) -> bool {
        !self.lock().contains_key(agent)
    }

    pub(crate) fn refused(&self, agent: &str, trial: Trial) {
        self.lock().insert(agent.to_owned(), trial);
    }

    pub(crate) fn accepted(&self, agent: &str, trial: Trial) {
        let mut refused = self.lock();
        if refused.get(agent).is_some_and(|before| *before <= trial) {
            refused.remove(agent);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Trial>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_turn_has_shown_only_a_turn_takes_back() {
        let credentials = Credentials::default();
        assert!(credentials.available("a"));
        credentials.refused("a", Trial::Opening);
        assert!(!credentials.available("a") && credentials.available("b"));
        credentials.accepted("a", Trial::Opening);
        assert!(credentials.available("a"));
        credentials.refused("a", Trial::Turn);
        credentials.accepted("a", Trial::Opening);
        assert!(!credentials.available("a"));
        credentials.accepted("a", Trial::Turn);
        assert!(credentials.available("a"));
    }
}

//! The sizes of models' contexts, which agents tell only in their sessions.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use omniglot_schema::SessionInfo;

/// By agent and model.
#[derive(Debug, Default)]
pub(crate) struct Windows(Mutex<BTreeMap<(String, String), u64>>);

impl Windows {
    /// Returns whether the model was unknown: sessions that contradict each other are no news.
    pub(super) fn learn(&self, agent: &str, model: &str, window: u64) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert((agent.to_owned(), model.to_owned()), window).is_none()
    }

    /// Learns what a session has told, unless a newer one has told something.
    pub(super) fn learn_from(&self, session: &SessionInfo) {
        let Some(state) = &session.state else { return };
        if let (Some(model), Some(context)) = (&state.model, state.context) {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.entry((session.agent.clone(), model.clone())).or_insert(context.window);
        }
    }

    pub(super) fn of(&self, agent: &str) -> BTreeMap<String, u64> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_agent = known.iter().filter(|((of, _), _)| of == agent);
        of_agent.map(|((_, model), window)| (model.clone(), *window)).collect()
    }
}

//! The settings as they were before a settings request was shown, for when the agent refuses it.

use omniglot_schema::{SessionState, StatePatch};

type Setting = Option<Option<String>>;

#[derive(Debug, Default)]
pub(super) struct Undo(StatePatch);

impl Undo {
    /// Keeps what the patch is about to hide. What is kept already is the truth; what it hid was a settings request.
    pub(super) fn keep(&mut self, patch: &StatePatch, state: &SessionState) {
        let SessionState { model, variant, agent_mode, permission_mode, .. } = state;
        let now = [model, variant, agent_mode, permission_mode];
        for ((before, hidden), now) in self.settings().into_iter().zip(settings(patch)).zip(now) {
            if hidden.is_some() && before.is_none() {
                *before = Some(now.clone());
            }
        }
    }

    /// The agent has told what is so: of that nothing is to be taken back.
    pub(super) fn forget(&mut self, told: &StatePatch) {
        for (before, told) in self.settings().into_iter().zip(settings(told)) {
            before.take_if(|_| told.is_some());
        }
    }

    /// The agent has told what is so while a settings request hides it.
    pub(super) fn correct(&mut self, told: &StatePatch) {
        for (before, told) in self.settings().into_iter().zip(settings(told)) {
            if before.is_some() && told.is_some() {
                before.clone_from(told);
            }
        }
    }

    pub(super) fn into_patch(self) -> StatePatch {
        self.0
    }

    fn settings(&mut self) -> [&mut Setting; 4] {
        let StatePatch { model, variant, agent_mode, permission_mode, .. } = &mut self.0;
        [model, variant, agent_mode, permission_mode]
    }
}

fn settings(patch: &StatePatch) -> [&Setting; 4] {
    let StatePatch { model, variant, agent_mode, permission_mode, .. } = patch;
    [model, variant, agent_mode, permission_mode]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(id: Option<&str>) -> StatePatch {
        StatePatch { variant: Some(id.map(str::to_owned)), ..StatePatch::default() }
    }

    #[test]
    fn the_first_request_hides_the_truth_and_the_agent_corrects_it() {
        let mut undo = Undo::default();
        let mut state = SessionState::default();
        undo.keep(&variant(Some("high")), &state);
        state.variant = Some("high".into());
        undo.keep(&variant(Some("low")), &state);
        undo.correct(&StatePatch { model: Some(Some("m".into())), ..variant(Some("medium")) });
        assert_eq!(undo.into_patch(), variant(Some("medium")));
    }

    #[test]
    fn what_the_agent_has_taken_stays() {
        let mut undo = Undo::default();
        let requested = StatePatch { model: Some(Some("m".into())), ..variant(Some("high")) };
        undo.keep(&requested, &SessionState::default());
        undo.forget(&StatePatch { model: requested.model, ..StatePatch::default() });
        assert_eq!(undo.into_patch(), variant(None));
    }
}

//! Takes several turns back, or brings them back: all of them or none.

use omniglot_schema::TurnId;

use super::restore::Restore;
use super::{RestoreError, SessionSnapshots, refs};

/// The order to take turns back and to bring others back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rewind {
    /// Every turn from some turn on, oldest first: none of their changes is to be left.
    pub turns: Vec<TurnId>,
    /// The turns whose changes are to be there again.
    pub restored: Vec<TurnId>,
}

/// The result of a rewind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rewound {
    /// The files that were written or removed, relative to the session's directory where they are in it.
    pub paths: Vec<String>,
    /// How many of the turns have no snapshot, so that their changes stay.
    pub not_kept: usize,
}

impl SessionSnapshots {
    /// Reverts turns newest first and restores turns oldest first, as each expects the files that the other left. One
    /// that is refused leaves all files as they were.
    pub async fn rewind(&self, order: &Rewind) -> Result<Rewound, RestoreError> {
        let kept = refs::turns(self.shadow()?.repository(), self.no);
        if kept.is_empty() {
            self.require_available().await?;
        }
        let kept_as = |turn: &TurnId| kept.iter().find(|trees| trees.turn.id == *turn);
        let is = |turn: &TurnId, reverted| kept_as(turn).is_some_and(|it| it.reverted.is_some() == reverted);
        let restores = order.restored.iter().filter(|turn| is(turn, true)).map(|turn| step(turn, true));
        let reverts = order.turns.iter().rev().filter(|turn| is(turn, false)).map(|turn| step(turn, false));
        let steps: Vec<Restore> = restores.chain(reverts).collect();
        let not_kept = order.turns.iter().filter(|turn| kept_as(turn).is_none()).count();
        Ok(Rewound { paths: self.take_steps(&steps).await?, not_kept })
    }

    async fn take_steps(&self, steps: &[Restore]) -> Result<Vec<String>, RestoreError> {
        let mut paths = vec![];
        for (place, step) in steps.iter().enumerate() {
            match self.restore(step).await {
                Ok(restored) => paths.extend(restored.paths),
                Err(error) => {
                    self.go_back(steps.get(..place).unwrap_or_default()).await;
                    return Err(error);
                }
            }
        }
        paths.sort_unstable();
        paths.dedup();
        Ok(paths)
    }

    async fn go_back(&self, steps: &[Restore]) {
        for step in steps.iter().rev() {
            let opposite = Restore { back: !step.back, ..step.clone() };
            if let Err(error) = self.restore(&opposite).await {
                tracing::warn!(%error, "a rewind that was refused has left some files reverted");
            }
        }
    }
}

fn step(turn: &TurnId, back: bool) -> Restore {
    Restore { turn: Some(turn.to_string()), force: false, back }
}

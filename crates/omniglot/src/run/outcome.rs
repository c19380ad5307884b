//! The end of a run, as the exit code that scripts read.

use omniglot_schema::StopReason;

/// The end of a run that got as far as a turn, or was stopped before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Stopped(StopReason),
    /// The person pressed Ctrl-C.
    Interrupted,
}

impl Outcome {
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Stopped(StopReason::EndTurn) => 0,
            Self::Stopped(StopReason::Error) => 1,
            Self::Stopped(
                StopReason::MaxTokens | StopReason::MaxTurns | StopReason::MaxBudget | StopReason::Refusal,
            ) => 3,
            Self::Stopped(StopReason::Cancelled) | Self::Interrupted => 130,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_its_exit_code() {
        let codes = [
            (Outcome::Stopped(StopReason::EndTurn), 0),
            (Outcome::Stopped(StopReason::Error), 1),
            (Outcome::Stopped(StopReason::MaxTokens), 3),
            (Outcome::Stopped(StopReason::Refusal), 3),
            (Outcome::Stopped(StopReason::Cancelled), 130),
            (Outcome::Interrupted, 130),
        ];
        for (outcome, code) in codes {
            assert_eq!(outcome.exit_code(), code, "{outcome:?}");
        }
    }
}

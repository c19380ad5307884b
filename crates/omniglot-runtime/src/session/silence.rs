//! The silence policy: an agent that says nothing within a turn, for longer than the configuration allows, has
//! its turn ended (P4). Off unless configured.

use omniglot_agents::Command;
use omniglot_schema::{ErrorCode, ResolvedBy, SessionStatus};
use omniglot_timeline::{Failure, TurnEnd};
use tokio::time::Instant;

use super::{IN_FLIGHT, Session};

impl Session {
    /// Begins to wait anew after everything that happens. An agent that waits for a person may be silent, and
    /// one whose turn is being cancelled has the ladder.
    pub(super) fn listen_for_silence(&mut self) {
        let works = self.timeline.fold().status() == SessionStatus::Running || self.is_sending();
        let runs = works && self.cancelling.is_none();
        // One that is not listened to, because the log is slow, is not silent.
        let speaks = runs && self.in_flight.len() < IN_FLIGHT;
        let silence = self.spec.deadlines.silence.filter(|_| speaks && self.agent.is_some());
        self.silence_deadline = silence.map(|silence| Instant::now() + silence);
    }

    /// Ends the turn and the process: one that hangs is of no use to the next message either.
    pub(super) async fn silent_too_long(&mut self) {
        let seconds = self.spec.deadlines.silence.unwrap_or_default().as_secs();
        tracing::warn!(session = %self.spec.id, seconds, "an agent was silent for too long");
        self.step.begin();
        if self.agent.as_ref().is_some_and(|agent| agent.process.is_shared()) {
            // The server lives on: what nobody hears any more should not go on either.
            self.tell_agent(&Command::Cancel);
        }
        if let Some(agent) = self.agent.take() {
            agent.process.kill();
            agent.process.gone().await;
        }
        self.settle_prompt();
        let failure = Failure::new(ErrorCode::Timeout, format!("the agent said nothing for {seconds} s"));
        self.close_turn(TurnEnd::failed(failure), ResolvedBy::Expiry);
        self.connection(None);
        self.forget_run();
        self.drive();
    }
}

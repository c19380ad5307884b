//! The cancel ladder: ask the agent to stop, then make it (P9).

use std::future::pending;

use omniglot_agents::Command;
use omniglot_schema::{QueueOnCancel, StopReason, TurnId};
use omniglot_timeline::TurnEnd;
use tokio::time::{Instant, sleep_until};

use super::Session;
use crate::deadlines::Deadlines;
use crate::process::Exit;

/// How far a cancel has gone.
#[derive(Debug)]
pub(super) struct Ladder {
    /// The cancelled turn; the turn after it is not.
    turn: TurnId,
    rung: Rung,
    began: Instant,
    /// When the agent last said something.
    heard: Option<Instant>,
    due: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rung {
    Interrupt,
    Interrupted,
    Terminated,
    Killed,
}

impl Ladder {
    fn new(turn: TurnId, deadlines: &Deadlines) -> Self {
        let began = Instant::now();
        Self { turn, rung: Rung::Interrupt, began, heard: None, due: began + deadlines.interrupt_producing }
    }

    pub(super) fn heard(&mut self) {
        self.heard = Some(Instant::now());
    }

    pub(super) async fn due(ladder: Option<&Self>) {
        match ladder {
            Some(ladder) => sleep_until(ladder.due).await,
            None => pending().await,
        }
    }

    /// A silent agent may be finishing a tool: it gets more time than one that goes on talking. So does a
    /// server, on which there is nothing else to be done.
    fn deserves_longer_timeout(&self, deadlines: &Deadlines, is_shared: bool) -> bool {
        let producing = self.heard.is_some_and(|heard| heard.elapsed() < deadlines.interrupt_producing);
        let may_wait = is_shared || !producing;
        self.rung == Rung::Interrupt && may_wait && self.began.elapsed() < deadlines.interrupt_silent
    }
}

impl Session {
    /// Resolves open requests, then interrupts; what the agent does not stop is stopped by signals.
    pub(super) fn cancel(&mut self, queue: QueueOnCancel) {
        if self.is_sending() {
            return self.cancel_unread(queue);
        }
        let starts = self.queue.front().is_some_and(|queued| queued.started);
        if starts && self.timeline.fold().open_turn.is_none() {
            self.end_next(TurnEnd::new(StopReason::Cancelled));
        }
        if queue == QueueOnCancel::Drop {
            self.drop_queue();
        }
        if self.cancelling.is_none() {
            self.cancel_turn();
        }
    }

    /// The agent has not read the message of the turn, and so cannot be asked to stop it: the process is ended.
    fn cancel_unread(&mut self, queue: QueueOnCancel) {
        self.begin_next();
        if queue == QueueOnCancel::Drop {
            self.drop_queue();
        }
        if let (Some(turn), Some(agent)) = (self.open_turn(), &mut self.agent) {
            // Should it read the message after all, that begins no second turn.
            agent.close_stdin();
            agent.process.abandon();
            self.cancelling = Some(Ladder::new(turn, &self.spec.deadlines));
        }
    }

    fn cancel_turn(&mut self) {
        let Some(turn) = self.open_turn() else { return };
        self.withdraw_requests();
        self.tell_agent(&Command::Cancel);
        if self.open_turn().as_ref() == Some(&turn) {
            self.cancelling = Some(Ladder::new(turn, &self.spec.deadlines));
        }
    }

    fn open_turn(&self) -> Option<TurnId> {
        self.timeline.fold().open_turn.as_ref().map(|turn| turn.turn_id.clone())
    }

    /// A turn that ended when asked, and was followed by another at once, needs no more pushing.
    pub(super) fn leave_the_next_alone(&mut self) {
        let another = |ladder: &Ladder| {
            let open = self.timeline.fold().open_turn.as_ref();
            ladder.rung == Rung::Interrupt && open.is_some_and(|turn| turn.turn_id != ladder.turn)
        };
        if self.cancelling.as_ref().is_some_and(another) {
            self.cancelling = None;
        }
    }

    /// Whether the agent may be spoken to again after its turn has ended. One that was sent a signal is on
    /// its way out: it is ended, and its end is no crash.
    pub(super) fn cancel_is_over(&mut self) -> bool {
        match (&self.cancelling, &self.agent) {
            (Some(ladder), Some(agent)) if ladder.rung != Rung::Interrupt => {
                agent.process.kill();
                false
            }
            _ => {
                self.cancelling = None;
                true
            }
        }
    }

    pub(super) fn next_rung(&mut self) {
        let deadlines = &self.spec.deadlines;
        let (Some(ladder), Some(agent)) = (&mut self.cancelling, &self.agent) else {
            self.cancelling = None;
            return;
        };
        if ladder.deserves_longer_timeout(deadlines, agent.process.is_shared()) {
            ladder.due = (Instant::now() + deadlines.interrupt_producing)
                .min(ladder.began + deadlines.interrupt_silent);
            return;
        }
        if agent.process.is_shared() {
            return self.give_up_turn();
        }
        ladder.rung = match ladder.rung {
            Rung::Interrupt => {
                agent.process.interrupt();
                Rung::Interrupted
            }
            Rung::Interrupted => {
                agent.process.terminate();
                Rung::Terminated
            }
            Rung::Terminated | Rung::Killed => {
                agent.process.kill();
                Rung::Killed
            }
        };
        ladder.due = Instant::now() + deadlines.rung;
        tracing::info!(session = %self.spec.id, rung = ?ladder.rung, "the agent did not stop when asked");
    }

    /// A server that others use is not sent signals: the turn is over for us, and the session leaves it. What
    /// goes on in it ends with the server, once nobody else's turn runs there.
    fn give_up_turn(&mut self) {
        tracing::warn!(session = %self.spec.id, "a shared server did not stop a turn when asked");
        self.step.begin();
        if let Some(agent) = &self.agent {
            agent.process.abandon();
        }
        self.agent_exited(Exit { code: Some(0), signal: None });
        self.drive();
    }
}

//! The commands of clients to a session, one function each; a refused command changes nothing.

use omniglot_agents::Command;
use omniglot_schema::{ErrorCode, ResolvedBy};
use omniglot_timeline::{Failure, SessionEnd, TurnEnd};

use super::undelivered::Effect;
use super::{Answer, Flow, Request, Session, SessionCommand, answer};
use crate::agent::AgentEvent;
use crate::error::RuntimeError;

impl Session {
    pub(super) async fn request(&mut self, request: Request) -> Flow {
        let Request { ask, reply } = request;
        self.step.begin();
        if matches!(ask, SessionCommand::DiscardUnused) && !self.is_unused() {
            answer(reply, Answer::Refused(RuntimeError::Busy));
            return Flow::On;
        }
        if matches!(ask, SessionCommand::Discard | SessionCommand::DiscardUnused) {
            self.discard().await;
            answer(reply, Answer::Done(None));
            return Flow::Done;
        }
        if let SessionCommand::Configure(patch) = ask {
            self.configure(patch, reply);
            self.drive();
            self.commit_in_flight();
            return Flow::On;
        }
        let flow = if matches!(ask, SessionCommand::Terminate | SessionCommand::Shutdown) {
            Flow::Done
        } else {
            Flow::On
        };
        match self.carry_out(ask).await {
            Ok(effect) => {
                let sending = self.sending(&effect);
                if flow == Flow::On {
                    self.drive();
                }
                self.finish(sending, effect, reply);
                self.commit_in_flight();
            }
            Err(error) => answer(reply, Answer::Refused(error)),
        }
        flow
    }

    async fn carry_out(&mut self, ask: SessionCommand) -> Result<Effect, RuntimeError> {
        match ask {
            SessionCommand::Post { request, files, key } => {
                return self.post(request, files, key).await;
            }
            SessionCommand::RemoveQueued(message_id) => self.remove_queued(&message_id)?,
            SessionCommand::ReplyPermission { id, reply, message } => {
                return self.reply_permission(&id, reply, message);
            }
            SessionCommand::ReplyQuestion { id, answers } => return self.reply_question(&id, answers),
            SessionCommand::Cancel(queue) => self.cancel(queue),
            SessionCommand::Terminate => self.terminate().await,
            SessionCommand::Reap => self.reap().await?,
            SessionCommand::Shutdown => self.shutdown().await,
            SessionCommand::Discard | SessionCommand::DiscardUnused => self.discard().await,
            // Answered when the agent has answered.
            SessionCommand::Configure(_) => {}
        }
        Ok(Effect::Done)
    }

    /// Sends the replies that follow from what has happened, without anybody's decision.
    pub(super) fn send_replies(&mut self) {
        for reply in self.step.take_replies(&mut self.timeline) {
            self.tell_agent(&reply);
        }
    }

    /// Resolves every open request as rejected, and tells the agent so.
    pub(super) fn withdraw_requests(&mut self) {
        let timeline = &mut self.timeline;
        self.step.with(|stamp, out| timeline.withdraw_requests(ResolvedBy::Cancel, stamp, out));
        self.send_replies();
    }

    pub(super) fn tell_agent(&mut self, command: &Command) {
        let heard = self.agent.as_mut().map(|agent| agent.command(command)).unwrap_or_default();
        self.absorb(heard);
    }

    /// Ends the process and the session.
    async fn terminate(&mut self) {
        self.drop_queue();
        self.withdraw_requests();
        self.stop_work(self.has_open_turn()).await;
        if let Some(agent) = &mut self.agent {
            let heard = agent.close(self.spec.deadlines.stop).await;
            self.absorb(heard);
        }
        self.stop_agent().await;
        let timeline = &mut self.timeline;
        self.step.with(|stamp, out| timeline.end_session(SessionEnd::Terminated, stamp, out));
    }

    /// Ends the process and forgets what is not committed: a full log must not keep a session from being
    /// deleted.
    pub(super) async fn discard(&mut self) {
        self.opening = None;
        self.broken = true;
        self.in_flight.clear();
        self.withdraw_requests();
        self.stop_work(self.has_open_turn()).await;
        if let Some(mut agent) = self.agent.take() {
            agent.close(self.spec.deadlines.stop).await;
            agent.process.kill();
            agent.host.end().await;
            agent.process.gone().await;
        }
    }

    /// Ends the process; the session goes on with its next message.
    async fn shutdown(&mut self) {
        let failure = Failure::new(ErrorCode::DaemonRestarted, "the daemon was stopped while this turn ran");
        let end = TurnEnd::failed(failure);
        let turn_runs = self.has_open_turn();
        self.close_turn(end.clone(), ResolvedBy::Restart);
        // Those who listen hear of it now, however long the agent takes to leave.
        self.commit_in_flight();
        self.stop_work(turn_runs).await;
        self.stop_agent().await;
        // One that it began while it left.
        self.close_turn(end, ResolvedBy::Restart);
    }

    /// Stops what the agent does before it is left (T10): it hears that its requests are resolved, then its turn is
    /// interrupted. An agent that does not stop, or that goes on in the background, is killed with all that is below
    /// it, since nobody would hear what it does.
    async fn stop_work(&mut self, turn_runs: bool) {
        self.send_replies();
        let timeout = self.spec.deadlines.stop;
        let Some(agent) = &mut self.agent else { return };
        let (heard, stopped) = match (turn_runs, &self.cancelling) {
            (false, _) => (vec![], true),
            (true, None) => agent.interrupt(timeout).await,
            (true, Some(_)) => agent.interrupted(timeout).await,
        };
        if !stopped {
            agent.process.abandon();
            agent.process.gone().await;
        } else if agent.tends_background() {
            agent.process.kill();
            agent.process.gone().await;
        }
        self.step.begin();
        self.absorb(heard);
    }

    fn has_open_turn(&self) -> bool {
        self.timeline.fold().open_turn.is_some()
    }

    pub(super) fn close_turn(&mut self, end: TurnEnd, by: ResolvedBy) {
        let timeline = &mut self.timeline;
        self.step.with(|stamp, out| timeline.close_turn(end, by, stamp, out));
    }

    /// Lets the agent leave by itself, then makes it; what it says until then is kept.
    pub(super) async fn stop_agent(&mut self) {
        self.opening = None;
        let Some(agent) = &mut self.agent else { return };
        agent.close_stdin();
        let timeout = self.spec.deadlines.stop;
        for push in [None, Some(Push::Terminate), Some(Push::Kill)] {
            let Some(agent) = &self.agent else { return };
            match push {
                None => {}
                Some(Push::Terminate) => agent.process.terminate(),
                Some(Push::Kill) => agent.process.kill(),
            }
            if tokio::time::timeout(timeout, self.hear_until_exit()).await.is_ok() {
                break;
            }
        }
        if let Some(mut agent) = self.agent.take() {
            agent.process.kill();
            agent.host.end().await;
            agent.process.gone().await;
            self.connection(None);
            self.forget_run();
        }
    }

    async fn hear_until_exit(&mut self) {
        while let Some(agent) = &mut self.agent {
            match agent.next().await {
                AgentEvent::Lines(lines) => {
                    self.step.begin();
                    self.hear_lines(lines);
                    self.commit_in_flight();
                }
                AgentEvent::Sent => {
                    self.step.begin();
                    self.hear_sent();
                    self.commit_in_flight();
                }
                AgentEvent::Host(news) => {
                    self.step.begin();
                    self.hear_host(news);
                    self.commit_in_flight();
                }
                AgentEvent::Exited(_) => return,
            }
        }
    }
}

enum Push {
    Terminate,
    Kill,
}

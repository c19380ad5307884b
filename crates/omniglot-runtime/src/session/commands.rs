//! The commands of clients to a session, one function each; a refused command changes nothing.

use omniglot_agents::{Command, CommandAnswer, StreamOutput};
use omniglot_schema::{ErrorCode, ResolvedBy, StatusLabel};
use omniglot_timeline::{Draft, Failure, SessionEnd, TurnEnd};
use tokio::time::{Instant, timeout_at};

use super::undelivered::Effect;
use super::{Answer, Flow, IN_FLIGHT, Request, Session, SessionCommand, answer, committed, next_of};
use crate::agent::{AgentEvent, Translated};
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
            self.make_way_for_settings(&patch).await;
            self.configure(patch, reply);
            self.drive();
            self.commit_in_flight();
            return Flow::On;
        }
        if let SessionCommand::WorkOnFiles(work) = ask {
            self.work_on_files(work, reply);
            self.publish_activity();
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
            SessionCommand::Post { message, files, key, before } => {
                return self.post(message, files, key, before).await;
            }
            SessionCommand::RemoveQueued(message_id) => self.remove_queued(&message_id)?,
            SessionCommand::ReplyPermission { id, reply, message, by } => {
                return self.reply_permission(&id, reply, message, by);
            }
            SessionCommand::ReplyQuestion { id, answers, by } => {
                return self.reply_question(&id, answers, by);
            }
            SessionCommand::RecordCommand(done) => return self.record_command(done),
            SessionCommand::Cancel(queue) => self.cancel(queue),
            SessionCommand::Terminate => self.terminate().await,
            SessionCommand::Reap => self.reap().await?,
            SessionCommand::Shutdown => self.shutdown().await,
            SessionCommand::Discard | SessionCommand::DiscardUnused => self.discard().await,
            // Answered when the agent has answered, or the work is done.
            SessionCommand::Configure(_) | SessionCommand::WorkOnFiles(_) => {}
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
        self.recall_client_replies();
        let timeline = &mut self.timeline;
        self.step.with(|stamp, out| timeline.withdraw_requests(ResolvedBy::Cancel, stamp, out));
        self.settle_client_replies();
        self.send_replies();
    }

    pub(super) fn tell_agent(&mut self, command: &Command) {
        let heard = self.agent.as_mut().map(|agent| agent.command(command)).unwrap_or_default();
        self.absorb(heard);
    }

    /// Ends the process and the session.
    async fn terminate(&mut self) {
        self.tell_dropped();
        self.drop_queue();
        self.withdraw_requests();
        self.stop_work(self.has_open_turn()).await;
        self.close_agent().await;
        self.stop_agent().await;
        let timeline = &mut self.timeline;
        self.step.with(|stamp, out| timeline.end_session(SessionEnd::Terminated, stamp, out));
    }

    /// Says which messages end with the session: their clients were told that they wait.
    fn tell_dropped(&mut self) {
        let waiting: Vec<_> = self.queue.iter().map(|queued| queued.message_id.as_str()).collect();
        if waiting.is_empty() {
            return;
        }
        let detail =
            format!("the session is terminated; these messages are not delivered: {}", waiting.join(", "));
        let timeline = &mut self.timeline;
        self.step.with(|stamp, out| timeline.status(StatusLabel::Warning, detail, stamp, out));
    }

    /// Ends the process and forgets what is not committed: a full log must not keep a session from being
    /// deleted.
    pub(super) async fn discard(&mut self) {
        self.opening = None;
        self.broken = true;
        self.in_flight.clear();
        self.withdraw_requests();
        self.stop_work(self.has_open_turn()).await;
        self.close_agent().await;
        if let Some(mut agent) = self.agent.take() {
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
        let interrupt = self.cancelling.is_none().then_some(Command::Cancel);
        let ends = |output: &StreamOutput| matches!(output, StreamOutput::Draft(Draft::TurnEnded(_)));
        let stopped = !turn_runs || self.hear_until(|heard| heard.stream.iter().any(ends), interrupt).await;
        let Some(agent) = &mut self.agent else { return };
        if !stopped {
            agent.process.abandon();
            agent.process.gone().await;
        } else if agent.tends_background() {
            agent.process.kill();
            agent.process.gone().await;
        }
    }

    /// Tells the agent that its session is left, and waits a moment for its answer.
    pub(super) async fn close_agent(&mut self) {
        let closes = |answer: &CommandAnswer| matches!(answer, CommandAnswer::Closed);
        self.hear_until(|heard| heard.answers.iter().any(closes), Some(Command::Close)).await;
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
        for push in [None, Some(Push::Terminate), Some(Push::Kill)] {
            let Some(agent) = &self.agent else { return };
            match push {
                None => {}
                Some(Push::Terminate) => agent.process.terminate(),
                Some(Push::Kill) => agent.process.kill(),
            }
            if self.hear_until(|_| false, None).await {
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

    /// Tells the agent something and hears it until it has said such a thing or has exited, or for so long as it
    /// may take to stop; returns which.
    async fn hear_until(&mut self, wanted: impl Fn(&Translated) -> bool, command: Option<Command>) -> bool {
        let deadline = Instant::now() + self.spec.deadlines.stop;
        self.step.begin();
        let Some(agent) = &mut self.agent else { return true };
        let mut heard = command.map(|command| agent.command(&command)).unwrap_or_default();
        loop {
            let is_over = heard.iter().any(&wanted);
            self.absorb(heard);
            self.commit_in_flight();
            if is_over {
                return true;
            }
            let Some(event) = self.next_until(deadline).await else { return false };
            self.step.begin();
            let Some(next) = self.agent.as_mut().and_then(|agent| agent.event(event)) else { return true };
            heard = next;
        }
    }

    /// Returns the next event of the agent once few enough appends wait for their commit.
    async fn next_until(&mut self, deadline: Instant) -> Option<AgentEvent> {
        while self.in_flight.len() >= IN_FLIGHT {
            let result = timeout_at(deadline, committed(&mut self.in_flight)).await.ok()?;
            self.committed(result);
        }
        // A timeout looks at the clock only when there is nothing to read, and a flood always is.
        match Instant::now() < deadline {
            true => timeout_at(deadline, next_of(&mut self.agent)).await.ok(),
            false => None,
        }
    }
}

enum Push {
    Terminate,
    Kill,
}

//! Messages on their way to the agent: posted, queued, delivered one turn at a time, never lost.
//!
//! A turn begins when its message is sent. A message that is too large for the agent's pipe stays the first of
//! the queue until the agent has read it; should the agent end before, its turn fails.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use omniglot_agents::adapter::Steer;
use omniglot_agents::{Attachment, Carryover, Command, FileContent, Lifetime, Prompt};
use omniglot_schema::{
    Connection, ContentPart, Delivered, Delivery, FileAction, MessageId, QueuedMessage, StatePatch,
};
use omniglot_store::{QueueOp, Receipt};
use omniglot_timeline::{Draft, Failure, Origin, SessionEnd, TurnEnd, inline_image};

use super::configure::requested_of_state;
use super::undelivered::Effect;
use super::{Authored, IdempotencyKey, Posted, Queued, Session, TurnProcess};
use crate::agent::session_start::{Opened, StartError, StartErrorKind};
use crate::agent::{Agent, Sending};
use crate::error::RuntimeError;
use crate::process::Exit;
use crate::snapshots::Before;

/// Messages that may wait.
const QUEUE_LIMIT: usize = 64;

impl Session {
    /// Takes a message: starts its turn if the agent is free, else queues it.
    pub(super) async fn post(
        &mut self,
        message: Authored,
        files: Vec<Attachment>,
        key: Option<IdempotencyKey>,
        before: Option<Before>,
    ) -> Result<Effect, RuntimeError> {
        if let Some(first) = self.first_receipt(key.as_ref()).await? {
            return Ok(Effect::Posted(first));
        }
        let request = &message.request;
        let turn_runs = self.timeline.fold().open_turn.is_some();
        let waits = turn_runs || !self.queue.is_empty();
        if waits && request.delivery == Some(Delivery::Reject) {
            return Err(RuntimeError::Busy);
        }
        if self.queue.len() >= QUEUE_LIMIT {
            return Err(RuntimeError::QueueFull(self.queue.len()));
        }
        let message_id = MessageId(format!("msg_{}", uuid::Uuid::now_v7().simple()));
        let after = self.timeline.fold().last_seq;
        if turn_runs && request.delivery == Some(Delivery::Steer) && self.can_steer() {
            self.steer(&message_id, &message, files.clone());
            // An agent that reads no more is about to be gone: the message waits for the next one.
            if self.agent.as_ref().map(Agent::sending) != Some(Sending::Lost) {
                let posted = Posted { message_id, delivered: Delivered::Steered, after };
                return Ok(Effect::Steered(posted, key));
            }
        }
        // A process that is still being cancelled may be on its way out.
        let free =
            !waits && self.agent.is_some() && self.cancelling.is_none() && !self.configuring.is_pending();
        self.queue.push_back(Queued {
            message_id: message_id.clone(),
            message,
            files,
            stored: false,
            started: !waits,
            sending: None,
            // A message that has to wait is not sent to the directory as it is now.
            before: before.filter(|before| free && self.work_tree.is_current(before)),
        });
        if free {
            self.deliver_next();
        }
        if self.queue.back().is_some_and(|queued| queued.message_id == message_id) {
            self.store_last_queued();
            self.ensure_opening();
        }
        // One that waits for nothing but its agent to start has started.
        let delivered = if waits { Delivered::Queued } else { Delivered::Started };
        let posted = Posted { message_id, delivered, after };
        self.remember_receipt(key, &posted);
        Ok(Effect::Posted(posted))
    }

    /// Whether the agent takes a prompt into the turn that runs. One that is being cancelled takes nothing.
    fn can_steer(&self) -> bool {
        let entry = self.spec.launcher.catalog.get(&self.spec.agent);
        let can = entry.is_ok_and(|entry| entry.adapter.steer == Steer::Native);
        can && self.agent.is_some() && self.cancelling.is_none() && self.queue.is_empty()
    }

    fn steer(&mut self, message_id: &MessageId, message: &Authored, files: Vec<Attachment>) {
        self.timeline.name_message(message_id, message.author());
        self.tell_agent(&Command::Prompt(Prompt {
            message_id: Some(message_id.clone()),
            text: message.request.message.clone(),
            attachments: files,
        }));
    }

    /// Returns the answer that the first message with this key got.
    async fn first_receipt(&mut self, key: Option<&IdempotencyKey>) -> Result<Option<Posted>, RuntimeError> {
        let Some(IdempotencyKey { key, body_hash }) = key else { return Ok(None) };
        let first = match self.keys.get(key) {
            Some((hash, posted)) => Some((hash.clone(), Some(posted.clone()))),
            None => {
                let receipt = self.store.receipt(self.spec.no, key).await?;
                receipt.map(|receipt| (receipt.body_hash, serde_json::from_str(&receipt.answer).ok()))
            }
        };
        match first {
            Some((hash, _)) if hash != *body_hash => Err(RuntimeError::KeyReused),
            Some((_, posted)) => Ok(posted),
            None => Ok(None),
        }
    }

    pub(super) fn remember_receipt(&mut self, key: Option<IdempotencyKey>, posted: &Posted) {
        let Some(IdempotencyKey { key, body_hash }) = key else { return };
        let answer = serde_json::to_string(posted).unwrap_or_default();
        self.step.receipt = Some(Receipt { key: key.clone(), body_hash: body_hash.clone(), answer });
        self.keys.insert(key, (body_hash, posted.clone()));
    }

    fn store_last_queued(&mut self) {
        let Some(queued) = self.queue.back_mut() else { return };
        queued.stored = true;
        let body = serde_json::to_string(&queued.message).unwrap_or_default();
        self.step.queue.push(QueueOp::Push { message_id: queued.message_id.clone(), body });
        self.show_queue();
    }

    pub(super) fn remove_queued(&mut self, message_id: &MessageId) -> Result<(), RuntimeError> {
        // One that is on its way cannot be called back.
        let waits = |queued: &Queued| queued.message_id == *message_id && queued.sending.is_none();
        let place = self.queue.iter().position(waits);
        let Some(place) = place else { return Err(RuntimeError::MessageNotFound(message_id.to_string())) };
        self.queue.remove(place);
        self.step.queue.push(QueueOp::Remove { message_id: message_id.clone() });
        self.show_queue();
        Ok(())
    }

    pub(super) fn drop_queue(&mut self) {
        for queued in std::mem::take(&mut self.queue) {
            self.step.queue.push(QueueOp::Remove { message_id: queued.message_id });
        }
        self.show_queue();
    }

    /// The state names what waits; nothing when nothing does.
    fn show_queue(&mut self) {
        let waiting: Vec<_> = self.queue.iter().filter(|queued| queued.stored).map(Queued::show).collect();
        let queue = (!waiting.is_empty()).then(|| waiting.into());
        self.patch(StatePatch { queue: Some(queue), ..StatePatch::default() });
    }

    /// Sends the first message that waits, if the agent is free; starts the agent if there is none.
    pub(super) fn deliver_next(&mut self) {
        let Some(queued) = self.queue.front() else { return };
        if self.turn_process.is_used() || queued.sending.is_some() {
            return;
        }
        let Some(agent) = &mut self.agent else { return self.ensure_opening() };
        self.quiet_deadline = agent.quiet_until();
        if self.quiet_deadline.is_some() || !self.has_snapshot() {
            return;
        }
        let (Some(queued), Some(agent)) = (self.queue.front_mut(), &mut self.agent) else { return };
        self.work_tree.message_sent(queued.before.take());
        let command = Command::Prompt(Prompt {
            message_id: Some(queued.message_id.clone()),
            text: queued.message.request.message.clone(),
            attachments: queued.files.clone(),
        });
        self.timeline.name_message(&queued.message_id, queued.message.author());
        let heard = agent.command(&command);
        let sending = agent.sending();
        self.absorb(heard);
        self.prompt_is(sending);
    }

    /// Whether the first message that waits is on its way to the agent.
    pub(super) fn is_sending(&self) -> bool {
        self.queue.front().is_some_and(|queued| queued.sending.is_some())
    }

    /// Takes a message off the queue that was on its way and that the agent has by now, or never will have.
    pub(super) fn settle_prompt(&mut self) {
        let Some(ticket) = self.queue.front().and_then(|queued| queued.sending) else { return };
        self.prompt_is(self.agent.as_ref().map_or(Sending::Lost, |agent| agent.sending_of(ticket)));
    }

    fn prompt_is(&mut self, sending: Sending) {
        match sending {
            Sending::Waits(ticket) => {
                self.queue.front_mut().into_iter().for_each(|queued| queued.sending = Some(ticket));
                return;
            }
            Sending::Sent => self.taken_off_the_queue(),
            // The agent is about to be gone, and its end is the end of the turn.
            Sending::Lost => self.begin_next(),
        }
        self.turn_process.prompted(self.spec.lifetime());
    }

    fn taken_off_the_queue(&mut self) {
        let Some(queued) = self.queue.pop_front() else { return };
        if queued.stored {
            self.step.queue.push(QueueOp::Remove { message_id: queued.message_id });
            self.show_queue();
        }
    }

    fn ensure_opening(&mut self) {
        if self.agent.is_some() || self.opening.is_some() {
            return;
        }
        let mut open = self.spec.open.clone();
        open.has_prompt = true;
        let fold = self.timeline.fold();
        open.resume = self.timeline.resumable().map(str::to_owned);
        open.resume_since = fold.native_since;
        open.title = fold.state.title.clone().filter(|_| fold.titled);
        open.carryover = Carryover::of(&fold.state);
        let requested = requested_of_state(&fold.state, fold.native_session_id.is_some());
        open.requested = if open.resume.is_some() { requested } else { requested.or(open.requested) };
        self.opening = Some(Box::pin(self.spec.launcher.clone().open_again(
            self.spec.no,
            self.spec.agent.clone(),
            open,
        )));
    }

    pub(super) fn opened(&mut self, result: Result<Opened, StartError>) {
        self.step.begin();
        match result {
            Ok(Opened { agent, early }) => {
                if let Some(agent) = agent {
                    let pid = agent.process.pid();
                    tracing::info!(session = %self.spec.id, agent = self.spec.agent, pid, "started");
                    self.take_agent(agent);
                }
                self.absorb_early(early);
                self.connection(Some(Connection::Connected));
            }
            Err(start_error) => self.never_sent(start_error),
        }
        self.drive();
    }

    /// The agent did not start: the message that wanted it still gets a whole turn.
    fn never_sent(&mut self, mut start_error: StartError) {
        tracing::warn!(session = %self.spec.id, why = start_error.failure().message, "an agent did not start");
        if let StartErrorKind::Exited { .. } | StartErrorKind::Silent { .. } = start_error.why {
            self.process_died(&start_error.failure().message);
        }
        let timeline = &mut self.timeline;
        self.step.with(|stamp, out| timeline.reopen(stamp, out));
        self.absorb_early(std::mem::take(&mut start_error.early).without_refusals());
        self.fail_next(start_error.failure());
        self.turns_before = self.timeline.fold().turns;
    }

    /// The first message that waits cannot be sent: it gets a whole turn all the same.
    pub(super) fn fail_next(&mut self, failure: Failure) {
        self.end_next(TurnEnd::failed(failure));
    }

    /// The first message that waits is not sent: its turn begins and ends.
    pub(super) fn end_next(&mut self, end: TurnEnd) {
        if !self.queue.is_empty() {
            self.begin_next();
            self.draft(Draft::TurnEnded(end));
        }
    }

    /// Begins the turn of the first message that waits, whether its agent has it or not.
    pub(super) fn begin_next(&mut self) {
        let Some(queued) = self.queue.front() else { return };
        let timeline = &mut self.timeline;
        self.step.with(|stamp, out| timeline.reopen(stamp, out));
        self.timeline.name_message(&queued.message_id, queued.message.author());
        let origin = Origin::User { message_id: Some(queued.message_id.clone()), content: queued.content() };
        self.draft(Draft::TurnStarted(origin));
        self.taken_off_the_queue();
    }

    pub(super) fn connection(&mut self, connection: Option<Connection>) {
        self.patch(StatePatch { connection: Some(connection), ..StatePatch::default() });
    }

    /// The process is gone: because we cancelled its turn the hard way, or for reasons of its own.
    pub(super) fn agent_exited(&mut self, exit: Exit) {
        self.hear_sent();
        let Some(mut agent) = self.agent.take() else { return };
        self.settle_prompt();
        let heard = agent.exited(exit);
        self.absorb(heard);
        self.connection(None);
        let stderr = agent.stderr();
        let timeline = &mut self.timeline;
        if self.cancelling.take().is_some() {
            let end = TurnEnd::new(omniglot_schema::StopReason::Cancelled);
            self.step
                .with(|stamp, out| timeline.close_turn(end, omniglot_schema::ResolvedBy::Cancel, stamp, out));
        } else if matches!(self.spec.lifetime(), Some(Lifetime::Turn)) {
            self.turn_process_exited(exit, &stderr);
        } else if agent.process.is_shared() && timeline.fold().open_turn.is_none() {
            tracing::info!(session = %self.spec.id, agent = self.spec.agent, %exit, "its server is gone");
        } else {
            let message = format!("the agent's process {exit}");
            tracing::warn!(session = %self.spec.id, agent = self.spec.agent, %exit, "an agent died");
            self.process_died(&message);
            let timeline = &mut self.timeline;
            let stderr = (stderr.head.is_some()).then_some(stderr);
            let end = SessionEnd::Crashed { message, exit_code: exit.code, stderr };
            self.step.with(|stamp, out| timeline.end_session(end, stamp, out));
        }
        self.turn_process = TurnProcess::default();
        self.forget_run();
    }

    /// Makes the next start of a process that the session has for itself wait, unless this one has ended a turn.
    fn process_died(&mut self, why: &str) {
        if !matches!(self.spec.lifetime(), Some(Lifetime::Session)) {
            return;
        }
        let fold = self.timeline.fold();
        let ended = fold.turns - u64::from(fold.open_turn.is_some());
        let restarts = &self.spec.launcher.restarts;
        if ended > self.turns_before {
            restarts.worked(self.spec.no);
        }
        restarts.died(self.spec.no, why);
        self.turns_before = fold.turns;
    }

    /// Makes the Timeline forget a process that is gone.
    pub(super) fn forget_run(&mut self) {
        let timeline = &mut self.timeline;
        self.step.with(|stamp, out| timeline.forget_run(stamp, out));
        self.step.replies.clear();
        self.settle_undelivered();
    }
}

impl Queued {
    fn show(&self) -> QueuedMessage {
        let Authored { request, by } = &self.message;
        QueuedMessage {
            message_id: self.message_id.clone(),
            message: request.message.clone(),
            attachments: request.attachments.clone(),
            client_ids: request.client_ids.clone(),
            by: by.clone(),
        }
    }

    fn content(&self) -> Vec<ContentPart> {
        let text = std::iter::once(ContentPart::text(self.message.request.message.clone()));
        let attached = self.files.iter().map(|file| match &file.content {
            FileContent::Image { mime, bytes } => inline_image(mime, &STANDARD.encode(bytes)),
            FileContent::Text(_) | FileContent::Unread => {
                ContentPart::file(file.file.path.clone(), FileAction::Read, None)
            }
        });
        text.chain(attached).collect()
    }
}

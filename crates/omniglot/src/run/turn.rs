//! Watches one turn: prints its events, answers its requests, and cancels it when the person wants that.
//!
//! Keeps its position, so that a broken connection is resumed without loss or repeat.

use std::time::Duration;

use anyhow::bail;
use futures_util::StreamExt as _;
use omniglot_client::{Client, SseItem, StreamFrom};
use omniglot_schema::{
    EventData, MessageId, QueueOnCancel, SessionId, StatePatch, StopReason, TurnId, UniversalEvent,
};
use tokio::time::timeout;

use super::answer::Answering;
use super::outcome::Outcome;
use super::output::Output;
use super::prompt::Answer;
use super::replies::{self, PendingReplies};
use crate::connect::{explain, is_lost};
use crate::signals::StopSignals;

/// The time for the daemon to respond to a person who wants to exit.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct Turn {
    session: SessionId,
    message: MessageId,
    /// The position of the last event.
    from: StreamFrom,
    pub(crate) seen: u64,
    /// Whether events before the turn are printed too: those of a session, or a process, started for it.
    pub(crate) prelude: bool,
    answering: Answering,
    /// Answers that were sent, but not seen in the stream yet: to be repeated over another connection.
    unconfirmed: Vec<Answer>,
    id: Option<TurnId>,
    /// Whether the message was seen in the queue.
    queued: bool,
    stop_requests: StopRequests,
}

/// The number of times that the person wanted the turn to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopRequests {
    None,
    /// The turn is being cancelled.
    Cancel,
    /// Nothing is awaited any more.
    Leave,
}

/// The reason why watching stopped.
pub(crate) enum Watched {
    Ended(Outcome),
    /// The connection is gone; the turn may still run.
    Lost(String),
}

impl Turn {
    pub(crate) fn new(
        session: SessionId,
        message: MessageId,
        from: StreamFrom,
        answering: Answering,
    ) -> Self {
        Self {
            session,
            message,
            from,
            seen: 0,
            prelude: false,
            answering,
            unconfirmed: vec![],
            id: None,
            queued: false,
            stop_requests: StopRequests::None,
        }
    }

    /// Watches until the turn has ended or the connection broke.
    pub(crate) async fn watch(
        &mut self,
        client: &Client,
        output: &mut Output,
        signals: &mut StopSignals,
    ) -> anyhow::Result<Watched> {
        let mut stream = match client.sse(&self.session, &self.from, false).await {
            Ok(stream) => stream,
            Err(error) if is_lost(&error) => return Ok(Watched::Lost(error.to_string())),
            Err(error) => return Err(explain(error)),
        };
        let mut replies = PendingReplies::new();
        self.repeat(client, &mut replies);
        loop {
            if self.stop_requests == StopRequests::None {
                self.answering.show_prompt(output);
            }
            let asking = self.answering.is_asking();
            tokio::select! {
                item = stream.next() => match item {
                    Some(Ok(item)) => if let Some(stop) = self.item(item, client, output, &mut replies)? {
                        replies::finish(replies, output).await;
                        return Ok(Watched::Ended(self.outcome(stop)));
                    },
                    Some(Err(error)) if is_lost(&error) => return Ok(Watched::Lost(error.to_string())),
                    Some(Err(error)) => return Err(explain(error)),
                    None => return Ok(Watched::Lost("the daemon is stopping".to_owned())),
                },
                line = self.answering.typed(), if asking => {
                    output.hush();
                    let answer = self.answering.line(line.as_deref(), output);
                    self.reply(answer, client, &mut replies);
                },
                () = signals.next() => if self.stop(client, output, &mut replies).await {
                    return Ok(Watched::Ended(Outcome::Interrupted));
                },
                Some(done) = replies.join_next() => replies::report(done, output),
                () = output.silence(), if !asking => output.spin(),
            }
        }
    }

    /// Repeats the answers that a broken connection may have lost.
    fn repeat(&self, client: &Client, replies: &mut PendingReplies) {
        for answer in self.unconfirmed.iter().cloned() {
            self.send(answer, client, replies);
        }
        if self.stop_requests != StopRequests::None {
            self.cancel(client, replies);
        }
    }

    fn outcome(&self, stop: StopReason) -> Outcome {
        if self.stop_requests == StopRequests::None { Outcome::Stopped(stop) } else { Outcome::Interrupted }
    }

    pub(crate) fn stop_requests(&self) -> StopRequests {
        self.stop_requests
    }

    /// Prints an event of the turn; returns its end, if this was it.
    fn item(
        &mut self,
        item: SseItem,
        client: &Client,
        output: &mut Output,
        replies: &mut PendingReplies,
    ) -> anyhow::Result<Option<StopReason>> {
        let (id, event, json) = match item {
            SseItem::Event { id, event, json } => (id, event, json),
            SseItem::CaughtUp => return Ok(None),
            SseItem::Deleted => bail!("the session was deleted while its turn ran"),
        };
        self.from = StreamFrom::Id(id);
        self.seen = event.sequence;
        self.recognise(&event);
        self.check_queue(&event)?;
        if self.id.is_none() && !self.prelude {
            return Ok(None);
        }
        self.show(&event, &json, output);
        self.confirm(&event);
        let answer = self.answering.event(&event, output);
        self.reply(answer, client, replies);
        Ok(match &event.data {
            EventData::TurnEnded(data) if Some(&data.turn_id) == self.id.as_ref() => {
                Some(data.metadata.stop_reason)
            }
            _ => None,
        })
    }

    fn recognise(&mut self, event: &UniversalEvent) {
        if let EventData::TurnStarted(data) = &event.data
            && data.metadata.message_id.as_ref() == Some(&self.message)
        {
            self.id = Some(data.turn_id.clone());
        }
    }

    /// Fails when the message has left the queue without a turn, which begins before that.
    fn check_queue(&mut self, event: &UniversalEvent) -> anyhow::Result<()> {
        let EventData::SessionUpdated(StatePatch { queue: Some(queue), .. }) = &event.data else {
            return Ok(());
        };
        let waits = queue.as_ref().is_some_and(|queue| {
            queue.inline().is_none_or(|queue| queue.iter().any(|queued| queued.message_id == self.message))
        });
        if self.queued && !waits && self.id.is_none() {
            bail!("no turn answers the message: it was removed from the queue, or its session was ended");
        }
        self.queued = waits;
        Ok(())
    }

    fn show(&mut self, event: &UniversalEvent, json: &str, output: &mut Output) {
        let text = output.render(event, json);
        if !text.is_empty() && output.is_shared() {
            self.answering.interrupt_prompt(output);
        }
        output.stdout(&text);
    }

    fn confirm(&mut self, event: &UniversalEvent) {
        match &event.data {
            EventData::PermissionResolved(data) => {
                self.unconfirmed.retain(|answer| answer.id() != data.permission_id.as_str());
            }
            EventData::QuestionResolved(data) => {
                self.unconfirmed.retain(|answer| answer.id() != data.question_id.as_str());
            }
            _ => {}
        }
    }

    fn reply(&mut self, answer: Option<Answer>, client: &Client, replies: &mut PendingReplies) {
        if let Some(answer) = answer {
            self.unconfirmed.push(answer.clone());
            self.send(answer, client, replies);
        }
    }

    /// Sends beside the stream, so that nothing waits for the daemon's response.
    fn send(&self, answer: Answer, client: &Client, replies: &mut PendingReplies) {
        let (client, session) = (client.clone(), self.session.clone());
        replies.spawn(async move { replies::send(&client, &session, answer).await });
    }

    /// The first signal cancels and waits for the end; the second does not wait. Returns whether to exit.
    async fn stop(&mut self, client: &Client, output: &mut Output, replies: &mut PendingReplies) -> bool {
        self.answering.interrupt_prompt(output);
        if self.stop_requests != StopRequests::None {
            self.stop_requests = StopRequests::Leave;
            output.note("· ending the session");
            if let Err(trouble) = self.terminate(client).await {
                output.complain(&format!("the session goes on: {trouble}"));
            }
            return true;
        }
        self.stop_requests = StopRequests::Cancel;
        if self.id.is_none() && self.take_back(client).await {
            output.note("· the message was taken back before its turn began");
            return true;
        }
        output.note("· cancelling; once more ends the session");
        self.cancel(client, replies);
        false
    }

    fn cancel(&self, client: &Client, replies: &mut PendingReplies) {
        let (client, session) = (client.clone(), self.session.clone());
        replies.spawn(async move {
            let cancelled = client.cancel(&session, QueueOnCancel::Keep).await;
            cancelled.map(drop).map_err(|error| format!("the turn was not cancelled: {error}"))
        });
    }

    async fn terminate(&self, client: &Client) -> Result<(), String> {
        match timeout(LEAVE_TIMEOUT, client.terminate(&self.session)).await {
            Ok(done) => done.map_err(|error| error.to_string()),
            Err(_) => Err("the daemon does not answer".to_owned()),
        }
    }

    async fn take_back(&self, client: &Client) -> bool {
        matches!(timeout(LEAVE_TIMEOUT, client.remove_queued(&self.session, &self.message)).await, Ok(Ok(())))
    }
}

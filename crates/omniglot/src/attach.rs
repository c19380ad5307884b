//! `omniglot attach`: a person at a live session, beside all its other clients: sees what is said and done,
//! sends messages, answers requests, cancels.
//!
//! The session goes on when the person leaves.

mod history;
mod person;

use std::collections::HashSet;
use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use futures_util::StreamExt as _;
use omniglot_client::{Client, ClientError, EventStream, SseItem, StreamFrom};
use omniglot_runtime::Backlog;
use omniglot_schema::{
    EventData, MessageId, MessageRequest, QueueOnCancel, SessionDetail, SessionId, SessionStatus,
    UniversalEvent,
};
use uuid::Uuid;

use crate::cli::AttachArgs;
use crate::connect::{ATTEMPTS, Home, explain, is_lost};
use crate::data_dir;
use crate::run::output::{Form, Output};
use crate::run::replies::{self, PendingReplies};
use crate::sessions::find;
use crate::signals::StopSignals;
use history::History;
use person::{HELP, Person, Typed};

pub(crate) async fn attach(args: AttachArgs) -> anyhow::Result<ExitCode> {
    data_dir::must_exist(&args.session.talk.data)?;
    let home = Home::of(&args.session.talk.data)?;
    let mut output = Output::new(Form::of(args.session.talk.json));
    output.show_everybody(true);
    let mut attached = Attached {
        typed: args.session.id,
        output,
        signals: StopSignals::listen()?,
        person: Person::new(),
        session: None,
        from: StreamFrom::Start,
        known: 0,
        history: Some(History::new(args.history)),
        busy: false,
        own: HashSet::new(),
        unsent: false,
    };
    attached.stay(&home).await?;
    Ok(if attached.unsent { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

struct Attached {
    typed: String,
    output: Output,
    signals: StopSignals,
    person: Person,
    session: Option<SessionId>,
    /// The position of the last event.
    from: StreamFrom,
    /// The last event that the session's detail includes: what came before is told by the detail.
    known: u64,
    /// The transcript so far, until all of it is read.
    history: Option<History>,
    /// Whether a turn runs.
    busy: bool,
    /// The messages that were sent from here, which the person has on the screen.
    own: HashSet<MessageId>,
    /// Whether a message could not be sent.
    unsent: bool,
}

/// The reason why the session is not watched any more.
enum Left {
    Done,
    Lost(String),
}

impl Attached {
    /// Stays over as many connections as needed.
    async fn stay(&mut self, home: &Home) -> anyhow::Result<()> {
        let mut attempt = 1;
        let mut connection = home.connect(Backlog::Deliver).await?;
        loop {
            let lost = match self.watch(&connection.client, &mut attempt).await {
                Ok(Left::Lost(reason)) => reason,
                // Other clients may use this daemon, if it is ours.
                Ok(Left::Done) => return connection.leave().await,
                Err(error) => return connection.leave().await.and(Err(error)),
            };
            attempt += 1;
            ensure!(attempt <= ATTEMPTS, "{lost}, and does not come back");
            self.note(&format!("· {lost}; looking for it again"));
            connection = tokio::select! {
                found = home.reconnect(connection, Backlog::Deliver) => found.context(lost)?,
                () = self.signals.next() => return Ok(()),
            };
        }
    }

    async fn watch(&mut self, client: &Client, attempt: &mut usize) -> anyhow::Result<Left> {
        let mut stream = match self.open(client).await.map_err(|error| error.downcast()) {
            Ok(stream) => stream,
            Err(Ok(error)) => return lost(error),
            Err(Err(error)) => return Err(error),
        };
        let mut replies = PendingReplies::new();
        while !self.is_done() {
            if self.history.is_none() {
                self.person.show_prompt(self.busy, &mut self.output);
            }
            let prompting = self.person.is_prompting();
            let reading = self.history.is_none() && self.person.may_type(self.busy || !self.own.is_empty());
            tokio::select! {
                item = stream.next() => match item {
                    Some(Ok(SseItem::Deleted)) => {
                        self.note("· the session was deleted");
                        return Ok(Left::Done);
                    }
                    Some(Ok(item)) => {
                        *attempt = 1;
                        self.item(item);
                    }
                    Some(Err(error)) => return lost(error),
                    None => return Ok(Left::Lost("the daemon is stopping".to_owned())),
                },
                line = self.person.typed(), if reading => {
                    self.output.hush();
                    match self.person.line(line.as_deref(), &mut self.output) {
                        Typed::Message(text) => self.send(client, text).await?,
                        Typed::Answer(answer) => {
                            let (client, session) = (client.clone(), self.id()?.clone());
                            replies.spawn(async move { replies::send(&client, &session, answer).await });
                        }
                        Typed::Cancel => self.cancel(client, &mut replies)?,
                        Typed::Leave => break,
                        Typed::Nothing => {}
                    }
                },
                () = self.signals.next() => match self.busy {
                    true => self.cancel(client, &mut replies)?,
                    false => break,
                },
                Some(done) = replies.join_next() => replies::report(done, &mut self.output),
                () = self.output.silence(), if self.busy && !prompting => self.output.spin(),
            }
        }
        replies::finish(replies, &mut self.output).await;
        self.person.interrupt_prompt(&mut self.output);
        Ok(Left::Done)
    }

    /// Whether a script has said everything, and all of it is answered; or nobody reads any more.
    fn is_done(&self) -> bool {
        self.output.is_closed() || (self.person.is_over() && !self.busy && self.own.is_empty())
    }

    async fn open(&mut self, client: &Client) -> anyhow::Result<EventStream> {
        let detail = match &self.session {
            Some(id) => client.detail(id).await?,
            None => find::session(client, &self.typed).await?,
        };
        let SessionDetail { info, status, pending, .. } = detail;
        if self.session.is_none() {
            self.output.work_in(info.directory.as_deref().unwrap_or_default());
            let place = info.directory.as_deref().unwrap_or("?");
            self.output.note(&format!("{} · session {} · {place} · {HELP}", info.agent, info.session_id));
        }
        self.known = info.event_count;
        self.busy = status != SessionStatus::Idle;
        self.person.pending(pending);
        let id = self.session.insert(info.session_id).clone();
        Ok(client.sse(&id, &self.from, false).await?)
    }

    fn item(&mut self, item: SseItem) {
        let (id, event, json) = match item {
            SseItem::Event { id, event, json } => (id, event, json),
            SseItem::CaughtUp => return self.end_history(),
            SseItem::Deleted => return,
        };
        self.from = StreamFrom::Id(id);
        if event.sequence > self.known {
            self.end_history();
            self.follow(&event);
        } else if let EventData::TurnStarted(data) = &event.data {
            // It began while there was no connection.
            data.metadata.message_id.iter().for_each(|message| _ = self.own.remove(message));
        }
        let text = self.output.render(&event, &json);
        match &mut self.history {
            Some(history) => history.push(&text),
            None if text.is_empty() => {}
            None => {
                self.person.interrupt_prompt(&mut self.output);
                self.output.stdout(&text);
            }
        }
    }

    /// Takes note of an event that the session's detail did not include.
    fn follow(&mut self, event: &UniversalEvent) {
        self.person.event(event);
        match &event.data {
            EventData::TurnStarted(data) => {
                self.busy = true;
                let message = data.metadata.message_id.as_ref();
                // The person has typed it, and so has it on the screen.
                let is_own = message.is_some_and(|message| self.own.remove(message));
                self.output.show_everybody(!is_own);
            }
            EventData::TurnEnded(_) => self.busy = false,
            EventData::SessionEnded(_) => self.own.clear(),
            _ => {}
        }
    }

    fn end_history(&mut self) {
        let Some(history) = self.history.take() else { return };
        let (skipped, text) = history.end();
        if skipped > 0 {
            self.output.note(&format!("· {skipped} lines before; `omniglot sessions tail` shows them"));
        }
        self.output.stdout(&text);
    }

    /// Sends a message; while a turn runs it waits for its end.
    async fn send(&mut self, client: &Client, message: String) -> anyhow::Result<()> {
        let request = MessageRequest::new(message);
        let key = Uuid::new_v4().to_string();
        match client.post(self.id()?, &request, Some(&key)).await {
            Ok(receipt) => _ = self.own.insert(receipt.message_id),
            Err(error) => {
                self.unsent = true;
                self.output.complain(&format!("the message was not sent: {error}"));
            }
        }
        Ok(())
    }

    fn cancel(&mut self, client: &Client, replies: &mut PendingReplies) -> anyhow::Result<()> {
        self.note("· cancelling");
        let (client, session) = (client.clone(), self.id()?.clone());
        replies.spawn(async move {
            let cancelled = client.cancel(&session, QueueOnCancel::Keep).await;
            cancelled.map_err(|error| format!("the turn was not cancelled: {error}"))
        });
        Ok(())
    }

    fn note(&mut self, text: &str) {
        self.person.interrupt_prompt(&mut self.output);
        self.output.note(text);
    }

    fn id(&self) -> anyhow::Result<&SessionId> {
        self.session.as_ref().context("no session is open")
    }
}

fn lost(error: ClientError) -> anyhow::Result<Left> {
    if is_lost(&error) { Ok(Left::Lost(error.to_string())) } else { Err(explain(error)) }
}

//! `omniglot sessions tail`: prints the transcript of a session, as `run` does.
//!
//! Only watches: other clients answer the agent's requests.

use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use futures_util::StreamExt as _;
use omniglot_client::{Client, EventStream, SseItem, StreamFrom};
use omniglot_runtime::Backlog;
use omniglot_schema::SessionId;

use super::find;
use crate::cli::TailArgs;
use crate::connect::{ATTEMPTS, Home, explain, is_lost};
use crate::run::outcome::Outcome;
use crate::run::output::{Form, Output};
use crate::signals::StopSignals;

pub(crate) async fn tail(args: &TailArgs) -> anyhow::Result<ExitCode> {
    let home = Home::of(&args.session.talk.data)?;
    let mut tail = Tail {
        typed: &args.session.id,
        follow: args.follow,
        raw: args.raw,
        output: Output::new(Form::of(args.session.talk.json)),
        signals: StopSignals::listen()?,
        session: None,
        from: StreamFrom::Start,
        last_raw: String::new(),
    };
    tail.output.show_everybody(true);
    let code = tail.watch_to_the_end(&home).await?;
    Ok(ExitCode::from(code))
}

struct Tail<'a> {
    typed: &'a str,
    follow: bool,
    raw: bool,
    output: Output,
    signals: StopSignals,
    session: Option<SessionId>,
    /// The position of the last event.
    from: StreamFrom,
    /// A frame that made several events is printed once.
    last_raw: String,
}

/// The reason why watching stopped.
enum Watched {
    /// Everything was printed, or the person has stopped it.
    Done(u8),
    Lost(String),
}

impl Tail<'_> {
    /// Watches over as many connections as needed.
    async fn watch_to_the_end(&mut self, home: &Home) -> anyhow::Result<u8> {
        let mut attempt = 1;
        let mut connection = home.connect(Backlog::Keep).await?;
        loop {
            let watched = self.watch(&connection.client, &mut attempt).await;
            let lost = match watched {
                Ok(Watched::Lost(reason)) => reason,
                // Other clients may use this daemon, if it is ours.
                Ok(Watched::Done(code)) => return connection.leave().await.map(|()| code),
                Err(error) => return connection.leave().await.and(Err(error)),
            };
            attempt += 1;
            ensure!(attempt <= ATTEMPTS, "{lost}, and does not come back");
            self.output.note(&format!("· {lost}; looking for it again"));
            connection = tokio::select! {
                found = home.reconnect(connection, Backlog::Keep) => found.context(lost)?,
                () = self.signals.next() => return Ok(Outcome::Interrupted.exit_code()),
            };
        }
    }

    async fn watch(&mut self, client: &Client, attempt: &mut usize) -> anyhow::Result<Watched> {
        let mut stream = match self.open(client).await.map_err(|error| error.downcast()) {
            Ok(stream) => stream,
            Err(Ok(error)) if is_lost(&error) => return Ok(Watched::Lost(error.to_string())),
            Err(Ok(error)) => return Err(explain(error)),
            Err(Err(error)) => return Err(error),
        };
        while !self.output.is_closed() {
            let item = tokio::select! {
                item = stream.next() => item,
                () = self.signals.next() => return Ok(Watched::Done(Outcome::Interrupted.exit_code())),
                () = self.output.hung_up() => break,
            };
            match item {
                Some(Ok(SseItem::CaughtUp)) if !self.follow => return Ok(Watched::Done(0)),
                Some(Ok(SseItem::Deleted)) => {
                    self.output.note("· the session was deleted");
                    return Ok(Watched::Done(0));
                }
                Some(Ok(item)) => self.item(item, attempt),
                Some(Err(error)) if is_lost(&error) => return Ok(Watched::Lost(error.to_string())),
                Some(Err(error)) => return Err(explain(error)),
                None => return Ok(Watched::Lost("the daemon is stopping".to_owned())),
            }
        }
        // The reader has closed the pipe.
        Ok(Watched::Done(0))
    }

    async fn open(&mut self, client: &Client) -> anyhow::Result<EventStream> {
        let id = match &self.session {
            Some(id) => id.clone(),
            None => {
                let detail = find::session(client, self.typed).await?;
                self.output.work_in(detail.info.directory.as_deref().unwrap_or_default());
                self.session.insert(detail.info.session_id).clone()
            }
        };
        Ok(client.sse(&id, &self.from, self.raw).await?)
    }

    fn item(&mut self, item: SseItem, attempt: &mut usize) {
        let SseItem::Event { id, event, json } = item else { return };
        *attempt = 1;
        self.from = StreamFrom::Id(id);
        if let Some(raw) = &event.raw
            && self.output.is_readable()
            && self.last_raw != raw.get()
        {
            raw.get().clone_into(&mut self.last_raw);
            self.output.frame(raw.get());
        }
        let text = self.output.render(&event, &json);
        self.output.stdout(&text);
    }
}

//! `omniglot run`: one task for one agent, watched to its end.
//!
//! Uses the REST face like every other client, also when the daemon is in this very process.

pub(crate) mod answer;
mod begin;
pub(crate) mod keyboard;
pub(crate) mod outcome;
pub(crate) mod output;
pub(crate) mod prompt;
pub(crate) mod render;
pub(crate) mod replies;
pub(crate) mod scratch;
mod session;
mod settings;
mod spinner;
mod turn;

use std::io::Read as _;
use std::pin::pin;
use std::process::ExitCode;

use anyhow::Context as _;
use omniglot_client::StreamFrom;
use omniglot_runtime::Backlog;
use omniglot_schema::{Delivered, MessageRequest};
use uuid::Uuid;

use crate::cli::{RunArgs, SendArgs};
use crate::connect::{ATTEMPTS, Connection, Home};
use crate::signals::StopSignals;
use crate::usage::UsageError;
use answer::{Answering, Stdin};
use begin::{Begun, Task};
use outcome::Outcome;
use output::{Form, Output};
pub(crate) use session::directory;
use session::{Opened, Wanted};
use turn::{StopRequests, Turn, Watched};

pub(crate) async fn run(args: RunArgs) -> anyhow::Result<ExitCode> {
    let (text, stdin) = prompt_text(&args.prompt)?;
    let home = Home::of(&args.data)?;
    let wanted = Wanted::new(&args, home.config.default_agent())?;
    let form = Form::of(args.json);
    let mut run = Run::new(home, wanted, text, form)?;
    run.task.message.attachments = settings::attachments(&args.settings)?;
    run.watched(Answering::new(args.approve, form, stdin)).await
}

/// Sends a message to an existing session, watched like a run.
pub(crate) async fn send(args: SendArgs) -> anyhow::Result<ExitCode> {
    let (text, stdin) = prompt_text(&args.text)?;
    let home = Home::of(&args.session.talk.data)?;
    let wanted = Wanted::existing(&args.session.id)?;
    let form = Form::of(args.session.talk.json);
    Run::new(home, wanted, text, form)?.watched(Answering::new(args.approve, form, stdin)).await
}

struct Run {
    task: Task,
    output: Output,
    signals: StopSignals,
}

impl Run {
    fn new(home: Home, wanted: Wanted, text: String, form: Form) -> anyhow::Result<Self> {
        let message = MessageRequest::new(text);
        Ok(Self {
            task: Task { home, wanted, message, key: Uuid::new_v4().to_string() },
            output: Output::new(form),
            signals: StopSignals::listen()?,
        })
    }

    async fn watched(self, answering: Answering) -> anyhow::Result<ExitCode> {
        Ok(ExitCode::from(self.go(answering).await?.exit_code()))
    }

    async fn go(mut self, answering: Answering) -> anyhow::Result<Outcome> {
        let Some(Begun { connection, opened, receipt }) = self.begin().await? else {
            return Ok(Outcome::Interrupted);
        };
        self.announce(&opened);
        let from = if opened.new { StreamFrom::Start } else { StreamFrom::Offset(opened.after) };
        let mut turn = Turn::new(self.task.wanted.id.clone(), receipt.message_id, from, answering);
        // Between the message and its turn a restarted agent may report that it has lost its memory.
        let anew = receipt.delivered == Delivered::Started && self.output.is_readable();
        turn.prelude = opened.new || anew;
        if receipt.delivered == Delivered::Queued {
            let waits = opened.waits.as_deref();
            let waits = waits.unwrap_or("another turn runs in this session; this one waits for its end");
            self.output.note(&format!("· {waits}"));
        }
        let (connection, outcome) = self.watch(connection, &mut turn).await?;
        if let (true, Some(place)) = (opened.scratch, &opened.directory) {
            self.output.note(&format!("the project stays in {place}"));
        }
        let Some(connection) = connection else { return Ok(outcome) };
        if turn.stop_requests() != StopRequests::Leave {
            self.linger(&connection).await?;
        }
        tokio::select! {
            closed = connection.close() => closed?,
            // The guards detect our exit and leave no agent behind.
            () = self.signals.next() => {}
        }
        Ok(outcome)
    }

    /// Connects, opens the session and posts the message; `None` when the person stopped it.
    async fn begin(&mut self) -> anyhow::Result<Option<Begun>> {
        let Self { task, output, signals } = self;
        let mut begun = pin!(task.begin());
        let begun = loop {
            tokio::select! {
                begun = &mut begun => break begun.map(Some),
                () = signals.next() => break Ok(None),
                // An agent may start slowly.
                () = output.silence() => output.spin(),
            }
        };
        output.hush();
        begun
    }

    fn announce(&mut self, opened: &Opened) {
        let place = opened.directory.as_deref().unwrap_or("?");
        self.output.work_in(place);
        let kind = if opened.scratch { "a scratch project in " } else { "" };
        self.output.note(&format!("{} · session {} · {kind}{place}", opened.agent, self.task.wanted.id));
    }

    /// Watches the turn to its end, over as many connections as needed; returns no connection when the person
    /// did not want to wait for the next.
    async fn watch(
        &mut self,
        mut connection: Connection,
        turn: &mut Turn,
    ) -> anyhow::Result<(Option<Connection>, Outcome)> {
        let mut attempt = 1;
        loop {
            let before = turn.seen;
            let lost = match turn.watch(&connection.client, &mut self.output, &mut self.signals).await? {
                Watched::Ended(outcome) => return Ok((Some(connection), outcome)),
                Watched::Lost(reason) => reason,
            };
            attempt = if turn.seen > before { 1 } else { attempt + 1 };
            anyhow::ensure!(attempt <= ATTEMPTS, "{lost}, and does not come back; the turn may still run");
            self.output.note(&format!("· {lost}; looking for it again"));
            connection = tokio::select! {
                found = self.task.home.reconnect(connection, Backlog::Deliver) => found.context(lost)?,
                () = self.signals.next() => return Ok((None, Outcome::Interrupted)),
            };
        }
    }

    /// Waits while other clients use a daemon of our own.
    async fn linger(&mut self, connection: &Connection) -> anyhow::Result<()> {
        if !connection.is_busy() {
            return Ok(());
        }
        self.output.note("· other turns still run here; Ctrl-C stops them");
        tokio::select! {
            () = connection.idle() => Ok(()),
            () = self.signals.next() => Ok(()),
        }
    }
}

pub(crate) fn prompt_text(argument: &str) -> anyhow::Result<(String, Stdin)> {
    let (text, stdin) = if argument == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("the prompt on stdin cannot be read")?;
        (text, Stdin::Consumed)
    } else {
        (argument.to_owned(), Stdin::Free)
    };
    if text.trim().is_empty() {
        return Err(UsageError::new("the prompt is empty; say what to do").into());
    }
    Ok((text, stdin))
}

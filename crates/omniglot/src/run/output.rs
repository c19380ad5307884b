//! The output of a run: readable text or JSON lines on stdout, everything beside them on stderr.

use std::future::pending;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use omniglot_schema::UniversalEvent;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::tcgetwinsize;
use tokio::time::{sleep, sleep_until};

use super::render::{Ink, Paper, Renderer, Style};
use super::spinner::{ROOM, Spinner};

/// The narrowest readable width; a terminal that does not know its width reports 0.
const NARROWEST: usize = 20;

/// The polling interval of a silent stdout.
const LOOKING: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Readable,
    /// Each event as one JSON line, and nothing else on stdout.
    Json,
}

pub(crate) struct Output {
    form: Form,
    style: Style,
    renderer: Renderer,
    /// Only where a person reads the events.
    spinner: Option<Spinner>,
    /// Whether stdout is closed. The turn continues: its work is not lost with its reader.
    closed: bool,
}

impl Form {
    pub(crate) fn of(json: bool) -> Self {
        if json { Self::Json } else { Self::Readable }
    }
}

impl Output {
    pub(crate) fn new(form: Form) -> Self {
        let terminal = people_read(form);
        let style = if terminal { Style::of_terminal() } else { Style::Plain };
        let paper = columns().filter(|_| terminal).map_or(Paper::Endless, Paper::Screen);
        let able = std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        let spins = able && form == Form::Readable && matches!(paper, Paper::Screen(_));
        Self {
            form,
            style,
            renderer: Renderer::new(style, paper),
            spinner: spins.then(|| Spinner::new(Instant::now())),
            closed: false,
        }
    }

    /// Displays the messages of people too: for a transcript, not for a turn that was just requested.
    pub(crate) fn show_everybody(&mut self, everybody: bool) {
        self.renderer.show_everybody(everybody);
    }

    /// Displays paths inside `directory` relative to it.
    pub(crate) fn work_in(&mut self, directory: &str) {
        self.renderer.work_in(directory);
    }

    /// Whether stdout is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Waits until stdout is closed, also while nothing is written. Cancel-safe.
    pub(crate) async fn hung_up(&self) {
        while !has_hung_up() {
            sleep(LOOKING).await;
        }
    }

    /// Whether people read this.
    pub(crate) fn is_readable(&self) -> bool {
        !matches!(self.form, Form::Json)
    }

    /// Returns the text of an event for [`Output::stdout`]; `json` is the received event.
    pub(crate) fn render(&mut self, event: &UniversalEvent, json: &str) -> String {
        self.measure();
        match self.form {
            Form::Readable => self.renderer.event(event),
            Form::Json => format!("{json}\n"),
        }
    }

    /// Updates the width: the window may have changed its size since the last line.
    fn measure(&mut self) {
        if people_read(self.form)
            && let Some(columns) = columns()
        {
            self.renderer.resize(columns);
        }
    }

    /// Waits until the spinner is due. Cancel-safe.
    pub(crate) async fn silence(&self) {
        match &self.spinner {
            Some(spinner) => sleep_until(spinner.next().into()).await,
            None => pending().await,
        }
    }

    /// Shows by the spinner that the run is active although nothing is printed.
    pub(crate) fn spin(&mut self) {
        self.measure();
        let Some(spinner) = &mut self.spinner else { return };
        let now = Instant::now();
        // Held-back text is printed before the spinner, without ending the silence.
        let held = self.renderer.pause(ROOM);
        let mut text = if held.is_empty() { held } else { spinner.erase() + &held };
        let (column, room) = self.renderer.cursor();
        text.push_str(&if room >= ROOM || column == 0 {
            let style = self.style;
            spinner.turn(now, column, |mark| style.paint(Ink::Dim, mark))
        } else {
            spinner.skip(now)
        });
        self.write(&text);
    }

    /// Whether messages for people are printed among the events.
    pub(crate) fn is_shared(&self) -> bool {
        self.form == Form::Readable
    }

    /// Prints a line of our own among those of the agent.
    pub(crate) fn note(&mut self, text: &str) {
        let text = self.renderer.note(text);
        self.people(&text);
    }

    /// Prints a native message in either direction.
    pub(crate) fn frame(&mut self, raw: &str) {
        self.measure();
        let text = self.renderer.frame(raw);
        self.stdout(&text);
    }

    /// Prints text for the person beside the events: on stderr when stdout is for programs.
    pub(crate) fn people(&mut self, text: &str) {
        match self.form {
            Form::Readable => self.stdout(text),
            Form::Json => stderr(text),
        }
    }

    /// Prints the request itself, where the form does not display it to people.
    pub(crate) fn request(&mut self, event: &UniversalEvent) {
        if self.form == Form::Json {
            stderr(&self.renderer.event(event));
        }
    }

    /// Prints an error that the turn survives.
    pub(crate) fn complain(&mut self, text: &str) {
        self.hush();
        stderr(&format!("omniglot: {text}\n"));
    }

    pub(crate) fn stdout(&mut self, text: &str) {
        if !text.is_empty() {
            self.hush();
            self.write(text);
        }
    }

    /// Removes the spinner.
    pub(crate) fn hush(&mut self) {
        if let Some(spinner) = &mut self.spinner {
            let erase = spinner.hush(Instant::now());
            self.write(&erase);
        }
    }

    fn write(&mut self, text: &str) {
        if self.closed || text.is_empty() {
            return;
        }
        let mut stdout = io::stdout().lock();
        if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            tracing::debug!(%error, "nobody reads stdout");
            self.closed = true;
        }
    }
}

/// Whether the other end of stdout is gone.
fn has_hung_up() -> bool {
    let stdout = io::stdout();
    let mut stdout = [PollFd::new(&stdout, PollFlags::empty())];
    let asked = poll(&mut stdout, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    asked.is_ok() && stdout.iter().any(|fd| fd.revents().intersects(PollFlags::ERR | PollFlags::HUP))
}

/// Whether a person reads the messages for people in this form.
pub(crate) fn people_read(form: Form) -> bool {
    match form {
        Form::Readable => io::stdout().is_terminal(),
        Form::Json => io::stderr().is_terminal(),
    }
}

pub(crate) fn stderr(text: &str) {
    if let Err(error) = io::stderr().write_all(text.as_bytes()) {
        tracing::debug!(%error, "nobody reads stderr");
    }
}

/// Whether a person reads stdout.
pub(crate) fn is_terminal() -> bool {
    people_read(Form::Readable)
}

/// Returns the columns of the terminal, if there is one.
pub(crate) fn columns() -> Option<usize> {
    let size = tcgetwinsize(io::stdout()).or_else(|_| tcgetwinsize(io::stderr())).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns >= NARROWEST)
}

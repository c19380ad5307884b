//! `omniglot db`: checks, copies, restores and shrinks the database. The store does the work.

mod copies;

use std::io::{self, IsTerminal as _, StderrLock, StdoutLock, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use omniglot_store::{CheckFault, CheckProgress, CheckSummary};
use serde::Serialize;

use crate::cli::{DbArgs, DbCheckArgs, DbCommand};
use crate::data_dir;
use crate::usage::UsageError;

/// The interval of progress output.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

pub(crate) fn run(args: &DbArgs) -> anyhow::Result<ExitCode> {
    match &args.command {
        DbCommand::Check(args) => check(args),
        DbCommand::Backup(args) => copies::backup(args),
        DbCommand::Restore(args) => copies::restore(args),
        DbCommand::Vacuum(args) => copies::vacuum(args),
    }
}

fn check(args: &DbCheckArgs) -> anyhow::Result<ExitCode> {
    let dir = place_of_database(args.data_dir.as_deref())?;
    let mut printer = Printer::new(args.json);
    let checked = omniglot_store::check(&dir, &mut |news| printer.news(news));
    printer.clear_progress();
    let summary = checked.with_context(|| format!("the database in {} cannot be read", dir.display()))?;
    printer.summary(&dir, &summary)?;
    Ok(if summary.faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the data directory, which must have a database.
fn place_of_database(data_dir: Option<&Path>) -> anyhow::Result<PathBuf> {
    let dir = data_dir::place(data_dir)?;
    if !omniglot_store::private_file(&dir, omniglot_store::DATABASE).exists() {
        let place = dir.display();
        let words = format!("there is no database in {place}; give the right --data-dir DIR");
        return Err(UsageError::new(words).into());
    }
    Ok(dir)
}

/// A line of the JSON output.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line<'a> {
    Fault(&'a CheckFault),
    Summary(&'a CheckSummary),
}

struct Printer {
    json: bool,
    stdout: StdoutLock<'static>,
    /// The first error of printing; the check itself goes on.
    failed: Option<io::Error>,
    /// `None` without a terminal.
    progress: Option<Progress>,
}

struct Progress {
    stderr: StderrLock<'static>,
    next: Instant,
    shown: bool,
}

impl Printer {
    fn new(json: bool) -> Self {
        let stderr = io::stderr();
        let progress = stderr.is_terminal().then(|| Progress {
            stderr: stderr.lock(),
            next: Instant::now() + PROGRESS_EVERY,
            shown: false,
        });
        Self { json, stdout: io::stdout().lock(), failed: None, progress }
    }

    fn news(&mut self, news: CheckProgress<'_>) {
        match news {
            CheckProgress::Fault(fault) => {
                self.clear_progress();
                let line = self.line(&Line::Fault(fault), fault.to_string());
                self.print(line);
            }
            CheckProgress::Progress(rows) => {
                if let Some(progress) = &mut self.progress {
                    progress.show(rows);
                }
            }
        }
    }

    fn summary(mut self, dir: &Path, summary: &CheckSummary) -> anyhow::Result<()> {
        let text = readable(dir, summary);
        let line = self.line(&Line::Summary(summary), text);
        self.print(line);
        self.failed.map_or(Ok(()), |error| Err(error.into()))
    }

    fn line(&self, line: &Line<'_>, text: String) -> io::Result<String> {
        if self.json { Ok(serde_json::to_string(line)?) } else { Ok(text) }
    }

    fn print(&mut self, line: io::Result<String>) {
        let printed = line.and_then(|line| writeln!(self.stdout, "{line}"));
        // The reader has closed the pipe.
        if let Err(error) = printed
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.failed.get_or_insert(error);
        }
    }

    fn clear_progress(&mut self) {
        if let Some(progress) = &mut self.progress {
            progress.clear();
        }
    }
}

impl Progress {
    fn show(&mut self, rows: u64) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + PROGRESS_EVERY;
        self.shown = write!(self.stderr, "\r{rows} rows read").is_ok();
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            // A terminal that is closed needs no clearing.
            write!(self.stderr, "\r\x1b[K").unwrap_or_default();
        }
    }
}

fn readable(dir: &Path, summary: &CheckSummary) -> String {
    let CheckSummary { sessions, events, frames, blobs, queued, receipts, faults } = summary;
    let verdict = match faults {
        0 => "no faults".to_owned(),
        1 => "1 fault".to_owned(),
        many => format!("{many} faults"),
    };
    format!(
        "{verdict} in {}: {sessions} sessions, {events} events, {frames} frames, {blobs} blobs, \
         {queued} queued messages, {receipts} receipts",
        dir.display()
    )
}

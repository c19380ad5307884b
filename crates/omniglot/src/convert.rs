//! `omniglot convert`: converts recorded traffic of an agent, or a session of its own on disk, into universal
//! events, without a daemon.
//!
//! The conversion is the adapters' own replay. This module reads files, names sessions, and prints events.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use omniglot_agents::replay::{self, ReplayError, show};
use omniglot_agents::{Adapter, Registry, acp};
use omniglot_schema::{SessionId, UniversalEvent};

use crate::cli::ConvertArgs;
use crate::usage::UsageError;

pub(crate) fn run(args: &ConvertArgs) -> anyhow::Result<ExitCode> {
    let agent = recorded_agent(&args.from)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut names = HashSet::new();
    for file in &args.files {
        // Sessions that shared a connection are in one file.
        for capture in replay::sessions(&agent, &whole(&agent, file)?).map_err(|error| fault(file, &error))? {
            let id = session_id(file, &mut names)?;
            let events = replay::convert(&agent, id, &capture).map_err(|error| fault(file, &error))?;
            match print(&mut out, &events, args.show) {
                // The reader has closed the pipe.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(ExitCode::SUCCESS),
                printed => printed.context("the events cannot be printed")?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn recorded_agent(name: &str) -> Result<Adapter, UsageError> {
    let registry = Registry::default();
    let any_acp = registry.of_protocol(acp::PROTOCOL).filter(|any| any.id == name);
    registry.get(name).or(any_acp).copied().ok_or_else(|| {
        let known = registry.ids().collect::<Vec<_>>().join(", ");
        let any = acp::PROTOCOL;
        UsageError::new(format!("no agent {name}; use one of: {known}, or {any} for any other ACP agent"))
    })
}

/// A file with those that belong to it: an agent keeps what its subagents say in files of their own.
fn whole(agent: &Adapter, file: &Path) -> Result<String, UsageError> {
    let mut text = read(file)?;
    let history = agent.history.filter(|files| (files.recognises)(&text));
    if let Some(history) = history.filter(|_| !is_stdin(file)) {
        for beside in files_in(&file.with_extension("").join(history.beside)) {
            text.push('\n');
            text.push_str(&read(&beside)?);
        }
    }
    Ok(text)
}

/// Lists files in the order of their names, so that the same folder always gives the same bytes; a missing
/// folder has none.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|e| e == "jsonl")).collect();
    files.sort();
    files
}

fn read(file: &Path) -> Result<String, UsageError> {
    let mut text = String::new();
    let read = match is_stdin(file) {
        true => io::stdin().lock().read_to_string(&mut text).map(|_| text),
        false => fs::read_to_string(file),
    };
    read.map_err(|error| UsageError::new(format!("{}: {error}", file.display())))
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

/// Returns the name of the file without its extension. Equal names in several folders get a number.
fn session_id(file: &Path, names: &mut HashSet<String>) -> anyhow::Result<SessionId> {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let lawful = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '-');
    let name: String = stem.chars().map(|c| if lawful(c) { c } else { '-' }).take(100).collect();
    let name = if is_stdin(file) { "stdin".to_owned() } else { name };
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let Some(name) = std::iter::once(name.clone()).chain(numbered).find(|name| !names.contains(name)) else {
        bail!("too many files are called {name}");
    };
    names.insert(name.clone());
    SessionId::parse(&name).with_context(|| format!("{}: no name for a session", file.display()))
}

fn fault(file: &Path, error: &ReplayError) -> anyhow::Error {
    let causes = anyhow::Chain::new(error).map(ToString::to_string).collect::<Vec<_>>();
    anyhow::anyhow!("{}:{}: {}", file.display(), error.line(), dedup(causes).join(": "))
}

/// Removes repeated messages: a transparent error repeats its cause.
fn dedup(mut causes: Vec<String>) -> Vec<String> {
    causes.dedup();
    causes
}

fn print(out: &mut impl Write, events: &[UniversalEvent], show: bool) -> io::Result<()> {
    if show {
        out.write_all(show::events(events).as_bytes())?;
    } else {
        for event in events {
            serde_json::to_writer(&mut *out, event)?;
            out.write_all(b"\n")?;
        }
    }
    out.flush()
}

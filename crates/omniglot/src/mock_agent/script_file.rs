//! A script of the user's own: `omniglot mock-agent --script FILE` plays it instead of the words.
//!
//! One JSON object per line, read and checked as a whole before the first line plays. This file has the
//! steps and their reading; `check` finds what cannot work, `template` fills in ids, `play` does it.
//! The format is described for users in `docs/MOCK.md`.

mod check;
mod play;
mod template;

use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_client_protocol_schema::v1::RequestId;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;

pub(super) use play::Player;
use template::Template;

#[derive(Debug, thiserror::Error)]
pub(super) enum ScriptError {
    #[error("{path}: {source}; give a file that can be read")]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{path}:{line}: {fault}")]
    Bad { path: PathBuf, line: usize, fault: Fault },
}

/// The fault of a line, and its remedy.
#[derive(Debug, thiserror::Error)]
#[error("{what}; {fix}")]
pub(super) struct Fault {
    what: String,
    fix: String,
}

impl Fault {
    fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }

    /// The line of the error is the line of the file, which is printed before it.
    fn json(error: &serde_json::Error, fix: &str) -> Self {
        Self::new(error.to_string().replace(" at line 1 column ", " at column "), fix)
    }
}

/// A script whose every line was found valid.
#[derive(Debug)]
pub(super) struct ScriptFile {
    lines: Vec<Line>,
    /// Whether the script begins again after the last line.
    repeat: bool,
}

#[derive(Debug)]
struct Line {
    /// The line number, from 1.
    number: usize,
    step: Step,
}

#[derive(Debug)]
enum Step {
    Send(Template),
    Wait(Until),
    Sleep(Duration),
    Write(Vec<u8>),
    Complain(String),
    Edit(Edit),
    Exit(u8),
    Repeat,
}

/// The condition that a script waits for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Until {
    /// A request or notification of the client.
    Method(String),
    /// The client's answer to the request that was sent under this id.
    Answer(RequestId),
}

#[derive(Debug)]
struct Edit {
    path: String,
    text: String,
    how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Append,
    Write,
}

/// A line in its written form.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Written {
    Send(Box<RawValue>),
    Wait(Until),
    SleepMs(u64),
    Exit(u8),
    Raw(String),
    RawBase64(String),
    Stderr(String),
    Edit(WrittenEdit),
    Repeat(bool),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenEdit {
    path: String,
    append: Option<String>,
    write: Option<String>,
}

impl ScriptFile {
    pub(super) fn open(path: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Unreadable { path: path.into(), source })?;
        Self::parse(&text).map_err(|(line, fault)| ScriptError::Bad { path: path.into(), line, fault })
    }

    /// Reads a script; an error has the number of its line.
    pub(super) fn parse(text: &str) -> Result<Self, (usize, Fault)> {
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let step = Step::parse(line).map_err(|fault| (number, fault))?;
            lines.push(Line { number, step });
        }
        check::check(&lines)?;
        let repeat = lines.pop_if(|line| matches!(line.step, Step::Repeat)).is_some();
        Ok(Self { lines, repeat })
    }
}

impl Step {
    fn parse(line: &str) -> Result<Self, Fault> {
        let written = serde_json::from_str(line).map_err(|error| Fault::json(&error, ONE_STEP))?;
        Ok(match written {
            Written::Send(message) => Self::Send(Template::of_message(message.get())?),
            Written::Wait(until) => Self::Wait(until),
            Written::SleepMs(ms) => Self::Sleep(Duration::from_millis(ms)),
            Written::Exit(code) => Self::Exit(code),
            Written::Raw(text) => Self::Write(format!("{text}\n").into_bytes()),
            Written::RawBase64(text) => Self::Write(decode(&text)?),
            Written::Stderr(text) => Self::Complain(text),
            Written::Edit(edit) => Self::Edit(Edit::parse(edit)?),
            Written::Repeat(true) => Self::Repeat,
            Written::Repeat(false) => return Err(Fault::new("repeat is false", "leave the line out")),
        })
    }
}

fn decode(text: &str) -> Result<Vec<u8>, Fault> {
    STANDARD.decode(text).map_err(|error| {
        Fault::new(error.to_string(), "encode the bytes with `base64 -w0`, padding included")
    })
}

impl Edit {
    fn parse(written: WrittenEdit) -> Result<Self, Fault> {
        let (text, how) = match (written.append, written.write) {
            (Some(text), None) => (text, How::Append),
            (None, Some(text)) => (text, How::Write),
            _ => return Err(Fault::new("an edit does one thing", "give either append or write")),
        };
        let inside = Path::new(&written.path)
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir));
        if !inside || written.path.is_empty() {
            let what = format!("{} is not below the session's directory", written.path);
            return Err(Fault::new(what, "give a relative path without .."));
        }
        Ok(Self { path: written.path, text, how })
    }
}

const ONE_STEP: &str = "a line is one JSON object with one key, such as {\"wait\": {\"method\": \"session/prompt\"}}; \
                        see docs/MOCK.md";

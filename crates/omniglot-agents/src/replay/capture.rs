//! The capture format: one JSON object per line with a time, a channel and data.
//!
//! Knows the channels of stdio agents, of HTTP servers and of the recorder's notes, and refuses every other one, so
//! that nothing is skipped unseen.

mod http;

use omniglot_schema::StderrOutput;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::exit::Exit;
use crate::stderr::StderrLog;

/// One line of a recording.
#[derive(Debug)]
pub struct Row {
    /// Counted from 1.
    pub line: usize,
    /// Milliseconds since the recording began.
    pub time: u64,
    pub step: Step,
}

#[derive(Debug)]
pub enum Step {
    Started {
        argv: Vec<String>,
    },
    Sent(Box<RawValue>),
    Frame(Box<RawValue>),
    /// A line on stdout that is not JSON.
    Garbage(String),
    Exited(Ending),
    /// No step of the protocol: stderr, a note of whoever recorded, bytes that no adapter would send.
    Remark,
}

/// The end of a process.
#[derive(Debug)]
pub struct Ending {
    pub exit: Exit,
    /// We had closed the agent's stdin before.
    pub expected: bool,
    pub stderr: StderrOutput,
}

#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("not a row of a recording")]
    Malformed { line: usize, source: serde_json::Error },
    #[error("unknown channel {channel}")]
    UnknownChannel { line: usize, channel: String },
    #[error("unknown process event {event}")]
    UnknownEvent { line: usize, event: String },
}

impl CaptureError {
    /// Where in the recording, counted from 1.
    pub fn line(&self) -> usize {
        match self {
            Self::Malformed { line, .. }
            | Self::UnknownChannel { line, .. }
            | Self::UnknownEvent { line, .. } => *line,
        }
    }
}

/// The input of a program that the agent has started, such as one that is asked for a permission.
const NOTES_OF_A_PROGRAM: &str = "delegate";
const NOTES_OF_THE_DRIVER: &str = "driver";

#[derive(Deserialize)]
struct RawRow<'a> {
    t: u64,
    ch: String,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Deserialize)]
struct Process {
    event: String,
    #[serde(default)]
    argv: Vec<String>,
    #[serde(default)]
    code: Option<Code>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Code {
    /// A negative one is the signal that ended the process.
    Number(i32),
    /// The recorder's words for a process that had to be killed.
    Killed(#[expect(dead_code, reason = "words for a reader of the recording")] String),
}

/// Reads a whole recording.
pub fn read(text: &str) -> Result<Vec<Row>, CaptureError> {
    let mut process = ProcessState::default();
    let mut http = http::Pending::default();
    let mut rows = Vec::new();
    for (index, text) in text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()) {
        let line = index + 1;
        let raw: RawRow<'_> = parse(text, line)?;
        let step = match raw.ch.as_str() {
            "stdin" => text_of(raw.data).map_or_else(|| Step::Sent(raw.data.to_owned()), |_| Step::Remark),
            "stdout" => text_of(raw.data).map_or_else(|| Step::Frame(raw.data.to_owned()), Step::Garbage),
            "stderr" => process.stderr(raw.data),
            "proc" => process.event(parse(raw.data.get(), line)?, line)?,
            "http_req" => http.request(parse(text, line)?, line),
            "http_res" => http.answer(parse(text, line)?),
            "sse" => http::event(parse(text, line)?),
            NOTES_OF_A_PROGRAM | NOTES_OF_THE_DRIVER => Step::Remark,
            _ => return Err(CaptureError::UnknownChannel { line, channel: raw.ch }),
        };
        rows.push(Row { line, time: raw.t, step });
    }
    Ok(rows)
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str, line: usize) -> Result<T, CaptureError> {
    serde_json::from_str(text).map_err(|source| CaptureError::Malformed { line, source })
}

/// Bytes that were not JSON are recorded as a string.
fn text_of(data: &RawValue) -> Option<String> {
    serde_json::from_str(data.get()).ok()
}

/// The facts that the end of a process is reported with.
#[derive(Default)]
struct ProcessState {
    closing: bool,
    stderr: StderrLog,
}

impl ProcessState {
    fn stderr(&mut self, data: &RawValue) -> Step {
        let line = text_of(data).unwrap_or_else(|| data.get().to_owned());
        self.stderr.push(line.as_bytes());
        self.stderr.push(b"\n");
        Step::Remark
    }

    fn event(&mut self, process: Process, line: usize) -> Result<Step, CaptureError> {
        Ok(match process.event.as_str() {
            "spawn" => Step::Started { argv: process.argv },
            "stdin_closed" => {
                self.closing = true;
                Step::Remark
            }
            "signal" | "note" => Step::Remark,
            "exit" => Step::Exited(std::mem::take(self).ending(process.code)),
            _ => return Err(CaptureError::UnknownEvent { line, event: process.event }),
        })
    }

    fn ending(self, code: Option<Code>) -> Ending {
        const KILLED: i32 = -9;
        let code = code.map(|code| match code {
            Code::Number(number) => number,
            Code::Killed(_) => KILLED,
        });
        let exit = Exit {
            code: code.filter(|code| *code >= 0),
            signal: code.filter(|code| *code < 0).map(i32::wrapping_neg),
        };
        Ending { exit, expected: self.closing, stderr: self.stderr.output() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_channel_is_refused_by_its_name() {
        let error = read(r#"{"t":1,"ch":"ws","data":{}}"#).unwrap_err();
        assert_eq!((error.line(), error.to_string().as_str()), (1, "unknown channel ws"));
    }

    #[test]
    fn notes_beside_the_traffic_are_no_steps_of_the_protocol() {
        let rows = read(concat!(
            r#"{"t":1,"ch":"delegate","data":{"argv":[],"stdin":"{}"}}"#,
            "\n",
            r#"{"t":2,"ch":"driver","data":"closes stdin"}"#,
        ));
        assert!(rows.unwrap().iter().all(|row| matches!(row.step, Step::Remark)));
    }

    #[test]
    fn a_kill_is_told_from_an_orderly_end() {
        let rows = read(concat!(
            r#"{"t":1,"ch":"proc","data":{"event":"exit","code":-9}}"#,
            "\n",
            r#"{"t":2,"ch":"proc","data":{"event":"stdin_closed"}}"#,
            "\n",
            r#"{"t":3,"ch":"proc","data":{"event":"exit","code":0,"how":"stdin_eof"}}"#,
        ));
        let steps: Vec<Step> = rows.unwrap().into_iter().map(|row| row.step).collect();
        let [Step::Exited(killed), _, Step::Exited(ended)] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!((killed.exit, killed.expected), (Exit { code: None, signal: Some(9) }, false));
        assert_eq!((ended.exit, ended.expected), (Exit { code: Some(0), signal: None }, true));
    }
}

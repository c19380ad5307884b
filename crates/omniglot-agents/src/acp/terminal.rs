//! The terminals that we run for the agent: what each has said, how it ended, and who waits for that.
//!
//! Answers nothing itself, and knows no tool call: which one shows a terminal is the tool table's.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{TerminalExitStatus, TerminalOutputResponse};

use crate::contract::Output;
use crate::exit::Exit;
use crate::host::{HostAsk, HostKey, HostRequest, TerminalText};
use crate::rpc::RpcId;

#[derive(Debug, Default)]
pub(crate) struct Terminals {
    /// By the name that the agent knows.
    by_name: HashMap<String, Terminal>,
}

#[derive(Debug, Default)]
pub(crate) struct Terminal {
    /// `None` in a recording.
    key: Option<HostKey>,
    /// The agent's limit of the output that it gets.
    limit: Option<usize>,
    said: Tail,
    /// As `said`, for everybody but the agent.
    shown: Tail,
    /// How much of `shown` went out as a preview.
    previewed: u64,
    exit: Option<TerminalExitStatus>,
    pub(crate) waiting: Vec<RpcId>,
    /// The agent is done with it; what it said stays for the transcript.
    pub(crate) released: bool,
}

/// The end of a text that may be endless.
#[derive(Debug, Default)]
struct Tail {
    kept: String,
    /// How long the whole text is.
    length: u64,
}

impl Terminals {
    pub(crate) fn add(&mut self, name: String, terminal: Terminal) {
        self.by_name.insert(name, terminal);
    }

    /// One that the agent may still use.
    pub(crate) fn open(&mut self, name: &str) -> Option<&mut Terminal> {
        self.by_name.get_mut(name).filter(|terminal| !terminal.released)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Terminal> {
        self.by_name.get(name)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Terminal> {
        self.by_name.get_mut(name)
    }

    pub(crate) fn by_key(&mut self, key: HostKey) -> Option<&mut Terminal> {
        self.by_name.values_mut().find(|terminal| terminal.key == Some(key))
    }

    pub(crate) fn name_of(&self, key: HostKey) -> Option<&str> {
        let found = self.by_name.iter().find(|(_, terminal)| terminal.key == Some(key));
        found.map(|(name, _)| name.as_str())
    }

    pub(crate) fn awaited(&mut self) -> impl Iterator<Item = &mut Terminal> {
        self.by_name.values_mut().filter(|terminal| !terminal.waiting.is_empty())
    }

    pub(crate) fn forget_waiting(&mut self, id: &RpcId) -> bool {
        let mut found = false;
        for terminal in self.by_name.values_mut() {
            terminal.waiting.retain(|waiting| waiting != id || std::mem::replace(&mut found, true));
        }
        found
    }

    /// Forgets released terminals, which stay visible to the end of their turn.
    pub(crate) fn turn_ended(&mut self) {
        self.by_name.retain(|_, terminal| !terminal.released);
    }

    pub(crate) fn recorded(&mut self, name: &str, limit: Option<u64>) {
        self.by_name.entry(name.to_owned()).or_insert_with(|| Terminal::new(None, limit));
    }

    /// Takes a terminal's output from a recording; a live terminal knows its own.
    pub(crate) fn recorded_output(&mut self, name: &str, answer: &TerminalOutputResponse) {
        let Some(terminal) = self.by_name.get_mut(name).filter(|terminal| terminal.key.is_none()) else {
            return;
        };
        let new = answer.output.strip_prefix(terminal.shown.kept.as_str()).unwrap_or_default().to_owned();
        terminal.said(&TerminalText { text: new, masked: None });
        terminal.exit = answer.exit_status.clone();
    }
}

impl Terminal {
    pub(crate) fn live(key: HostKey, limit: Option<u64>) -> Self {
        Self::new(Some(key), limit)
    }

    fn new(key: Option<HostKey>, limit: Option<u64>) -> Self {
        let limit = limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        Self { key, limit, ..Self::default() }
    }

    pub(crate) fn said(&mut self, said: &TerminalText) {
        let keep = self.limit.unwrap_or(KEPT).clamp(KEPT, MOST_KEPT);
        self.said.push(&said.text, keep);
        self.shown.push(said.masked.as_ref().unwrap_or(&said.text), KEPT);
    }

    pub(crate) fn ended(&mut self, exit: Exit) {
        let code = exit.code.and_then(|code| u32::try_from(code).ok());
        let signal = exit.signal.map(signal_name);
        self.exit = Some(TerminalExitStatus::new().exit_code(code).signal(signal));
    }

    /// Returns the output for the agent, and whether its beginning is missing.
    pub(crate) fn view(&self) -> (String, bool) {
        let text = self.said.last(self.limit.unwrap_or(KEPT).min(MOST_KEPT));
        (text.to_owned(), (text.len() as u64) < self.said.length)
    }

    /// Returns the output for the transcript.
    pub(crate) fn output(&self) -> &str {
        self.shown.last(KEPT)
    }

    pub(crate) fn exit_status(&self) -> Option<TerminalExitStatus> {
        self.exit.clone()
    }

    pub(crate) fn exit_code(&self) -> Option<i64> {
        self.exit.as_ref()?.exit_code.map(i64::from)
    }

    /// Output that was not told yet. A preview ends somewhere: the completed item is the truth (T7).
    pub(crate) fn preview(&mut self) -> Option<String> {
        let told = std::mem::replace(&mut self.previewed, self.shown.length);
        (told < PREVIEW).then(|| self.shown.after(told)).filter(|news| !news.is_empty()).map(str::to_owned)
    }

    /// The order to end its command, if it runs.
    pub(crate) fn end(&mut self) -> Option<Output> {
        let key = self.key.filter(|_| self.exit.is_none())?;
        Some(Output::host(HostAsk { key, request: HostRequest::EndTerminal }))
    }
}

impl Tail {
    fn push(&mut self, text: &str, keep: usize) {
        self.length += text.len() as u64;
        self.kept.push_str(text);
        // Seldom and by much: each cut moves all that is kept.
        if self.kept.len() > keep.saturating_mul(2) {
            let cut = self.kept.len() - self.last(keep).len();
            self.kept.drain(..cut);
        }
    }

    /// The last bytes, from the beginning of a character on.
    fn last(&self, limit: usize) -> &str {
        let start = self.kept.len().saturating_sub(limit);
        let start = (start..self.kept.len()).find(|at| self.kept.is_char_boundary(*at));
        start.and_then(|start| self.kept.get(start..)).unwrap_or_default()
    }

    fn after(&self, told: u64) -> &str {
        let gone = self.length - self.kept.len() as u64;
        let from = usize::try_from(told.saturating_sub(gone)).unwrap_or(usize::MAX);
        self.kept.get(from..).unwrap_or_default()
    }
}

/// The names of the signals that end commands in practice.
fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

/// How much of a terminal's output is kept, in bytes, unless the agent wants more.
const KEPT: usize = 1024 * 1024;
const MOST_KEPT: usize = 16 * 1024 * 1024;
/// How much of it is told while it comes.
const PREVIEW: u64 = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal(limit: Option<u64>, said: &[&str]) -> Terminal {
        let mut terminal = Terminal::live(HostKey(1), limit);
        for text in said {
            terminal.said(&TerminalText { text: (*text).to_owned(), masked: None });
        }
        terminal
    }

    #[test]
    fn a_limit_cuts_from_the_beginning_and_never_within_a_character() {
        assert_eq!(terminal(None, &["one\n", "two\n"]).view(), ("one\ntwo\n".to_owned(), false));
        assert_eq!(terminal(Some(4), &["one\n", "two\n"]).view(), ("two\n".to_owned(), true));
        assert_eq!(terminal(Some(4), &["aäöü"]).view(), ("öü".to_owned(), true));
        assert_eq!(terminal(Some(3), &["aäöü"]).view(), ("ü".to_owned(), true));
        assert_eq!(terminal(Some(0), &["x"]).view(), (String::new(), true));
        assert_eq!(terminal(Some(0), &[]).view(), (String::new(), false));
    }

    #[test]
    fn an_endless_output_is_kept_within_bounds_and_its_end_is_right() {
        let mut terminal = terminal(None, &[]);
        for number in 0..200_000 {
            let text = format!("line {number} äöü\n");
            terminal.said(&TerminalText { text, masked: None });
        }
        assert!(terminal.said.kept.len() <= 2 * KEPT + 64);
        assert!(terminal.output().ends_with("line 199999 äöü\n"));
        assert!(terminal.view().1);
    }

    #[test]
    fn a_preview_tells_everything_once_and_ends_before_it_is_too_much() {
        let mut terminal = terminal(None, &["one ", "two "]);
        assert_eq!(terminal.preview().as_deref(), Some("one two "));
        assert_eq!(terminal.preview(), None);
        terminal.said(&TerminalText { text: "three".to_owned(), masked: Some("***".to_owned()) });
        assert_eq!(terminal.preview().as_deref(), Some("***"));
        let much = "x".repeat(KEPT + 1);
        terminal.said(&TerminalText { text: much, masked: None });
        assert!(terminal.preview().is_some());
        terminal.said(&TerminalText { text: "more".to_owned(), masked: None });
        assert_eq!(terminal.preview(), None);
    }

    #[test]
    fn a_command_that_has_ended_is_not_ended_again() {
        let mut terminal = terminal(None, &[]);
        assert!(terminal.end().is_some());
        terminal.ended(Exit { code: None, signal: Some(9) });
        assert!(terminal.end().is_none());
        assert_eq!(terminal.exit_status().unwrap().signal.as_deref(), Some("SIGKILL"));
    }
}

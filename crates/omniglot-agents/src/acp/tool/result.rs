//! The output of a call: its previews while it runs, and its result.

use agent_client_protocol_schema::v1::ToolKind;
use omniglot_schema::ContentPart;
use omniglot_timeline::{CallEnd, Outcome, ToolResult};

use super::{Phase, Tool};
use crate::acp::output::{Content, unfenced};
use crate::acp::terminal::{Terminal, Terminals};
use crate::contract::{Draft, Output};

impl Tool {
    /// Output that only grew goes out at once; output that was replaced waits for the end (T7).
    pub(super) fn preview(&mut self, terminals: &mut Terminals, out: &mut Vec<Output>) {
        if self.phase != Phase::Running {
            return;
        }
        if self.terminals(terminals).next().is_some() {
            let news = self.content.terminals.iter().filter_map(|name| terminals.get_mut(name)?.preview());
            return out.extend(news.map(|delta| self.says(delta)));
        }
        let delta = match self.output().strip_prefix(self.streamed.as_str()) {
            Some(delta) if !delta.is_empty() => delta.to_owned(),
            _ => return,
        };
        self.streamed.push_str(&delta);
        out.push(self.says(delta));
    }

    pub(super) fn says(&self, delta: String) -> Output {
        Draft::CallOutput { key: self.call.clone(), delta }.into()
    }

    pub(super) fn finish(&mut self, outcome: Outcome, terminals: &mut Terminals, out: &mut Vec<Output>) {
        self.complete_call(out);
        self.read_terminals(terminals);
        self.phase = Phase::Done;
        let result = self.result(outcome);
        out.push(Draft::CallEnded(CallEnd { key: self.call.clone(), outcome, result }).into());
        // The call may be mentioned again, but its content has been told.
        self.content = Content::default();
        self.terminal = String::new();
        self.streamed = String::new();
    }

    fn result(&mut self, outcome: Outcome) -> ToolResult {
        let mut parts = std::mem::take(&mut self.content.parts);
        if outcome == Outcome::Completed {
            // An edit that failed or was refused did not change the file.
            parts.append(&mut self.content.edits);
            let read = self.about().files_read().filter(|file| !parts.contains(file));
            parts.extend(read.collect::<Vec<_>>());
        }
        if !parts.iter().any(|part| matches!(part, ContentPart::Image { .. })) {
            parts.append(&mut self.raw.images);
        }
        parts.extend(self.raw.json.take().map(|json| ContentPart::Json { json }));
        ToolResult {
            output: self.output().to_owned(),
            stderr: if self.shows_raw() { self.raw.stderr.take() } else { None },
            is_error: Some(outcome == Outcome::Failed),
            exit_code: self.told_exit_code(outcome).or(self.exit_code).or(self.raw.exit_code),
            duration_ms: self.raw.duration_ms,
            parts,
            goes_on: false,
        }
    }

    /// The terminals of ours that this call shows.
    pub(super) fn terminals<'a>(&'a self, terminals: &'a Terminals) -> impl Iterator<Item = &'a Terminal> {
        self.content.terminals.iter().filter_map(|name| terminals.get(name))
    }

    /// Reads the output of the call's commands and the exit of the last one.
    fn read_terminals(&mut self, terminals: &Terminals) {
        let said: String = self.terminals(terminals).map(Terminal::output).collect();
        let exit_code = self.shown.iter().filter_map(|name| terminals.get(name)?.exit_code()).next_back();
        self.terminal.push_str(&said);
        self.exit_code = self.exit_code.or(exit_code);
    }

    /// Whether the output is what `rawOutput` says.
    fn shows_raw(&self) -> bool {
        self.terminal.is_empty() && (!self.content_is_output || self.content.text.is_empty())
    }

    fn output(&self) -> &str {
        if !self.terminal.is_empty() {
            &self.terminal
        } else if self.content_is_output && !self.content.text.is_empty() {
            // Some agents put a fence around what they also give as it is, or cut.
            let fenced = !self.raw.text.is_empty();
            unfenced(&self.content.text).filter(|_| fenced).unwrap_or(&self.content.text)
        } else {
            &self.raw.text
        }
    }

    /// The exit code that a failed command's output begins with.
    fn told_exit_code(&self, outcome: Outcome) -> Option<i64> {
        let failed = outcome == Outcome::Failed && self.kind == ToolKind::Execute;
        self.quirks.exit_code_in(self.output()).filter(|_| failed)
    }
}

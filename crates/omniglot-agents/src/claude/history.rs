//! A transcript that Claude Code keeps on disk, through the functions of the live adapter.
//!
//! Its lines are almost those of the protocol: replies block by block, and what the CLI put in on the user's
//! side. What is missing is the end of a turn; `turn` infers it. The order of the lines is left to `order`,
//! and which lines of the user's side are prompts to `said`.

mod order;
mod said;
mod turn;
mod wire;

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use omniglot_schema::{ContentPart, ItemRole, StatePatch, StatusLabel};
use omniglot_timeline::Body;
use serde_json::value::{RawValue, to_raw_value};

use super::wire::system::{CompactMetadata, TaskLine};
use super::wire::{UserContent, UserPrompt};
use super::{Claude, dropped, prompt};
use crate::contract::{DropReason, LineFault, Output};
use crate::conversation::cost::rounded;
use crate::fault::{garbage, unparsed};
use crate::history::{History, Source, Told};
use order::{Content, Entry};
use said::Said;
use turn::Turn;
use wire::{AssistantLine, AttachmentLine, Line, SystemLine, UserLine};

pub(crate) const HISTORY: History = History { recognises, read, beside: "subagents" };

/// A line of a transcript has a type; a row of a recording has a channel.
fn recognises(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    first.is_some_and(|line| serde_json::from_str::<wire::Tag>(line).is_ok_and(|tag| tag.ch.is_none()))
}

fn read(text: &str) -> Vec<Told> {
    let entries = order::entries(text);
    let mut reader = Reader::default();
    reader.open(&entries);
    for entry in &entries {
        reader.entry(entry);
    }
    reader.close_turn();
    reader.told
}

#[derive(Default)]
struct Reader {
    claude: Claude,
    turn: Turn,
    /// A person gave the title, so that no other counts.
    named: bool,
    /// The last line of the conversation.
    last: Option<(usize, Timestamp)>,
    told: Vec<Told>,
}

impl Reader {
    /// Opens the session from its lines, since nothing stands before them.
    fn open(&mut self, entries: &[Entry<'_>]) {
        let Some(first) = entries.first() else { return };
        let known = |field: fn(&wire::Head) -> &Option<String>| {
            entries.iter().filter_map(Entry::head).find_map(|head| field(head).clone())
        };
        let mut out = Vec::new();
        self.claude.kept(known(|head| &head.session_id), known(|head| &head.version), &mut out);
        self.tell(first, Source::Agent, out);
    }

    fn tell(&mut self, entry: &Entry<'_>, source: Source, outputs: Vec<Output>) {
        self.told.push(Told { line: entry.number, at: entry.at, source, outputs });
    }

    fn entry(&mut self, entry: &Entry<'_>) {
        let mut out = Vec::new();
        match &entry.content {
            Content::Garbage(line) => out.push(garbage(line.as_bytes(), LineFault::NotJson)),
            Content::Superseded => dropped(DropReason::Duplicate, &mut out),
            Content::Line { head, frame } => match Line::parse(&head.kind, frame) {
                Ok(line) => self.line(entry, line, &mut out),
                Err(fault) => out.push(Output::unparsed(fault)),
            },
        }
        self.tell(entry, Source::Agent, out);
    }

    fn line(&mut self, entry: &Entry<'_>, line: Line<'_>, out: &mut Vec<Output>) {
        match line {
            Line::User(line) => self.user(entry, &line, out),
            Line::Assistant(line) => self.assistant(entry, line, out),
            Line::System(line) => self.system(line, out),
            Line::Attachment(line) => self.attachment(line, out),
            Line::Title { title, given } => self.title(title, given, out),
            Line::Cost { total } => {
                let cost_usd = Some(Some(rounded(total)));
                self.claude.state(StatePatch { cost_usd, ..StatePatch::default() }, out);
            }
            // The prompt itself follows.
            Line::Queue => dropped(DropReason::Echo, out),
            Line::ModelRequest | Line::Bookkeeping => dropped(DropReason::Internal, out),
            Line::Progress => dropped(DropReason::Heartbeat, out),
            Line::Unknown { kind } => out.push(Output::unparsed(unparsed(kind, "unknown type of line"))),
        }
    }

    fn user(&mut self, entry: &Entry<'_>, line: &UserLine<'_>, out: &mut Vec<Output>) {
        if entry.thread.is_some() {
            return self.claude.user(line.live(entry), out);
        }
        match said::said(line) {
            Said::Prompt(content) | Said::Command(content) => self.prompt(entry, line, &content, out),
            Said::Results => {
                self.claude.user(line.live(entry), out);
                self.launched(line, out);
                self.turn.works();
            }
            Said::Interruption => {
                self.claude.user(line.live(entry), out);
                self.turn.interrupted();
                self.end_turn(out);
            }
            Said::CommandOutput(words) => {
                self.claude.note(Body::System { parts: vec![text(words)] }, None, out);
                self.turn.answered(None);
            }
            Said::TaskEnded(task) => self.task_ended(*task, out),
            Said::Note => self.claude.user(line.live(entry), out),
            Said::Hidden => return dropped(DropReason::Internal, out),
        }
        self.last = Some((entry.number, entry.at));
    }

    fn prompt(&mut self, entry: &Entry<'_>, line: &UserLine<'_>, content: &RawValue, out: &mut Vec<Output>) {
        self.close_turn();
        let mut sent = Vec::new();
        let prompt = UserPrompt { message: UserContent { content }, uuid: line.uuid.clone() };
        self.claude.prompt_sent(&prompt, &mut sent);
        self.claude.turn_goes_on(&mut sent);
        self.tell(entry, Source::Us, sent);
        match &line.permission_mode {
            Some(mode) => self.claude.mode_is(mode, out),
            None => dropped(DropReason::Internal, out),
        }
    }

    /// Something that ran in the background has ended, and the CLI works on that.
    fn task_ended(&mut self, task: TaskLine, out: &mut Vec<Output>) {
        if self.turn.is_settled() || !self.claude.turns.is_running() {
            self.close_turn();
            self.claude.begin_unasked(out);
            self.claude.turn_goes_on(out);
        }
        self.claude.task_notified(task, out);
        self.turn.works();
    }

    /// A subagent in the background: its words may come in later turns.
    fn launched(&mut self, line: &UserLine<'_>, out: &mut Vec<Output>) {
        if let Some(task) = line.launched() {
            self.claude.task_started(task, out);
        }
    }

    fn assistant(&mut self, entry: &Entry<'_>, line: AssistantLine<'_>, out: &mut Vec<Output>) {
        if entry.thread.is_none() {
            if !self.claude.turns.is_running() {
                self.claude.begin_unasked(out);
            }
            self.last = Some((entry.number, entry.at));
        }
        self.turn.replied(&line, entry.thread.is_none());
        self.claude.assistant(line.live(entry), out);
    }

    fn system(&mut self, line: SystemLine, out: &mut Vec<Output>) {
        match line {
            SystemLine::Compacted(metadata) => self.claude.compacted(&CompactMetadata::from(metadata), out),
            SystemLine::Informational(words) => self.claude.status(StatusLabel::Warning, words, out),
            SystemLine::Bookkeeping => dropped(DropReason::Internal, out),
            SystemLine::Unknown { subtype } => {
                out.push(Output::unparsed(unparsed(format!("system.{subtype}"), "unknown subtype")));
            }
        }
    }

    /// Drops an attachment that the CLI gave to the model, unless it is a message of the user's.
    fn attachment(&mut self, line: AttachmentLine<'_>, out: &mut Vec<Output>) {
        let Some(content) = line.attachment.queued_prompt() else {
            return dropped(DropReason::Internal, out);
        };
        let body = Body::Message { role: ItemRole::User, parts: prompt::content(content) };
        self.claude.note(body, None, out);
    }

    fn title(&mut self, title: Option<String>, given: bool, out: &mut Vec<Output>) {
        if self.named && !given {
            return dropped(DropReason::Superseded, out);
        }
        self.named |= given;
        self.claude.state(StatePatch { title: Some(title), ..StatePatch::default() }, out);
    }

    /// The turn has ended with its last line, whenever that becomes known.
    fn close_turn(&mut self) {
        let Some((line, at)) = self.last.filter(|_| self.claude.turns.is_running()) else { return };
        let mut outputs = Vec::new();
        self.end_turn(&mut outputs);
        self.told.push(Told { line, at, source: Source::Us, outputs });
    }

    fn end_turn(&mut self, out: &mut Vec<Output>) {
        let turn = std::mem::take(&mut self.turn);
        self.claude.result(turn.into_result(), out);
    }
}

fn text(text: String) -> ContentPart {
    ContentPart::Text { text }
}

/// Plain text as the content of a message.
fn plain(text: &str) -> Box<RawValue> {
    to_raw_value(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

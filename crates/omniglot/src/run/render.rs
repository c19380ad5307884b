//! Universal events as text for a person at a terminal.
//!
//! Pure: the same events give the same text. Writing it, and asking the person, is left to others.

mod closing;
mod items;
mod nested;
mod request;
pub(crate) mod style;
#[cfg(test)]
mod tests;
mod tool;
mod waiting;
mod wrap;

use std::collections::HashSet;

use omniglot_schema::{
    AgentUnparsedData, Connection, ContextFill, ErrorData, EventData, ItemId, Listed, Resume,
    SessionEndedData, SessionStartedData, StatePatch, StderrOutput, Todo, TodoStatus, UniversalEvent,
};
use omniglot_timeline::view::{Change, View};
use serde::Deserialize as _;

pub(crate) use closing::tokens;
use nested::Depths;
pub(crate) use request::questions_of;
pub(crate) use style::{Ink, Style};
use style::{clean, one_line};
use waiting::Waiting;
use wrap::{Wrap, wrapped};

/// Where lines end when nobody tells the width.
const WIDTH: usize = 100;

/// Stands before the lines of a thought.
const THOUGHT: &str = "~ ";

/// The kind of terminal or file that the text is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paper {
    /// A terminal with so many columns: prose is broken between words.
    Screen(usize),
    /// A pipe or a file: the agent's words stay as they are.
    Endless,
}

/// Turns the events of one session into text, in order.
pub(crate) struct Renderer {
    style: Style,
    width: usize,
    /// The line that the agent's words are written on.
    wrap: Wrap,
    /// The session's directory; paths inside are shown without it.
    root: String,
    last: Last,
    view: View,
    /// A permission shows the diff before its result does; it is not shown twice.
    shown_diffs: HashSet<(String, String)>,
    todos: Vec<String>,
    context: Option<ContextFill>,
    /// How deep subagents work below others.
    depths: Depths,
    /// The time for which the turn has waited for people.
    waiting: Waiting,
    /// The stderr of an agent that crashed, which the end of its session tells again.
    stderr: Option<StderrOutput>,
    /// Whether the words of people are shown.
    everybody: bool,
    /// Whether the next word of a thought begins a line.
    thought_begins: bool,
}

/// The kind of the last output so far.
#[derive(PartialEq, Eq)]
enum Last {
    Nothing,
    Prose { item: ItemId, voice: Voice },
    Call(ItemId),
    Block,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Voice {
    Says,
    Thinks,
}

impl Renderer {
    pub(crate) fn new(style: Style, paper: Paper) -> Self {
        let columns = match paper {
            Paper::Screen(columns) => Some(columns),
            Paper::Endless => None,
        };
        Self {
            style,
            width: columns.unwrap_or(WIDTH),
            wrap: Wrap::new(columns),
            root: String::new(),
            last: Last::Nothing,
            view: View::default(),
            shown_diffs: HashSet::new(),
            todos: vec![],
            context: None,
            depths: Depths::default(),
            waiting: Waiting::default(),
            stderr: None,
            everybody: false,
            thought_begins: true,
        }
    }

    /// Shows what people said, too.
    pub(crate) fn show_everybody(&mut self, everybody: bool) {
        self.everybody = everybody;
    }

    /// The terminal has this many columns now.
    pub(crate) fn resize(&mut self, columns: usize) {
        if columns != self.width {
            self.width = columns;
            self.wrap.resize(columns);
        }
    }

    /// Shows what is held back because the agent pauses, and ends the line if `room` columns do not fit.
    pub(crate) fn pause(&mut self, room: usize) -> String {
        let held = self.held();
        held + &self.wrap.make_room(room)
    }

    /// Where the cursor stands, and how many columns are left of the line.
    pub(crate) fn cursor(&self) -> (usize, usize) {
        (self.wrap.column(), self.wrap.room())
    }

    /// Shows paths inside `directory` relative to it.
    pub(crate) fn work_in(&mut self, directory: &str) {
        self.root = format!("{}/", directory.trim_end_matches('/'));
    }

    pub(crate) fn event(&mut self, event: &UniversalEvent) -> String {
        // Out of the renderer while its change is rendered, which is all that the text depends on.
        let mut view = std::mem::take(&mut self.view);
        self.waiting.event(event);
        let text = self.change(view.apply(event));
        self.view = view;
        text.unwrap_or_else(|| self.beside_the_turn(&event.data))
    }

    /// Renders a change of the conversation; `None` when the event is about something else.
    fn change(&mut self, change: Change<'_>) -> Option<String> {
        Some(match change {
            Change::TurnEnded { end, .. } => self.turn_ended(end),
            Change::MessageText { message, delta, .. } => self.delta(message, delta),
            Change::MessageEnded(message) => self.message_ended(&message),
            Change::CallReady { call, .. } => self.call_ready(call),
            Change::CallEnded(call) => self.call_ended(&call),
            Change::Happened(item) => self.happened(item),
            // Calls are shown when their arguments are final, and their output when it is whole.
            Change::TurnStarted(_)
            | Change::MessageStarted(_)
            | Change::CallStarted(_)
            | Change::CallInput { .. }
            | Change::CallRunning(_)
            | Change::CallOutput { .. } => String::new(),
            Change::Other => return None,
        })
    }

    fn beside_the_turn(&mut self, data: &EventData) -> String {
        match data {
            EventData::SessionStarted(data) => self.session_started(data),
            EventData::SessionEnded(data) => self.session_ended(data),
            EventData::SessionUpdated(patch) => self.updated(patch),
            EventData::Error(data) => self.error(data),
            EventData::PermissionRequested(data) => self.permission_requested(data),
            EventData::PermissionResolved(data) => self.permission_resolved(data),
            EventData::QuestionRequested(data) => self.question_requested(data),
            EventData::QuestionResolved(data) => self.question_resolved(data),
            EventData::AgentUnparsed(data) => self.unparsed(data),
            EventData::TurnStarted(_)
            | EventData::TurnEnded(_)
            | EventData::ItemStarted(_)
            | EventData::ItemDelta(_)
            | EventData::ItemCompleted(_) => String::new(),
        }
    }

    /// A line of ours between those of the agent.
    pub(crate) fn note(&mut self, text: &str) -> String {
        let text = self.style.paint(Ink::Dim, &self.wrapped(text));
        self.block(&text)
    }

    /// A native message, on one line of the screen.
    pub(crate) fn frame(&mut self, raw: &str) -> String {
        let width = self.wrap.width().unwrap_or(usize::MAX);
        let text = self.style.paint(Ink::Dim, &one_line(&format!("« {raw}"), width));
        self.block(&text)
    }

    /// `text` broken between words on a screen.
    fn wrapped(&self, text: &str) -> String {
        wrapped(text, self.wrap.width())
    }

    fn session_started(&mut self, data: &SessionStartedData) -> String {
        let resume = data.metadata.as_ref().and_then(|m| m.resume);
        match resume {
            Some(Resume::Native | Resume::Load) => self.note("· the session goes on"),
            Some(Resume::None) => self.note("· the session goes on, but the agent has forgotten it"),
            None => String::new(),
        }
    }

    fn session_ended(&mut self, data: &SessionEndedData) -> String {
        let mut text = "! the session ended".to_owned();
        if let Some(message) = &data.message {
            text.push_str(&format!(": {}", clean(message.trim_end())));
        }
        let mut text = self.style.paint(Ink::Yellow, &self.wrapped(&text));
        let shown = self.stderr.take();
        if data.stderr != shown {
            text.push_str(&self.complaints(data.stderr.as_ref()));
        }
        self.block(&text)
    }

    /// The end of what an agent wrote to stderr.
    fn complaints(&self, stderr: Option<&StderrOutput>) -> String {
        let words = stderr.and_then(|stderr| stderr.tail.as_ref().or(stderr.head.as_ref()));
        words.map(|words| format!("\n{}", tool::output(self.style, words, self.width))).unwrap_or_default()
    }

    fn updated(&mut self, patch: &StatePatch) -> String {
        let mut out = String::new();
        match &patch.todos {
            Some(Some(Listed::Inline(todos))) => out.push_str(&self.todos(todos)),
            Some(Some(Listed::Blob(_))) => out.push_str(&self.block("☰ plan: too long to show here")),
            Some(None) | None => {}
        }
        if let Some(context) = &patch.context {
            self.context.clone_from(context);
        }
        if let Some(Some(plan)) = &patch.plan {
            let text = format!("☰ plan\n{}", tool::output(self.style, &plan.text, self.width));
            out.push_str(&self.block(&text));
        }
        if let Some(Some(Connection::Lost | Connection::Stale)) = patch.connection {
            out.push_str(&self.warning("the connection to the agent is lost; reconnecting"));
        }
        out
    }

    /// The whole list when it is new, else one line about how far it is.
    fn todos(&mut self, todos: &[Todo]) -> String {
        let texts: Vec<String> = todos.iter().map(|todo| todo.text.clone()).collect();
        let done = todos.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
        let mut text = format!("☰ plan {done}/{}", todos.len());
        if texts == self.todos {
            if let Some(now) = todos.iter().find(|todo| todo.status == TodoStatus::InProgress) {
                text = one_line(&format!("{text}: {}", now.text.trim()), self.width);
            }
        } else {
            for todo in todos {
                let line = format!("  {} {}", mark(todo.status), todo.text.trim());
                text.push_str(&format!("\n{}", one_line(&line, self.width)));
            }
            self.todos = texts;
        }
        self.block(&text)
    }

    fn error(&mut self, data: &ErrorData) -> String {
        let code = data.code.map(|code| format!(" {}", wire_name(&code))).unwrap_or_default();
        let text = format!("✗ error{code}: {}", clean(data.message.trim_end()));
        let text = self.style.paint(Ink::Red, &self.wrapped(&text));
        // A crash ends the turn before the session, whose end tells the same.
        let stderr = data.details.as_ref().and_then(|details| details.get("stderr"));
        self.stderr = stderr.and_then(|stderr| StderrOutput::deserialize(stderr).ok());
        self.block(&(text + &self.complaints(self.stderr.as_ref())))
    }

    fn unparsed(&mut self, data: &AgentUnparsedData) -> String {
        let text = format!("not understood: {} ({})", data.error, data.location);
        self.warning(&one_line(&text, self.width.saturating_sub(2)))
    }

    pub(crate) fn warning(&mut self, text: &str) -> String {
        self.block(&self.style.paint(Ink::Yellow, &self.wrapped(&format!("! {text}"))))
    }

    /// `text` with paths inside the session's directory made short.
    fn relative(&self, text: &str) -> String {
        if self.root.len() > 1 { text.replace(&self.root, "") } else { text.to_owned() }
    }

    /// Words of the agent, as they come.
    fn prose(&mut self, item: &ItemId, voice: Voice, text: &str) -> String {
        let text = clean(text);
        if text.is_empty() {
            return text;
        }
        let goes_on = matches!(&self.last, Last::Prose { item: current, .. } if current == item);
        let mut out = String::new();
        if !goes_on {
            out.push_str(&self.end_prose());
            out.push_str(if self.last == Last::Nothing { "" } else { "\n" });
        }
        self.thought_begins |= !goes_on;
        self.last = Last::Prose { item: item.clone(), voice };
        let text = if voice == Voice::Thinks { self.marked(&text) } else { text };
        let text = self.wrap.push(&text);
        out.push_str(&self.voiced(voice, &text));
        out
    }

    /// A thought with a mark at each of its lines, so that nobody takes it for the answer.
    fn marked(&mut self, text: &str) -> String {
        let mut out = String::new();
        for line in text.split_inclusive('\n') {
            out.push_str(if self.thought_begins { THOUGHT } else { "" });
            out.push_str(line);
            self.thought_begins = line.ends_with('\n');
        }
        out
    }

    fn voiced(&self, voice: Voice, text: &str) -> String {
        if voice == Voice::Thinks { self.style.paint(Ink::Dim, text) } else { text.to_owned() }
    }

    /// The word of the prose that was not whole yet.
    fn held(&mut self) -> String {
        let Last::Prose { voice, .. } = self.last else { return String::new() };
        let word = self.wrap.flush();
        self.voiced(voice, &word)
    }

    /// Whole lines that are no prose; a blank line keeps the two apart.
    fn block(&mut self, text: &str) -> String {
        let after_prose = matches!(self.last, Last::Prose { .. });
        let mut out = self.end_prose();
        out.push_str(if after_prose { "\n" } else { "" });
        out.push_str(text.trim_end_matches('\n'));
        out.push('\n');
        self.last = Last::Block;
        out
    }

    fn end_prose(&mut self) -> String {
        let mut out = self.held();
        out.push_str(if self.wrap.column() > 0 { "\n" } else { "" });
        self.wrap.restart();
        out
    }
}

fn mark(status: TodoStatus) -> char {
    match status {
        TodoStatus::Pending => '·',
        TodoStatus::InProgress => '▸',
        TodoStatus::Completed => '✓',
    }
}

/// The name that a unit variant has on the wire, so that people and programs read the same word.
pub(crate) fn wire_name(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

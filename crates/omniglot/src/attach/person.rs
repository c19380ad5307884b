//! The person at an attached session: the prompt, the open requests, and the meaning of a typed line.

use omniglot_schema::{EventData, PendingRequest, UniversalEvent};

use crate::run::keyboard::{Keyboard, Source};
use crate::run::output::Output;
use crate::run::prompt::{Answer, Asker, Step};

/// Stands before a message; a transcript marks messages of people with it, too.
const PROMPT: &str = "› ";

pub(super) const HELP: &str = "a line is a message; :cancel stops the turn, :quit leaves";

pub(super) struct Person {
    keyboard: Keyboard,
    /// Whether a person types, so that a prompt is shown.
    by_hand: bool,
    asker: Asker,
    /// Whether the prompt is on the screen.
    prompting: bool,
    /// Whether the input has ended.
    over: bool,
}

/// The meaning of a typed line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Message(String),
    Answer(Answer),
    Cancel,
    Leave,
    Nothing,
}

impl Person {
    pub(super) fn new() -> Self {
        let terminal = Source::terminal();
        let by_hand = matches!(terminal, Some(Source::StdinTerminal));
        let mut keyboard = Keyboard::new(terminal.filter(|_| by_hand).unwrap_or(Source::Pipe));
        keyboard.open();
        Self { keyboard, by_hand, asker: Asker::default(), prompting: false, over: false }
    }

    /// Replaces the open requests by those of the session as it is.
    pub(super) fn pending(&mut self, requests: Vec<PendingRequest>) {
        self.asker = Asker::default();
        requests.into_iter().for_each(|request| self.asker.add(request));
    }

    /// Processes an event that was displayed.
    pub(super) fn event(&mut self, event: &UniversalEvent) {
        match &event.data {
            EventData::PermissionRequested(data) => {
                self.asker.add(PendingRequest::Permission(data.clone()));
            }
            EventData::QuestionRequested(data) => self.asker.add(PendingRequest::Question(data.clone())),
            EventData::PermissionResolved(data) => self.asker.settled(data.permission_id.as_str()),
            EventData::QuestionResolved(data) => self.asker.settled(data.question_id.as_str()),
            _ => {}
        }
    }

    /// Clears the line of a standing prompt before something else is written.
    pub(super) fn interrupt_prompt(&mut self, output: &mut Output) {
        if std::mem::take(&mut self.prompting) {
            output.people("\n");
        }
    }

    /// Prints the prompt below everything else: for an open request, or for a message to an idle session.
    pub(super) fn show_prompt(&mut self, busy: bool, output: &mut Output) {
        if self.prompting || !self.by_hand || self.over {
            return;
        }
        let prompt = match self.asker.prompt() {
            Some(prompt) => {
                self.keyboard.prepare();
                prompt
            }
            None if busy => return,
            None => PROMPT.to_owned(),
        };
        output.people(&prompt);
        self.prompting = true;
    }

    pub(super) fn is_prompting(&self) -> bool {
        self.prompting
    }

    /// Whether the next line is read: a script says the next thing when the last one is answered.
    pub(super) fn may_type(&self, busy: bool) -> bool {
        !self.over && (self.by_hand || !busy || !self.asker.is_empty())
    }

    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Returns the next typed line. Cancel-safe.
    pub(super) async fn typed(&mut self) -> Option<String> {
        self.keyboard.line().await
    }

    /// Interprets a line; `None` is the end of the input, at which a person leaves and a script waits for the
    /// end of its turns.
    pub(super) fn line(&mut self, line: Option<&str>, output: &mut Output) -> Typed {
        let Some(line) = line else {
            self.over = true;
            self.interrupt_prompt(output);
            return if self.by_hand { Typed::Leave } else { Typed::Nothing };
        };
        self.prompting = false;
        match line.trim() {
            "" if self.asker.is_empty() => Typed::Nothing,
            ":cancel" => Typed::Cancel,
            ":quit" | ":q" => Typed::Leave,
            ":help" => {
                output.people(&format!("  {HELP}\n"));
                Typed::Nothing
            }
            line if self.asker.is_empty() => Typed::Message(line.to_owned()),
            line => match self.asker.line(Some(line)) {
                Step::Reply(answer) => Typed::Answer(answer),
                Step::Again(hint) => {
                    output.people(&format!("  {hint}\n"));
                    Typed::Nothing
                }
                Step::Next | Step::Nothing => Typed::Nothing,
            },
        }
    }
}

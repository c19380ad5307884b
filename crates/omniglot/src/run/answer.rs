//! Answers the agent's requests: by a rule, or by the person at the keyboard.
//!
//! Only decides the answer; `turn` sends it.

use omniglot_schema::{
    EventData, PendingRequest, PermissionEventData, PermissionReply, QuestionEventData, UniversalEvent,
};

use super::keyboard::{Keyboard, Source};
use super::output::{Form, Output, people_read, stderr};
use super::prompt::{Answer, Asker, Step};
use crate::cli::Approve;

/// Whether stdin was used up for the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stdin {
    Free,
    Consumed,
}

pub(crate) struct Answering {
    manner: Manner,
    keyboard: Option<Keyboard>,
    asker: Asker,
    /// Whether the prompt is on the screen.
    asking: bool,
    /// Whether the explanation was printed, which happens once.
    explained: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    By(PermissionReply),
    /// No rule was given, and there is no terminal.
    RejectUnasked,
    Ask,
}

impl Answering {
    pub(crate) fn new(approve: Option<Approve>, form: Form, stdin: Stdin) -> Self {
        let terminal = if people_read(form) { Source::terminal() } else { None };
        let manner = match approve {
            Some(Approve::Once) => Manner::By(PermissionReply::Once),
            Some(Approve::Always) => Manner::By(PermissionReply::Always),
            Some(Approve::Reject) => Manner::By(PermissionReply::Reject),
            Some(Approve::Ask) => Manner::Ask,
            None if terminal.is_some() => Manner::Ask,
            None => Manner::RejectUnasked,
        };
        // `ask` without a terminal means that the answers are prepared on stdin.
        let prepared = (approve == Some(Approve::Ask) && stdin == Stdin::Free).then_some(Source::Pipe);
        let keyboard = terminal.or(prepared).map(Keyboard::new);
        Self { manner, keyboard, asker: Asker::default(), asking: false, explained: false }
    }

    /// Processes an event that was displayed; returns an answer that needs no person.
    pub(crate) fn event(&mut self, event: &UniversalEvent, output: &mut Output) -> Option<Answer> {
        match &event.data {
            EventData::PermissionRequested(data) => self.permission(event, data, output),
            EventData::QuestionRequested(data) => self.question(event, data, output),
            EventData::PermissionResolved(data) => {
                self.settled(data.permission_id.as_str(), output);
                None
            }
            EventData::QuestionResolved(data) => {
                self.settled(data.question_id.as_str(), output);
                None
            }
            _ => None,
        }
    }

    /// Clears the line of a standing prompt before something else is written.
    pub(crate) fn interrupt_prompt(&mut self, output: &mut Output) {
        if std::mem::take(&mut self.asking) {
            output.people("\n");
        }
    }

    /// Prints the prompt (again) below everything else.
    pub(crate) fn show_prompt(&mut self, output: &mut Output) {
        if self.asking {
            return;
        }
        if let (Some(prompt), Some(keyboard)) = (self.asker.prompt(), &mut self.keyboard) {
            keyboard.prepare();
            output.people(&prompt);
            self.asking = true;
        }
    }

    pub(crate) fn is_asking(&self) -> bool {
        self.asking
    }

    /// Returns the next typed line. Cancel-safe: waits only for a line.
    pub(crate) async fn typed(&mut self) -> Option<String> {
        match &mut self.keyboard {
            Some(keyboard) => keyboard.line().await,
            None => None,
        }
    }

    /// Processes a typed line; `None` means the end of input.
    pub(crate) fn line(&mut self, line: Option<&str>, output: &mut Output) -> Option<Answer> {
        self.asking = false;
        if line.is_none() {
            output.people("\n");
        }
        match self.asker.line(line) {
            Step::Reply(answer) => Some(answer),
            Step::Again(hint) => {
                output.people(&format!("  {hint}\n"));
                None
            }
            Step::Next | Step::Nothing => None,
        }
    }

    fn permission(
        &mut self,
        event: &UniversalEvent,
        data: &PermissionEventData,
        output: &mut Output,
    ) -> Option<Answer> {
        let reply = match self.manner {
            Manner::By(reply) => reply,
            Manner::Ask if self.keyboard.is_some() => {
                output.request(event);
                self.asker.add(PendingRequest::Permission(data.clone()));
                return None;
            }
            Manner::Ask | Manner::RejectUnasked => {
                self.explain("there is no terminal to ask at, so permissions are rejected; see --approve");
                PermissionReply::Reject
            }
        };
        Some(Answer::Permission { id: data.permission_id.clone(), reply })
    }

    fn question(
        &mut self,
        event: &UniversalEvent,
        data: &QuestionEventData,
        output: &mut Output,
    ) -> Option<Answer> {
        if self.keyboard.is_none() {
            self.explain("there is no terminal to ask at, so questions are not answered");
            return Some(Answer::RejectQuestion { id: data.question_id.clone() });
        }
        output.request(event);
        self.asker.add(PendingRequest::Question(data.clone()));
        None
    }

    fn settled(&mut self, id: &str, output: &mut Output) {
        let before = self.asker.prompt();
        self.asker.settled(id);
        if self.asker.is_empty() || self.asker.prompt() != before {
            self.interrupt_prompt(output);
        }
    }

    fn explain(&mut self, text: &str) {
        if !std::mem::replace(&mut self.explained, true) {
            stderr(&format!("omniglot: {text}\n"));
        }
    }
}

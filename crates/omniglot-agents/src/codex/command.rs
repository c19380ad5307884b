//! Commands of the runtime as messages to the server.
//!
//! Remembers nothing that the wire will tell: turns are learnt when a message was really sent.

use super::open::unavailable;
use super::wire::{ForThread, Interrupt, ReviewTarget, StartReview, StartTurn, Steer, Terminate, UserInput};
use super::{Codex, input};
use crate::contract::{Command, Mark, Orphans, Output, Prompt};

impl Codex {
    pub(crate) fn command(&mut self, command: &Command, out: &mut Vec<Output>) {
        match command {
            Command::Open(open) => self.open(open, out),
            Command::Configure(requested) => self.configure(requested, out),
            Command::Prompt(prompt) if prompt.text.trim() == "/new" => self.refuse_prompt(prompt, NEW, out),
            Command::Prompt(prompt) => out.push(self.prompt(prompt)),
            Command::Rename { title } => out.extend(self.rename(title).map(|(_, output)| output)),
            Command::Cancel => self.cancel(out),
            Command::Close => self.close(out),
            Command::ReplyPermission { .. } | Command::ReplyQuestion { .. } | Command::Withdraw { .. } => {
                self.reply(command, out);
            }
        }
    }

    /// A prompt during a turn steers it; one of our commands is a method of its own.
    pub(crate) fn prompt(&mut self, prompt: &Prompt) -> Output {
        let Some(thread) = self.thread.id.clone() else {
            return Output::refused(unavailable("a prompt came before the thread was open".to_owned(), None));
        };
        let client_user_message_id = prompt.message_id.as_ref().map(|id| id.0.clone());
        let command = slash_command(&prompt.text);
        let renaming = match command {
            Some(("rename", title)) => self.rename(title),
            Some(_) | None => None,
        };
        if let Some(turn) = self.turns.steerable().filter(|_| renaming.is_none()) {
            let input = input::to_wire(prompt, &self.thread.cwd);
            let expected_turn_id = turn.to_owned();
            let params = Steer { thread_id: thread, expected_turn_id, client_user_message_id, input };
            let (id, output) = self.calls.request("turn/steer", &params);
            self.turns.commanded.insert(id, prompt.clone());
            return output;
        }
        let (id, output) = match (renaming, command) {
            (Some(renaming), _) => renaming,
            (None, Some(("compact", _))) => {
                self.calls.request("thread/compact/start", &ForThread { thread_id: &thread })
            }
            (None, Some(("review", rest))) => {
                let target = match rest {
                    "" => ReviewTarget::UncommittedChanges,
                    rest => ReviewTarget::Custom { instructions: rest.to_owned() },
                };
                self.calls.request("review/start", &StartReview { thread_id: thread, target })
            }
            (None, Some(_) | None) => {
                let input = input::to_wire(prompt, &self.thread.cwd);
                let params = StartTurn { thread_id: thread, client_user_message_id, input };
                self.calls.request("turn/start", &params)
            }
        };
        self.turns.commanded.insert(id, prompt.clone());
        output
    }

    /// A refusal has no room for words: they are said to the turn, and before it goes on.
    pub(crate) fn say(&mut self, words: &str) -> Option<Output> {
        let (thread_id, turn) = (self.thread.id.clone()?, self.turns.steerable()?.to_owned());
        let input = vec![UserInput::Text { text: words.to_owned() }];
        let params = Steer { thread_id, expected_turn_id: turn, client_user_message_id: None, input };
        Some(self.calls.request("turn/steer", &params).1)
    }

    /// Codex refuses to interrupt a turn that it has not announced; then the interrupt waits for that.
    pub(crate) fn cancel(&mut self, out: &mut Vec<Output>) {
        let Some(thread) = self.thread.id.clone().filter(|_| self.turns.is_running()) else { return };
        match self.turns.interruptible() {
            Some(_) if self.turns.is_interrupted() => {}
            Some(turn) => self.interrupt(&thread, &turn, out),
            None => self.turns.interrupt_when_announced(),
        }
    }

    /// Commands first: Codex leaves them running, and tells how they ended only while their turn lasts.
    pub(crate) fn interrupt(&mut self, thread: &str, turn: &str, out: &mut Vec<Output>) {
        self.end_commands(out);
        for (thread, turn) in self.agents.working() {
            let params = Interrupt { thread_id: &thread, turn_id: &turn };
            out.push(self.calls.request("turn/interrupt", &params).1);
        }
        out.push(self.calls.request("turn/interrupt", &Interrupt { thread_id: thread, turn_id: turn }).1);
    }

    fn end_commands(&mut self, out: &mut Vec<Output>) {
        let mut commands = self.tools.running_commands(self.turns.begun);
        commands.dedup_by(|a, b| a.1.is_none() && a == b);
        for (thread, process) in commands {
            self.end_command(&thread, process.as_deref(), out);
        }
    }

    /// A command that waited for permission has no number that we know; then all of its thread are ended.
    pub(crate) fn end_command(&mut self, thread: &str, process: Option<&str>, out: &mut Vec<Output>) {
        let (_, output) = match process {
            Some(process_id) => {
                let params = Terminate { thread_id: thread, process_id };
                self.calls.request("thread/backgroundTerminals/terminate", &params)
            }
            None => self.calls.request("thread/backgroundTerminals/clean", &ForThread { thread_id: thread }),
        };
        out.push(output);
    }

    /// A command that is just being started when its turn is interrupted may run on unknown to Codex. It has
    /// its thread and the id of its item in its environment. Those that have detached themselves go on until the
    /// session leaves.
    pub(crate) fn orphans(&self, spared: Vec<String>, detached: bool) -> Option<Output> {
        let own = self.thread.id.clone()?;
        let values = std::iter::once(own).chain(self.agents.threads()).collect();
        let of = Mark { name: "CODEX_THREAD_ID", values };
        let spared = Mark { name: "CODEX_TOOL_CALL_ID", values: spared };
        Some(Output::orphans(Orphans { of, spared, detached }))
    }

    /// Nothing of a session that leaves goes on, and its thread may be unloaded.
    fn close(&mut self, out: &mut Vec<Output>) {
        let Some(thread) = self.thread.id.clone() else { return out.push(Output::closed()) };
        if let Some(turn) = self.turns.interruptible() {
            self.interrupt(&thread, &turn, out);
        }
        let params = ForThread { thread_id: &thread };
        out.push(self.calls.request("thread/backgroundTerminals/clean", &params).1);
        out.push(self.calls.request("thread/unsubscribe", &params).1);
    }
}

/// The answer to `/new`: a session is one thread of Codex, and the model has no use for the command.
const NEW: &str = "/new is not possible here: create another session for a new conversation";

/// `/name rest`, where the name is one that we list.
fn slash_command(text: &str) -> Option<(&str, &str)> {
    let command = text.trim().strip_prefix('/')?;
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    matches!(name, "compact" | "review" | "rename").then_some((name, rest.trim()))
}

//! Commands of the runtime as messages to the server.
//!
//! Remembers nothing that the wire will tell: turns are learnt when a message was really sent.

use serde::Serialize;

use super::open::unavailable;
use super::wire::{
    ForThread, Interrupt, ReviewTarget, RpcId, StartReview, StartTurn, Steer, Terminate, request,
};
use super::{Codex, input, send};
use crate::contract::{Command, Output, Prompt};

impl Codex {
    pub(crate) fn command(&mut self, command: &Command, out: &mut Vec<Output>) {
        match command {
            Command::Open(open) => self.open(open, out),
            Command::Configure(wish) => self.configure(wish, out),
            Command::Prompt(prompt) => out.push(self.prompt(prompt)),
            Command::Cancel => self.cancel(out),
            Command::Close => self.close(out),
            Command::ReplyPermission { key, reply, message } => {
                out.extend(self.requests.reply(key, *reply, message.clone()));
            }
            Command::ReplyQuestion { key, answers } => {
                out.extend(self.requests.answer(key, answers.as_deref()));
            }
            Command::Withdraw { key } => out.extend(self.requests.withdraw(key)),
        }
    }

    /// A prompt during a turn steers it; one of our commands is a method of its own.
    pub(crate) fn prompt(&mut self, prompt: &Prompt) -> Output {
        let Some(thread) = self.thread.id.clone() else {
            return Output::Refused(unavailable("a prompt came before the thread was open".to_owned(), None));
        };
        if let Some(turn) = self.turns.steerable() {
            let input = input::to_wire(prompt, &self.thread.cwd);
            let params = Steer { thread_id: thread, expected_turn_id: turn.to_owned(), input };
            let (id, output) = self.request("turn/steer", &params);
            self.turns.steering.insert(id, prompt.clone());
            return output;
        }
        let (id, output) = match slash_command(&prompt.text) {
            Some(("compact", _)) => self.request("thread/compact/start", &ForThread { thread_id: &thread }),
            Some(("review", rest)) => {
                let target = match rest {
                    "" => ReviewTarget::UncommittedChanges,
                    rest => ReviewTarget::Custom { instructions: rest.to_owned() },
                };
                self.request("review/start", &StartReview { thread_id: thread, target })
            }
            Some(_) | None => {
                let input = input::to_wire(prompt, &self.thread.cwd);
                self.request("turn/start", &StartTurn { thread_id: thread, input })
            }
        };
        if let Some(message_id) = prompt.message_id.clone() {
            self.turns.commanded.insert(id, message_id);
        }
        output
    }

    /// Codex refuses to interrupt a turn that it has not announced; then the interrupt waits for that.
    fn cancel(&mut self, out: &mut Vec<Output>) {
        let Some(thread) = self.thread.id.clone().filter(|_| self.turns.is_running()) else { return };
        match self.turns.interruptible() {
            Some(turn) => self.interrupt(&thread, &turn, out),
            None => self.turns.interrupt_when_announced(),
        }
    }

    /// Commands first: Codex leaves them running, and tells how they ended only while their turn lasts.
    pub(crate) fn interrupt(&mut self, thread: &str, turn: &str, out: &mut Vec<Output>) {
        self.end_commands(out);
        for (thread, turn) in self.agents.working() {
            let params = Interrupt { thread_id: &thread, turn_id: &turn };
            out.push(self.request("turn/interrupt", &params).1);
        }
        out.push(self.request("turn/interrupt", &Interrupt { thread_id: thread, turn_id: turn }).1);
    }

    /// A command that waited for permission has no number that we know; then all of its thread are ended.
    fn end_commands(&mut self, out: &mut Vec<Output>) {
        let mut cleaned: Vec<String> = Vec::new();
        for (thread, process) in self.tools.running_commands(self.turns.begun) {
            match process {
                Some(process) => {
                    let params = Terminate { thread_id: &thread, process_id: &process };
                    out.push(self.request("thread/backgroundTerminals/terminate", &params).1);
                }
                None if cleaned.contains(&thread) => {}
                None => {
                    let params = ForThread { thread_id: &thread };
                    out.push(self.request("thread/backgroundTerminals/clean", &params).1);
                    cleaned.push(thread);
                }
            }
        }
    }

    /// Nothing of a session that leaves goes on, and its thread may be unloaded.
    fn close(&mut self, out: &mut Vec<Output>) {
        let Some(thread) = self.thread.id.clone() else { return out.push(Output::Closed) };
        if let Some(turn) = self.turns.interruptible() {
            self.interrupt(&thread, &turn, out);
        }
        let params = ForThread { thread_id: &thread };
        out.push(self.request("thread/backgroundTerminals/clean", &params).1);
        out.push(self.request("thread/unsubscribe", &params).1);
    }

    pub(crate) fn request<T: Serialize>(&mut self, method: &str, params: &T) -> (RpcId, Output) {
        let id = self.ids.next();
        let output = send(request(&id, method, params));
        (id, output)
    }
}

/// `/name rest`, where the name is one that we list.
fn slash_command(text: &str) -> Option<(&str, &str)> {
    let command = text.trim().strip_prefix('/')?;
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    matches!(name, "compact" | "review").then_some((name, rest.trim()))
}

//! Commands of the runtime as messages to the CLI.
//!
//! Builds and remembers nothing that the wire will tell: turns begin when a prompt was really sent.

use super::settings::wanted_mode;
use super::wire::Request;
use super::wire::control::control_request;
use super::{Claude, prompt};
use crate::contract::{Command, Open, Output, Prompt, Refusal, RefusalKind};

impl Claude {
    pub(crate) fn command(&mut self, command: &Command, out: &mut Vec<Output>) {
        match command {
            Command::Open(open) => self.open(open, out),
            Command::Configure(requested) => self.configure(requested, out),
            Command::Prompt(prompt) => self.prompt(prompt, out),
            Command::Cancel => self.cancel(out),
            Command::ReplyPermission { .. } | Command::ReplyQuestion { .. } | Command::Withdraw { .. } => {
                self.reply(command, out);
            }
            // The transcript is on disk with every line: there is nothing to say before the process ends.
            Command::Rename { .. } => {}
            Command::Close => out.push(Output::closed()),
        }
    }

    fn open(&mut self, open: &Open, out: &mut Vec<Output>) {
        if open.resume.is_none()
            && let Err(refusal) = wanted_mode(&open.requested, None)
        {
            return out.push(Output::refused(refusal));
        }
        self.session.open = Some(open.clone());
        self.ask_cli(&Request::Initialize { forward_subagent_text: true }, out);
    }

    fn prompt(&mut self, prompt: &Prompt, out: &mut Vec<Output>) {
        if self.session.is_opening() {
            let message = "a prompt came before the session was open".to_owned();
            return out.push(Output::refused(Refusal {
                kind: RefusalKind::Unavailable,
                message,
                hint: None,
            }));
        }
        let line = prompt::line(prompt);
        if line.is_ok() {
            self.turns.commanded.push_back(prompt.message_id.clone());
        }
        Self::send(line, out);
    }

    fn cancel(&mut self, out: &mut Vec<Output>) {
        if self.turns.is_running() {
            self.ask_cli(&Request::Interrupt, out);
        }
    }

    fn ask_cli(&mut self, request: &Request, out: &mut Vec<Output>) {
        let id = self.next_id();
        Self::send(control_request(&id, request), out);
    }

    pub(crate) fn next_id(&mut self) -> String {
        format!("omniglot-{}", self.calls.next_id())
    }
}

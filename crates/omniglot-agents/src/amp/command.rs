//! Commands of the runtime as messages to Amp.

use super::Amp;
use super::outgoing::Sent;
use crate::contract::{Command, Output, Prompt, Refusal, RefusalKind};

impl Amp {
    pub(crate) fn command(&mut self, command: &Command, out: &mut Vec<Output>) {
        match command {
            Command::Open(open) => self.open(open, out),
            Command::Configure(_) => out.push(Output::configured(Err(only_at_start()))),
            Command::Prompt(prompt) => self.prompt(prompt, out),
            Command::Cancel => self.cancel(out),
            Command::ReplyPermission { .. } | Command::ReplyQuestion { .. } | Command::Withdraw { .. } => {
                self.reply(command, out);
            }
            // The title of a thread is given once, when it is made.
            Command::Rename { .. } => {}
            // The thread is on Amp's server: there is nothing to say before the process ends.
            Command::Close => out.push(Output::closed()),
        }
    }

    /// The prompt is all that a process gets: with the end of its stdin it ends the turn by a `result`.
    fn prompt(&mut self, prompt: &Prompt, out: &mut Vec<Output>) {
        self.turns.commanded.push_back(prompt.message_id.clone());
        match Sent::line(prompt) {
            Ok(line) => out.extend([Output::send(line), Output::close_stdin()]),
            Err(fault) => out.push(Output::unparsed(fault)),
        }
    }

    fn cancel(&mut self, out: &mut Vec<Output>) {
        self.turns.cancelled();
        out.push(Output::interrupt());
    }
}

/// The runtime gives new settings to the next process.
fn only_at_start() -> Refusal {
    let message = "Amp takes settings only when it is started".to_owned();
    Refusal { kind: RefusalKind::Unavailable, message, hint: None }
}

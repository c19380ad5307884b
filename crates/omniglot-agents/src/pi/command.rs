//! Commands of the runtime as messages to Pi.
//!
//! Builds and remembers nothing that the wire will tell: turns begin when a prompt was really sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::outgoing::{Image, Outgoing};
use super::{COMPACT, Pi};
use crate::contract::{Attachment, Command, FileContent, Output, Prompt, Refusal, RefusalKind};

impl Pi {
    pub(crate) fn command(&mut self, command: &Command, out: &mut Vec<Output>) {
        match command {
            Command::Open(open) => self.open(open, out),
            Command::Configure(requested) => self.configure(requested, out),
            Command::Prompt(prompt) => self.prompt(prompt, out),
            Command::Cancel => self.cancel(out),
            Command::ReplyPermission { .. } | Command::ReplyQuestion { .. } | Command::Withdraw { .. } => {
                self.reply(command, out);
            }
            Command::Rename { title } => {
                drop(self.send(Outgoing::SetSessionName { name: title.clone() }, out))
            }
            // The session is on disk with every message: there is nothing to say before the process ends.
            Command::Close => out.push(Output::closed()),
        }
    }

    fn prompt(&mut self, prompt: &Prompt, out: &mut Vec<Output>) {
        if self.session.is_opening() {
            let message = "a prompt came before the session was open".to_owned();
            let refusal = Refusal { kind: RefusalKind::Unavailable, message, hint: None };
            return out.push(Output::refused(refusal));
        }
        self.turns.commanded.push_back(prompt.message_id.clone());
        let compact =
            prompt.text.strip_prefix(COMPACT).filter(|rest| rest.is_empty() || rest.starts_with(' '));
        let body = match compact {
            Some(rest) if prompt.attachments.is_empty() => {
                let instructions = Some(rest.trim()).filter(|rest| !rest.is_empty()).map(str::to_owned);
                Outgoing::Compact { custom_instructions: instructions }
            }
            _ => prompt_with_files(prompt),
        };
        self.send(body, out);
    }

    /// Dialogs that are still open would keep Pi from stopping; the runtime has withdrawn them before.
    fn cancel(&mut self, out: &mut Vec<Output>) {
        if !self.turns.is_running() {
            return;
        }
        if self.turns.clears_queue() {
            self.send(Outgoing::ClearQueue, out);
        }
        self.send(Outgoing::AbortRetry, out);
        self.send(Outgoing::Abort, out);
    }
}

/// Pictures go along whole, and so do texts; of all else the agent gets the path. Pi itself decides whether the
/// message begins a turn or steers the running one.
fn prompt_with_files(prompt: &Prompt) -> Outgoing {
    let mut message = prompt.text.clone();
    let mut images = Vec::new();
    for Attachment { file, content } in &prompt.attachments {
        let path = &file.path;
        match content {
            FileContent::Image { mime, bytes } => images.push(Image {
                r#type: "image".to_owned(),
                data: STANDARD.encode(bytes),
                mime_type: mime.clone(),
            }),
            FileContent::Text(text) => {
                message.push_str(&format!("\n\n<file name=\"{path}\">\n{text}\n</file>"));
            }
            FileContent::Unread => message.push_str(&format!("\n\n<file name=\"{path}\"/>")),
        }
    }
    Outgoing::Prompt { message, images, streaming_behavior: Some("steer".to_owned()) }
}

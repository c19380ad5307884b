//! Commands of the runtime as requests to the server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::{COMPACT, OpenCode, json};
use omniglot_schema::uri;

use crate::contract::{Attachment, Command, FileContent, Output, Prompt};
use crate::http::Method;

impl OpenCode {
    pub(crate) fn command(&mut self, command: &Command, out: &mut Vec<Output>) {
        match command {
            Command::Open(open) => self.open(open, out),
            Command::Configure(requested) => self.configure(requested.clone(), out),
            Command::Prompt(prompt) => self.prompt(prompt, out),
            Command::Cancel => {
                self.ask_session(Method::Post, "/abort", None, out);
            }
            Command::ReplyPermission { .. } | Command::ReplyQuestion { .. } | Command::Withdraw { .. } => {
                self.reply(command, out);
            }
            // The session stays on the server for as long as the server likes.
            Command::Rename { .. } => {}
            Command::Close => out.push(Output::closed()),
        }
    }

    fn prompt(&mut self, prompt: &Prompt, out: &mut Vec<Output>) {
        let id = if prompt.text.trim() == COMPACT {
            self.compact(out)
        } else if let Some((command, arguments)) = self.slash_command(&prompt.text) {
            let mut body = self.with_settings();
            if let Some(model) = &self.requested.model {
                body.insert("model".to_owned(), json!(model));
            }
            body.insert("command".to_owned(), json!(command));
            body.insert("arguments".to_owned(), json!(arguments));
            self.ask_session(Method::Post, "/command", json(&Value::Object(body)), out)
        } else {
            let mut body = self.with_settings();
            body.extend(model_of(self.requested.model.as_deref()).map(|model| ("model".to_owned(), model)));
            body.insert("parts".to_owned(), parts(prompt));
            self.ask_session(Method::Post, "/prompt_async", json(&Value::Object(body)), out)
        };
        if let (Some(id), Some(message_id)) = (id, &prompt.message_id) {
            self.commanded.insert(id, message_id.clone());
        }
    }

    /// A variant is forgotten after each prompt and an agent may have changed: both go with every one.
    fn with_settings(&self) -> Map<String, Value> {
        let agent = self.requested.agent_mode.as_ref().map(|agent| ("agent".to_owned(), json!(agent)));
        let variant = self.requested.variant.as_ref().map(|variant| ("variant".to_owned(), json!(variant)));
        agent.into_iter().chain(variant).collect()
    }

    fn compact(&mut self, out: &mut Vec<Output>) -> Option<String> {
        let model = self.requested.model.as_deref().or(self.settings.default_model());
        let body = json(&model_of(model).unwrap_or_default());
        self.ask_session(Method::Post, "/summarize", body, out)
    }

    fn slash_command<'a>(&self, text: &'a str) -> Option<(&'a str, &'a str)> {
        let line = text.trim().strip_prefix('/')?;
        let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let known = self.settings.commands.iter().any(|command| command.name == name);
        known.then(|| (name, arguments.trim()))
    }
}

/// `provider/model` as OpenCode has it; a model may have slashes of its own.
fn model_of(model: Option<&str>) -> Option<Value> {
    let (provider, model) = model?.split_once('/')?;
    Some(json!({"providerID": provider, "modelID": model}))
}

fn parts(prompt: &Prompt) -> Value {
    let text = json!({"type": "text", "text": prompt.text});
    std::iter::once(text).chain(prompt.attachments.iter().map(file)).collect()
}

fn file(attachment: &Attachment) -> Value {
    let path = &attachment.file.path;
    let name = path.rsplit('/').next().unwrap_or(path);
    match &attachment.content {
        FileContent::Image { mime, bytes } => {
            let url = format!("data:{mime};base64,{}", STANDARD.encode(bytes));
            json!({"type": "file", "mime": mime, "url": url, "filename": name})
        }
        FileContent::Text(_) | FileContent::Unread => {
            let mime = attachment.file.mime.as_deref().unwrap_or("text/plain");
            json!({"type": "file", "mime": mime, "url": uri::of_path(path), "filename": name})
        }
    }
}

#[cfg(test)]
mod tests {
    use omniglot_schema::{ContentPart, MessageAttachment};

    use super::*;
    use crate::opencode::part::file_part;

    #[test]
    fn a_path_with_special_characters_survives_the_url() {
        let named = MessageAttachment { path: "/w/a b#1?.txt".into(), mime: None, filename: None };
        let sent = file(&Attachment { file: named, content: FileContent::Unread });
        assert_eq!(sent["url"], "file:///w/a%20b%231%3F.txt");
        let file = serde_json::from_value(sent).unwrap();
        let ContentPart::FileRef { path, .. } = file_part(&file) else { panic!("a file") };
        assert_eq!(path, "/w/a b#1?.txt");
    }
}

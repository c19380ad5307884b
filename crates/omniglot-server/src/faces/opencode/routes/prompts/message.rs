//! Converts a prompt of OpenCode into our message: its text, its files, and the client's ids for them.

use std::path::Path;

use omniglot_runtime::{DataUrl, Hub};
use omniglot_schema::{MessageAttachment, MessageRequest, SessionId, uri};

use crate::faces::opencode::routes::bodies::{FileInput, PartInput};
use crate::faces::opencode::routes::refusal::Refusal;

/// OpenCode lets a person attach folders; agents find those by themselves.
const FOLDER: &str = "application/x-directory";

/// The content of a prompt.
#[derive(Debug, Default)]
struct Content {
    texts: Vec<String>,
    text_id: Option<String>,
    files: Vec<FileInput>,
}

/// Makes the message, under the id `message_id`. Inline files of the request are stored for the session.
pub(crate) async fn message(
    hub: &Hub,
    session: &SessionId,
    message_id: String,
    parts: Vec<PartInput>,
) -> Result<MessageRequest, Refusal> {
    let Content { texts, text_id, files } = content(parts)?;
    let mut client_ids = vec![message_id, text_id.unwrap_or_default()];
    let mut attachments = vec![];
    for file in files {
        let id = file.id.clone().unwrap_or_default();
        if let Some(attachment) = attachment(hub, session, file).await? {
            attachments.push(attachment);
            client_ids.push(id);
        }
    }
    Ok(MessageRequest {
        message: texts.join("\n\n"),
        attachments,
        delivery: None,
        client_ids,
        metadata: None,
    })
}

fn content(parts: Vec<PartInput>) -> Result<Content, Refusal> {
    let mut content = Content::default();
    for part in parts {
        match part {
            PartInput::Text { id, text } => {
                content.texts.push(text);
                content.text_id = content.text_id.or(id);
            }
            PartInput::File(file) => content.files.push(file),
            PartInput::Agent {} => {}
            PartInput::Subtask {} => {
                return Err(Refusal::invalid("subtasks are the agent's own business here; ask it for one"));
            }
        }
    }
    Ok(content)
}

async fn attachment(
    hub: &Hub,
    session: &SessionId,
    file: FileInput,
) -> Result<Option<MessageAttachment>, Refusal> {
    let FileInput { mime, filename, url, .. } = file;
    // The selected lines are after a `?`; the agent gets the whole file.
    let path = if let Some(path) = uri::to_path(&url) {
        path
    } else if url.starts_with("data:") {
        let inline = DataUrl::parse(&url);
        let bytes = inline.ok_or_else(|| Refusal::invalid("a file's data: URL cannot be read"))?.bytes;
        hub.keep_attachment(session, filename.as_deref().unwrap_or("attachment"), bytes).await?
    } else {
        return Err(Refusal::invalid("files come as file:// or data: URLs"));
    };
    if mime == FOLDER || Path::new(&path).is_dir() {
        return Ok(None);
    }
    Ok(Some(MessageAttachment { path, mime: Some(mime), filename }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_one_message_and_the_first_keeps_its_name() {
        let text =
            |id: Option<&str>, text: &str| PartInput::Text { id: id.map(Into::into), text: text.into() };
        let content = content(vec![text(None, "a"), text(Some("prt_1"), "b"), PartInput::Agent {}]).unwrap();
        assert_eq!((content.texts.join("|"), content.text_id.as_deref()), ("a|b".into(), Some("prt_1")));
    }
}

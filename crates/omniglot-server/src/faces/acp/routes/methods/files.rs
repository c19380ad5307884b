//! Writes inline content of a prompt to files, so that a message can name it.

use std::path::Path;

use omniglot_runtime::{Hub, RuntimeError};
use omniglot_schema::{MessageAttachment, MessageRequest, SessionId};

use crate::faces::acp::wire::requests::{InlineFile, Message};

pub(super) async fn keep(
    hub: &Hub,
    session: &SessionId,
    message: Message,
) -> Result<MessageRequest, RuntimeError> {
    let Message { mut request, inline } = message;
    // The text names the target of a link; only a file can be attached.
    let mut files = vec![];
    for attachment in request.attachments {
        if tokio::fs::metadata(&attachment.path).await.is_ok_and(|found| found.is_file()) {
            files.push(attachment);
        }
    }
    for InlineFile { name, mime, bytes } in inline {
        let path =
            hub.keep_attachment(session, &with_extension(&name, mime.as_deref()), bytes.into()).await?;
        files.push(MessageAttachment { path, mime, filename: Some(name) });
    }
    request.attachments = files;
    Ok(request)
}

/// Agents recognise the type of a file by its name: a name without an extension gets one from the type.
fn with_extension(name: &str, mime: Option<&str>) -> String {
    let typed = mime.and_then(|mime| mime.split(['/', '+', ';']).nth(1));
    match typed {
        Some(typed) if Path::new(name).extension().is_none() => format!("{name}.{typed}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_name_and_a_picture_gets_an_extension() {
        assert_eq!(with_extension("a.PNG", Some("image/jpeg")), "a.PNG");
        assert_eq!(with_extension("image", Some("image/jpeg")), "image.jpeg");
        assert_eq!(with_extension("image", Some("image/svg+xml")), "image.svg");
        assert_eq!(with_extension("image", None), "image");
    }
}

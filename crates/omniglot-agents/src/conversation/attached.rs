//! Attachments inside a prompt: texts and paths are named by a tag, so that a sent prompt can be read back.

use crate::contract::{Attachment, FileContent};

/// The pictures that models take.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const OPEN: &str = "<attached-file path=\"";
const CLOSE: &str = "</attached-file>";

/// An attachment as a prompt carries it.
pub(crate) enum Attached<'a> {
    Picture {
        mime: &'a str,
        bytes: &'a [u8],
    },
    /// The text of the file, or its path alone where it is neither a text nor a picture that models take.
    Tag(String),
}

pub(crate) fn attached(attachment: &Attachment) -> Attached<'_> {
    let path = &attachment.file.path;
    match &attachment.content {
        FileContent::Image { mime, bytes } if PICTURES.contains(&mime.as_str()) => {
            Attached::Picture { mime, bytes }
        }
        FileContent::Text(text) => Attached::Tag(format!("{OPEN}{path}\">\n{text}\n{CLOSE}")),
        FileContent::Image { .. } | FileContent::Unread => Attached::Tag(format!("{OPEN}{path}\"/>")),
    }
}

/// Returns the path of the file that a text of a sent prompt stands for.
pub(crate) fn file_in(text: &str) -> Option<String> {
    let (path, rest) = text.strip_prefix(OPEN)?.split_once('"')?;
    (rest == "/>" || (rest.starts_with('>') && rest.ends_with(CLOSE))).then(|| path.to_owned())
}

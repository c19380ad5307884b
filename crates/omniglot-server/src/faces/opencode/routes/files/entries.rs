//! Lists a directory, and reads a file.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use omniglot_runtime::confined::{Entry, OpenError, Root};
use serde::Serialize;

use super::find::Kind;
use super::walk::rules_of;

/// The longest file that is answered as a whole.
const LONGEST_FILE: u64 = 16 << 20;

/// A file or folder of a listed directory.
#[derive(Debug, Serialize)]
pub(crate) struct Node {
    name: String,
    /// Below the directory of the request.
    path: String,
    absolute: String,
    #[serde(rename = "type")]
    kind: Kind,
    /// Whether the rules of the project ignore it.
    ignored: bool,
}

impl Node {
    /// Makes a folder, whatever there is on the disk.
    pub(super) fn folder(root: &Path, inner: &Path) -> Self {
        Self {
            name: inner.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            path: inner.to_string_lossy().into_owned(),
            absolute: root.join(inner).to_string_lossy().into_owned(),
            kind: Kind::Directory,
            ignored: false,
        }
    }
}

/// Lists a directory, folders first. Links are left out: they may lead anywhere.
pub(super) fn list(root: &Root, path: &Path) -> Result<Vec<Node>, OpenError> {
    let path = path.strip_prefix(root.path()).unwrap_or(path);
    let folder: PathBuf = path.components().filter(|part| part.as_os_str() != ".").collect();
    let rules = rules_of(root, Path::new(""));
    let mut entries = root.list(&folder)?;
    entries.retain(|entry| entry.name != ".git");
    entries.sort_by(|one, other| (!one.is_dir, &one.name).cmp(&(!other.is_dir, &other.name)));
    let node = |entry: Entry| {
        let inner = folder.join(&entry.name);
        let rules = rules.as_ref();
        Node {
            name: entry.name.to_string_lossy().into_owned(),
            absolute: root.path().join(&inner).to_string_lossy().into_owned(),
            kind: if entry.is_dir { Kind::Directory } else { Kind::File },
            ignored: rules
                .is_some_and(|rules| rules.matched_path_or_any_parents(&inner, entry.is_dir).is_ignore()),
            path: inner.to_string_lossy().into_owned(),
        }
    };
    Ok(entries.into_iter().map(node).collect())
}

/// The content of a file, as OpenCode tells it.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Content {
    Text {
        content: String,
    },
    Binary {
        content: String,
        encoding: &'static str,
        #[serde(rename = "mimeType")]
        mime_type: &'static str,
    },
}

impl Default for Content {
    fn default() -> Self {
        Self::Text { content: String::new() }
    }
}

/// Reads a file. As in OpenCode, one that is not there is empty.
pub(super) fn content(root: &Root, path: &Path) -> Result<Content, OpenError> {
    let file = match root.read(path) {
        Ok(file) => file,
        Err(OpenError::NotFound(_)) => return Ok(Content::default()),
        Err(error) => return Err(error),
    };
    let mut bytes = vec![];
    let failed = |source| OpenError::Io { path: path.to_owned(), source };
    file.take(LONGEST_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LONGEST_FILE {
        return Err(failed(std::io::Error::other(format!("is longer than {} MiB", LONGEST_FILE >> 20))));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(content) if !content.contains('\0') => Content::Text { content },
        Ok(content) => binary(path, content.as_bytes()),
        Err(error) => binary(path, error.as_bytes()),
    })
}

fn binary(path: &Path, bytes: &[u8]) -> Content {
    let mime_type = match path.extension().and_then(|extension| extension.to_str()) {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("pdf") => "application/pdf",
        _ => "application/octet-stream",
    };
    Content::Binary { content: STANDARD.encode(bytes), encoding: "base64", mime_type }
}

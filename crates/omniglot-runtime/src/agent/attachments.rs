//! Reading the files that come with a message, before the session hears of it.
//!
//! Adapters are pure, so they get the content; in which form an agent takes it is theirs to decide. A file
//! that is too long, or neither text nor a picture, stays a path.

use std::io::Read as _;
use std::path::Path;

use omniglot_agents::{Attachment, FileContent};
use omniglot_schema::MessageAttachment;

use crate::confined::{Private, open_file};

const MAX_TEXT: u64 = 1024 * 1024;
const MAX_IMAGE: u64 = 10 * 1024 * 1024;
/// Of all files of one message: it waits in memory, and goes to the agent as one line.
const MAX_MESSAGE: usize = 32 * 1024 * 1024;

/// Reads what can be given to an agent as it is. What cannot be read is left to the agent, by its path.
pub(crate) async fn load(files: Vec<MessageAttachment>, private: Private) -> Vec<Attachment> {
    if files.is_empty() {
        return vec![];
    }
    let unread = files.clone();
    let loaded = tokio::task::spawn_blocking(move || load_all(files, &private)).await;
    loaded.unwrap_or_else(|_| unread.into_iter().map(Attachment::from).collect())
}

fn load_all(files: Vec<MessageAttachment>, private: &Private) -> Vec<Attachment> {
    let mut room = MAX_MESSAGE;
    let load = |file: MessageAttachment| {
        let content = content_of(&file, private).filter(|content| content.len() <= room);
        room -= content.as_ref().map_or(0, FileContent::len);
        Attachment { content: content.unwrap_or(FileContent::Unread), file }
    };
    files.into_iter().map(load).collect()
}

fn content_of(file: &MessageAttachment, private: &Private) -> Option<FileContent> {
    let path = Path::new(&file.path);
    match image_type(file.mime.as_deref(), path) {
        Some(mime) => Some(FileContent::Image { mime, bytes: read(path, MAX_IMAGE, private)? }),
        None => {
            let text = String::from_utf8(read(path, MAX_TEXT, private)?).ok()?;
            (!text.contains('\0')).then_some(FileContent::Text(text))
        }
    }
}

/// `None` when the file may not or cannot be read or is longer.
fn read(path: &Path, longest: u64, private: &Private) -> Option<Vec<u8>> {
    let file = open_file(path, private).ok()?;
    if file.metadata().ok()?.len() > longest {
        return None;
    }
    let mut bytes = vec![];
    // It may grow while it is read.
    file.take(longest + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= longest).then_some(bytes)
}

/// Returns the image type from the client, else from the name. A drawing in SVG is text to every model.
fn image_type(mime: Option<&str>, path: &Path) -> Option<String> {
    match mime {
        Some("image/svg+xml") => None,
        Some(mime) => mime.starts_with("image/").then(|| mime.to_owned()),
        None => {
            let extension = path.extension()?.to_str()?.to_ascii_lowercase();
            let kind = match extension.as_str() {
                "png" | "gif" | "webp" | "bmp" | "avif" | "heic" => extension.as_str(),
                "jpg" | "jpeg" => "jpeg",
                _ => return None,
            };
            Some(format!("image/{kind}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn loaded(name: &str, mime: Option<&str>, bytes: &[u8]) -> FileContent {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let path = path.to_str().unwrap().to_owned();
        let file = MessageAttachment { path, mime: mime.map(str::to_owned), filename: None };
        load(vec![file], Private::of(dir.path())).await.remove(0).content
    }

    #[tokio::test]
    async fn pictures_are_known_by_type_or_name_and_the_rest_is_text_or_a_path() {
        let image = |mime: &str| FileContent::Image { mime: mime.into(), bytes: b"x".into() };
        assert_eq!(loaded("a.JPG", None, b"x").await, image("image/jpeg"));
        assert_eq!(loaded("a", Some("image/png"), b"x").await, image("image/png"));
        assert_eq!(loaded("a.svg", None, b"x").await, FileContent::Text("x".into()));
        assert_eq!(loaded("a.png", Some("text/plain"), b"x").await, FileContent::Text("x".into()));
        assert_eq!(loaded("a.pdf", None, b"%PDF\xff").await, FileContent::Unread);
        assert_eq!(loaded("a.bin", None, b"a\0b").await, FileContent::Unread);
    }

    #[tokio::test]
    async fn a_long_file_stays_a_path() {
        let long = "x".repeat(1024 * 1024 + 1);
        assert_eq!(loaded("a.txt", None, long.as_bytes()).await, FileContent::Unread);
        assert!(matches!(loaded("a.png", None, long.as_bytes()).await, FileContent::Image { .. }));
        let missing = MessageAttachment { path: "/no/such/file".into(), mime: None, filename: None };
        assert_eq!(
            load(vec![missing], Private::of(Path::new("/none"))).await[0].content,
            FileContent::Unread
        );
    }

    #[tokio::test]
    async fn private_files_and_pipes_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("private")).unwrap();
        std::fs::write(dir.path().join("private/token"), "secret").unwrap();
        std::os::unix::fs::symlink("private/token", dir.path().join("link")).unwrap();
        let (cwd, mode) = (rustix::fs::CWD, rustix::fs::Mode::from_raw_mode(0o600));
        rustix::fs::mknodat(cwd, dir.path().join("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        for name in ["private/token", "link", "pipe"] {
            let path = dir.path().join(name).to_str().unwrap().to_owned();
            let file = MessageAttachment { path, mime: None, filename: None };
            let loaded = load(vec![file], Private::of(dir.path())).await;
            assert_eq!(loaded[0].content, FileContent::Unread, "{name}");
        }
    }
}

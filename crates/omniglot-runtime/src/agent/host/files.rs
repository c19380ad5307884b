//! Reading and writing text files for an agent; blocking, so it runs on threads of its own.
//!
//! Where a path may lead is the business of `confined`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use omniglot_agents::{HostError, HostErrorKind, ReadFile};

use crate::confined::{OpenError, Root};

/// The text of a file, or the lines of it that are wanted.
pub(super) fn read(root: Result<Root, OpenError>, wanted: &ReadFile) -> Result<String, HostError> {
    let file = root.and_then(|root| root.read(&wanted.path)).map_err(told)?;
    let failed = |error: io::Error| {
        HostError::new(HostErrorKind::Failed, format!("{}: {error}", wanted.path.display()))
    };
    let Some(bytes) = lines(file, wanted).map_err(failed)? else {
        let (line, path) = (wanted.line.unwrap_or(1), wanted.path.display());
        let message = format!("line {line} of {path} is not within its first {MOST_SKIPPED} bytes");
        return Err(HostError::new(HostErrorKind::Refused, message));
    };
    if bytes.len() > MOST_BYTES {
        let path = wanted.path.display();
        let message = format!("more than {MOST_BYTES} bytes of {path}; ask for less with line and limit");
        return Err(HostError::new(HostErrorKind::Refused, message));
    }
    String::from_utf8(bytes).map_err(|_| {
        let message = format!("{} is not a text file: it is not UTF-8", wanted.path.display());
        HostError::new(HostErrorKind::Refused, message)
    })
}

/// Returns at most one byte more than may be answered; `None` when the first line is too far away. Nobody can stop a
/// read, and a file of many terabytes costs nothing to make.
fn lines(file: File, wanted: &ReadFile) -> io::Result<Option<Vec<u8>>> {
    let mut file = BufReader::new(file).take(MOST_SKIPPED);
    for _ in 1..wanted.line.unwrap_or(1) {
        if file.skip_until(b'\n')? == 0 {
            break;
        }
    }
    if file.limit() == 0 {
        return Ok(None);
    }
    let mut file = file.into_inner().take(MOST_BYTES as u64 + 1);
    let mut bytes = Vec::new();
    match wanted.limit {
        None => drop(file.read_to_end(&mut bytes)?),
        Some(limit) => {
            for _ in 0..limit {
                if file.read_until(b'\n', &mut bytes)? == 0 {
                    break;
                }
            }
        }
    }
    Ok(Some(bytes))
}

/// Replaces the text of a file, which is made if it is not there.
pub(super) fn write(root: Result<Root, OpenError>, path: &Path, content: &str) -> Result<(), HostError> {
    let mut file = root.and_then(|root| root.write(path)).map_err(told)?;
    let written = file.set_len(0).and_then(|()| file.write_all(content.as_bytes()));
    written.map_err(|error| HostError::new(HostErrorKind::Failed, format!("{}: {error}", path.display())))
}

fn told(error: OpenError) -> HostError {
    let kind = match &error {
        OpenError::NotFound(_) => HostErrorKind::NotFound,
        OpenError::Outside { .. } | OpenError::Private(_) | OpenError::NotAFile(_) => HostErrorKind::Refused,
        OpenError::NotADirectory(_) | OpenError::Exists(_) | OpenError::NotEmpty(_) => HostErrorKind::Failed,
        OpenError::Io { source, .. } => {
            return HostError::new(HostErrorKind::Failed, format!("{error}: {source}"));
        }
    };
    HostError::new(kind, error.to_string())
}

/// The most that one answer carries.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// So far into a file a line may begin.
const MOST_SKIPPED: u64 = 256 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confined::Private;

    fn root(path: &Path) -> Result<Root, OpenError> {
        Root::open(path, Private::of(&path.join("data")))
    }

    const TEXT: &str = "one\ntwo\nthree\nfour";

    fn read_lines(line: Option<u32>, limit: Option<u32>) -> String {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), TEXT).unwrap();
        read(root(dir.path()), &ReadFile { path: "a".into(), line, limit }).unwrap()
    }

    #[test]
    fn lines_are_counted_from_one_and_keep_their_ends() {
        assert_eq!(read_lines(None, None), TEXT);
        assert_eq!(read_lines(Some(1), None), TEXT);
        assert_eq!(read_lines(Some(0), None), TEXT);
        assert_eq!(read_lines(Some(3), None), "three\nfour");
        assert_eq!(read_lines(Some(2), Some(2)), "two\nthree\n");
        assert_eq!(read_lines(None, Some(1)), "one\n");
        assert_eq!(read_lines(Some(4), Some(9)), "four");
        assert_eq!(read_lines(Some(9), Some(9)), "");
        assert_eq!(read_lines(None, Some(0)), "");
    }

    #[test]
    fn what_cannot_be_answered_is_refused_with_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("binary"), [0xff, 0xfe]).unwrap();
        std::fs::write(dir.path().join("huge"), vec![b'\n'; MOST_BYTES + 1]).unwrap();
        let read =
            |path: &str, limit| read(root(dir.path()), &ReadFile { path: path.into(), line: None, limit });
        assert_eq!(read("binary", None).unwrap_err().message, "binary is not a text file: it is not UTF-8");
        assert_eq!(
            read("huge", None).unwrap_err().message,
            "more than 16777216 bytes of huge; ask for less with line and limit"
        );
        assert_eq!(read("none", None).unwrap_err().message, "none does not exist");
        assert_eq!(read("huge", Some(3)).unwrap(), "\n\n\n");
    }

    #[test]
    fn a_line_that_is_too_far_away_is_not_looked_for() {
        let dir = tempfile::tempdir().unwrap();
        File::create(dir.path().join("sparse")).unwrap().set_len(4 << 40).unwrap();
        let wanted = ReadFile { path: "sparse".into(), line: Some(2), limit: Some(1) };
        assert_eq!(
            read(root(dir.path()), &wanted).unwrap_err().message,
            "line 2 of sparse is not within its first 268435456 bytes"
        );
    }

    #[test]
    fn private_files_of_the_daemon_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("data/private")).unwrap();
        std::fs::write(dir.path().join("data/private/token"), "secret").unwrap();
        std::os::unix::fs::symlink("data/private", dir.path().join("link")).unwrap();
        for path in ["data/private/token", "link/token"] {
            let wanted = ReadFile { path: path.into(), ..ReadFile::default() };
            let message = format!("{path} is a private file of the daemon");
            let refused = HostError::new(HostErrorKind::Refused, message);
            assert_eq!(read(root(dir.path()), &wanted).unwrap_err(), refused);
            assert_eq!(write(root(dir.path()), Path::new(path), "mine").unwrap_err(), refused);
        }
    }

    #[test]
    fn writing_replaces_all_of_a_file() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "a long text").unwrap();
        write(root(dir.path()), Path::new("a"), "short").unwrap();
        assert_eq!(std::fs::read_to_string(dir.path().join("a")).unwrap(), "short");
    }
}

//! Removes the empty transcripts that an agent leaves beside the one that it has loaded.
//!
//! Which they are the adapter says. A transcript is removed only when it has no answer and another one of the same
//! session has some, so that nothing that was said is lost.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use omniglot_agents::launch::EmptyTranscripts;

/// An empty transcript has a few lines; a longer file is not looked at.
const LONGEST: u64 = 64 * 1024;

/// Removes what the load of `session` has left below the agent's home.
pub(super) fn remove(empty_transcripts: &EmptyTranscripts, home: &Path, session: &str) {
    let projects = fs::read_dir(home.join(empty_transcripts.projects)).into_iter().flatten().flatten();
    for project in projects {
        let transcripts =
            transcripts(empty_transcripts, &project.path().join(empty_transcripts.folder), session);
        let (kept, empty): (Vec<_>, Vec<_>) = transcripts
            .into_iter()
            .partition(|path| !is_empty(empty_transcripts, path, session).unwrap_or(false));
        for path in empty.into_iter().filter(|_| !kept.is_empty()) {
            match fs::remove_file(&path) {
                Ok(()) => tracing::debug!(path = %path.display(), "removed an empty transcript"),
                Err(error) => tracing::warn!(%error, path = %path.display(), "an empty transcript"),
            }
        }
    }
}

fn transcripts(empty_transcripts: &EmptyTranscripts, folder: &Path, session: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_file = |file: &fs::DirEntry| file.file_type().is_ok_and(|kind| kind.is_file());
    let is_named = |file: &fs::DirEntry| {
        file.file_name().to_str().is_some_and(|name| empty_transcripts.is_named_after(name, session))
    };
    files.filter(|file| is_file(file) && is_named(file)).map(|file| file.path()).collect()
}

/// Whether the file is a transcript of that very session without an answer.
fn is_empty(empty_transcripts: &EmptyTranscripts, path: &Path, session: &str) -> io::Result<bool> {
    if fs::metadata(path)?.len() > LONGEST {
        return Ok(false);
    }
    let text = fs::read_to_string(path)?;
    Ok(text.contains(session) && !text.contains(empty_transcripts.answer))
}

#[cfg(test)]
mod tests {
    use omniglot_agents::acp::quirks::GEMINI;

    use super::*;

    const ID: &str = "d74440cb-0000-4000-8000-000000000000";
    const SAID: &str = r#"{"id":"1","type":"gemini","content":"yes"}"#;

    /// Returns the names that are left of these transcripts, each with its text.
    fn left(files: &[(&str, String)]) -> Vec<String> {
        let home = tempfile::tempdir().unwrap();
        let chats = home.path().join(".gemini/tmp/work/chats");
        fs::create_dir_all(&chats).unwrap();
        for (name, text) in files {
            fs::write(chats.join(name), text).unwrap();
        }
        remove(&GEMINI.start.empty_transcripts.unwrap(), home.path(), ID);
        let files = fs::read_dir(chats).unwrap();
        let mut names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn head(id: &str) -> String {
        format!("{{\"sessionId\":\"{id}\",\"projectHash\":\"h\"}}\n")
    }

    /// A16: the empty transcript of a load made Gemini delete that of the session.
    #[test]
    fn an_empty_transcript_beside_the_loaded_one_is_removed() {
        let (loaded, empty) = ("session-1-d74440cb.jsonl", "session-2-d74440cb.jsonl");
        let whole = head(ID) + SAID;
        assert_eq!(left(&[(loaded, whole.clone()), (empty, head(ID))]), [loaded]);
        let others = [("session-2-11111111.jsonl", head(ID)), (empty, head("d74440cb-1"))];
        for other in others {
            assert_eq!(left(&[(loaded, whole.clone()), other]).len(), 2, "it is of another session");
        }
    }

    #[test]
    fn the_only_transcript_of_a_session_stays() {
        let only = "session-1-d74440cb.jsonl";
        assert_eq!(left(&[(only, head(ID))]), [only]);
    }
}

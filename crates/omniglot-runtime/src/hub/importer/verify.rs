//! Verifies an imported file: a lawful stream, and blobs that match the hashes in their names.

use omniglot_schema::UniversalEvent;
use omniglot_timeline::check::{Allow, Checker};

use crate::digest::sha256;

/// Judges the events as they come.
#[derive(Default)]
pub(super) struct Verifier {
    checker: Checker,
}

impl Verifier {
    pub(super) fn event(&mut self, event: &UniversalEvent) {
        self.checker.event(event);
    }

    /// A session may have been exported in mid-turn, and its agent may have spoken nonsense.
    pub(super) fn finish(self) -> Result<(), String> {
        let report = self.checker.finish(Allow { open_turn: true, unparsed: true });
        if report.events == 0 {
            return Err("there are no events".to_owned());
        }
        match report.violations.first() {
            Some(first) => Err(format!(
                "event {} breaks the rule `{}` of the stream: {}",
                first.sequence,
                first.code.as_str(),
                first.text
            )),
            None => Ok(()),
        }
    }
}

/// A blob is named after its content, and served as a picture, a list, a diff or mere bytes: never as a page.
pub(super) fn blob(name: &str, mime: &str, bytes: &[u8]) -> Result<(), String> {
    let (hash, extension) = name.split_once('.').unwrap_or_default();
    let plain = !extension.is_empty() && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if hash != sha256(bytes) || !plain {
        return Err(format!("the blob {name} is not what its name says"));
    }
    let picture =
        |kind: &str| kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-".contains(&byte));
    let known = matches!(mime, "application/json" | "application/octet-stream" | "text/x-diff")
        || mime.strip_prefix("image/").is_some_and(picture);
    if known { Ok(()) } else { Err(format!("the blob {name} has the type `{mime}`")) }
}

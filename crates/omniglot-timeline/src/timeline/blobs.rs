//! Blobs: what is too large or too binary for an event goes out beside it, and the event has its path (T14).
//!
//! A blob is named after its content, so that the same picture is kept once however often it is shown.
//! Keeping and serving blobs is left to the store and the faces.

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use omniglot_schema::{BlobRef, ContentPart, FileAction, Listed, SessionId, StatePatch};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{Effect, Emitted, Stamp, Timeline};
use crate::draft::{Body, Draft, Origin, Unparsed};

/// A list of the state that is longer than this, as JSON, is a blob.
const LONGEST_LIST: usize = 16 * 1024;

/// A diff that is longer than this is a blob.
const LONGEST_DIFF: usize = 1024 * 1024;

/// Some agents leave the padding out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Bytes that belong to a session, to be kept with the events that name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// sha256 of the bytes, in hex, and an extension.
    pub name: String,
    pub mime: String,
    pub bytes: Vec<u8>,
}

impl Blob {
    fn new(mime: String, bytes: Vec<u8>) -> Self {
        let hash = format!("{:x}", Sha256::digest(&bytes));
        Self { name: format!("{hash}.{}", extension(&mime)), mime, bytes }
    }

    /// Where the blob of a session is served.
    pub fn path(&self, session: &SessionId) -> String {
        format!("/v1/sessions/{session}/blobs/{}", self.name)
    }
}

/// An image whose bytes stand in the draft itself; the Timeline makes a blob of them.
pub fn inline_image(mime: &str, base64: &str) -> ContentPart {
    ContentPart::Image { path: format!("data:{mime};base64,{base64}"), mime: Some(mime.to_owned()) }
}

/// Any other bytes that stand in the draft itself, such as sound; the Timeline makes a blob of them.
pub fn inline_file(mime: &str, base64: &str) -> ContentPart {
    let path = format!("data:{mime};base64,{base64}");
    ContentPart::file(path, FileAction::Read, None)
}

impl Timeline {
    pub(super) fn keep(&mut self, blobs: Vec<Blob>) {
        self.effects.extend(blobs.into_iter().map(Effect::Keep));
    }

    /// The entries of a list of the state, as long as its blob was not taken.
    pub fn entries<T: Clone + serde::de::DeserializeOwned>(&self, list: &Listed<T>) -> Option<Vec<T>> {
        match list {
            Listed::Inline(entries) => Some(entries.clone()),
            Listed::Blob(BlobRef { path }) => {
                let named =
                    |effect: &&Effect| matches!(effect, Effect::Keep(blob) if path.ends_with(&blob.name));
                let Some(Effect::Keep(blob)) = self.effects.iter().find(named) else { return None };
                serde_json::from_slice(&blob.bytes).ok()
            }
        }
    }

    /// Replaces inline images, inline files and long diffs by their paths. An image or file that cannot be decoded
    /// is told and left out.
    pub(super) fn shelve_parts(&mut self, draft: &mut Draft, stamp: Stamp, out: &mut Vec<Emitted>) {
        let Some(parts) = parts_of(draft) else { return };
        let (mut blobs, before) = (Vec::new(), parts.len());
        parts.retain_mut(|part| shelve_part(part, &self.identity.session_id, &mut blobs));
        let unreadable = before - parts.len();
        self.keep(blobs);
        for _ in 0..unreadable {
            let error = "an inline image or file is not base64".to_owned();
            self.unparsed(Unparsed { error, location: "content".to_owned(), raw_hash: None }, stamp, out);
        }
    }

    /// Replaces long lists by their paths.
    pub(super) fn shelve_lists(&self, patch: &mut StatePatch) -> Vec<Blob> {
        let session = &self.identity.session_id;
        let shelved = [
            shelve_list(&mut patch.todos, session),
            shelve_list(&mut patch.commands, session),
            shelve_list(&mut patch.modes, session),
            shelve_list(&mut patch.models, session),
            shelve_list(&mut patch.queue, session),
            shelve_list(&mut patch.subagents, session),
        ];
        shelved.into_iter().flatten().collect()
    }
}

/// The parts of a draft that may hold images or diffs.
fn parts_of(draft: &mut Draft) -> Option<&mut Vec<ContentPart>> {
    let body = match draft {
        Draft::TurnStarted(Origin::User { content, .. } | Origin::Echoed { content, .. }) => {
            return Some(content);
        }
        Draft::ItemStarted(start) | Draft::Steered { start, .. } => &mut start.body,
        Draft::ItemCompleted(end) => end.body.as_mut()?,
        Draft::CallEnded(end) => return Some(&mut end.result.parts),
        Draft::PermissionRequested(ask) => return Some(&mut ask.files),
        _ => return None,
    };
    match body {
        Body::Message { parts, .. } | Body::System { parts } | Body::Unknown { parts } => Some(parts),
        Body::Reasoning { .. } | Body::Status { .. } | Body::Step { .. } => None,
    }
}

/// False when the part says that it is inline and is not.
fn shelve_part(part: &mut ContentPart, session: &SessionId, blobs: &mut Vec<Blob>) -> bool {
    blobs.extend(shelve_diff(part, session));
    let (path, shown) = match part {
        ContentPart::Image { path, mime } => (path, Some(mime)),
        ContentPart::FileRef { path, .. } => (path, None),
        _ => return true,
    };
    let Some(uri) = path.strip_prefix("data:") else { return true };
    let decoded = uri.rsplit_once(";base64,").and_then(|(mime, data)| {
        let bytes = BASE64.decode(data).ok().filter(|bytes| !bytes.is_empty())?;
        Some(Blob::new(media_type(mime), bytes))
    });
    let Some(blob) = decoded else { return false };
    *path = blob.path(session);
    if let Some(mime) = shown {
        *mime = Some(blob.mime.clone());
    }
    blobs.push(blob);
    true
}

/// The request for an edit, its reply and its result all tell the diff: it is kept once.
fn shelve_diff(part: &mut ContentPart, session: &SessionId) -> Option<Blob> {
    let ContentPart::FileRef { diff, diff_blob, .. } = part else { return None };
    let long = diff.take_if(|diff| diff.len() > LONGEST_DIFF)?;
    let blob = Blob::new(DIFF.to_owned(), long.into_bytes());
    *diff_blob = Some(blob.path(session));
    Some(blob)
}

fn shelve_list<T: Serialize>(list: &mut Option<Option<Listed<T>>>, session: &SessionId) -> Option<Blob> {
    let Some(Some(listed @ Listed::Inline(_))) = list else { return None };
    let json = serde_json::to_vec(listed).ok().filter(|json| json.len() > LONGEST_LIST)?;
    let blob = Blob::new("application/json".to_owned(), json);
    *listed = Listed::Blob(BlobRef { path: blob.path(session).into() });
    Some(blob)
}

/// No browser shows it as a page.
const DIFF: &str = "text/x-diff";

/// The type that a blob is served with. What names neither image nor sound is served as mere bytes, because
/// a browser must never take what an agent sent for a page.
fn media_type(mime: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".+-".contains(&byte);
    match mime.strip_prefix("image/").or_else(|| mime.strip_prefix("audio/")) {
        Some(kind) if !kind.is_empty() && kind.len() < 64 && kind.bytes().all(plain) => {
            mime.to_ascii_lowercase()
        }
        _ => "application/octet-stream".to_owned(),
    }
}

fn extension(mime: &str) -> &'static str {
    match mime {
        "application/json" => "json",
        DIFF => "diff",
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "image/bmp" => "bmp",
        "image/avif" => "avif",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/ogg" => "ogg",
        "audio/flac" => "flac",
        "audio/mp4" | "audio/aac" => "m4a",
        "audio/webm" => "webm",
        _ => "bin",
    }
}

#[cfg(test)]
mod tests;

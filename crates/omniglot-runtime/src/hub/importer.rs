//! A session read from an export, line by line, until the file has proved that it is whole.
//!
//! Nothing is written here: the hub makes a session of what was read, in one step, or none.

mod rename;
mod verify;

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use omniglot_schema::{
    EXPORT_FORMAT, EXPORT_VERSION, ExportBlob, ExportEnd, ExportHeader, ExportLine, ExportMark, SessionId,
    UniversalEvent,
};
use omniglot_store::{Blob, Frame, NewEvent};
use omniglot_timeline::Fold;
use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::error::ImportError;
use verify::Verifier;

/// Reads an export.
pub struct Importer {
    id: SessionId,
    line: u64,
    hash: Sha256,
    header: Option<ExportHeader>,
    verifier: Verifier,
    last_raw: Option<Box<RawValue>>,
    frames: Vec<Frame>,
    events: Vec<NewEvent>,
    blobs: Vec<Blob>,
    /// The events from the start of the turn that is open, if one is.
    open: Vec<UniversalEvent>,
    fold: Fold,
    ended: bool,
    /// The number of events that are copies of another session's.
    copied: u64,
}

/// Everything of a whole file, under the name that it shall have here.
pub struct Export {
    pub(crate) id: SessionId,
    pub(crate) header: ExportHeader,
    pub(crate) frames: Vec<Frame>,
    pub(crate) events: Vec<NewEvent>,
    pub(crate) blobs: Vec<Blob>,
    pub(crate) open: Vec<UniversalEvent>,
    pub(crate) fold: Fold,
    pub(crate) copied: u64,
    /// Where the session shall work, if not where it did.
    pub directory: Option<PathBuf>,
}

impl Importer {
    /// `id` is the name of the session to be.
    pub fn new(id: SessionId) -> Self {
        Self {
            id,
            line: 0,
            hash: Sha256::new(),
            header: None,
            verifier: Verifier::default(),
            last_raw: None,
            frames: vec![],
            events: vec![],
            blobs: vec![],
            open: vec![],
            fold: Fold::default(),
            ended: false,
            copied: 0,
        }
    }

    /// Takes the next line, without its end.
    pub fn line(&mut self, line: &[u8]) -> Result<(), ImportError> {
        self.line += 1;
        if self.header.is_none() {
            self.header = Some(header(line)?);
        } else {
            let parsed = serde_json::from_slice(line).map_err(|error| self.damaged(error.to_string()))?;
            self.take(parsed)?;
        }
        self.hash.update(line);
        self.hash.update(b"\n");
        Ok(())
    }

    pub fn finish(self) -> Result<Export, ImportError> {
        let Some(header) = self.header.filter(|_| self.ended) else {
            return Err(if self.line == 0 {
                ImportError::NoExport
            } else {
                ImportError::Cut { line: self.line }
            });
        };
        self.verifier.finish().map_err(|why| ImportError::Damaged { line: self.line, why })?;
        Ok(Export {
            id: self.id,
            header,
            frames: self.frames,
            events: self.events,
            blobs: self.blobs,
            open: self.open,
            fold: self.fold,
            copied: self.copied,
            directory: None,
        })
    }

    fn take(&mut self, line: ExportLine) -> Result<(), ImportError> {
        if self.ended {
            return Err(self.damaged("it goes on after its end"));
        }
        match line {
            ExportLine::Header(_) => Err(self.damaged("a second header")),
            ExportLine::Event(event) => self.event(*event),
            ExportLine::Blob(blob) => self.blob(blob),
            ExportLine::End(end) => self.end(&end),
        }
    }

    fn event(&mut self, mut event: UniversalEvent) -> Result<(), ImportError> {
        let named = self.header.as_ref().map(|header| header.session.session_id.clone());
        if Some(&event.session_id) != named.as_ref() {
            return Err(self.damaged("an event of another session"));
        }
        self.verifier.event(&event);
        let frame_no = self.frame(event.raw.take());
        rename::rename(&mut event, &self.id);
        self.copied += u64::from(event.copied_from().is_some());
        self.fold.apply(&event);
        let json = serde_json::to_vec(&event).map_err(|error| self.damaged(error.to_string()))?;
        self.events.push(NewEvent {
            seq: event.sequence,
            kind: event.kind(),
            time_us: event.time.as_microsecond(),
            json: json.into(),
            frame_no,
        });
        self.keep_open(event);
        Ok(())
    }

    /// The events of the open turn are needed to close it.
    fn keep_open(&mut self, event: UniversalEvent) {
        match &self.fold.open_turn {
            Some(turn) if turn.seq == event.sequence => self.open = vec![event],
            Some(_) => self.open.push(event),
            None => self.open.clear(),
        }
    }

    /// Events that were made from one frame follow each other, and the frame is kept once.
    fn frame(&mut self, raw: Option<Box<RawValue>>) -> Option<u64> {
        let raw = raw?;
        let last = self.frames.len() as u64;
        if self.last_raw.as_ref().is_some_and(|last| last.get() == raw.get()) {
            return Some(last);
        }
        self.frames.push(Frame { no: last + 1, bytes: frame_bytes(&raw) });
        self.last_raw = Some(raw);
        Some(last + 1)
    }

    fn blob(&mut self, blob: ExportBlob) -> Result<(), ImportError> {
        let ExportBlob { name, mime, base64 } = blob;
        let bytes = STANDARD.decode(base64).map_err(|error| self.damaged(error.to_string()))?;
        verify::blob(&name, &mime, &bytes).map_err(|why| self.damaged(why))?;
        self.blobs.push(Blob { name, mime, bytes: bytes.into() });
        Ok(())
    }

    fn end(&mut self, end: &ExportEnd) -> Result<(), ImportError> {
        let found = ExportEnd {
            events: self.events.len() as u64,
            blobs: self.blobs.len() as u64,
            sha256: format!("{:x}", self.hash.clone().finalize()),
        };
        if found.events != end.events || found.blobs != end.blobs {
            return Err(self.damaged(format!(
                "it has {} events and {} blobs, and should have {} and {}",
                found.events, found.blobs, end.events, end.blobs
            )));
        }
        if found.sha256 != end.sha256 {
            return Err(self.damaged("the lines before do not match the checksum"));
        }
        self.ended = true;
        Ok(())
    }

    fn damaged(&self, why: impl Into<String>) -> ImportError {
        ImportError::Damaged { line: self.line, why: why.into() }
    }
}

/// The mark first: only then is it known how to read the rest.
fn header(line: &[u8]) -> Result<ExportHeader, ImportError> {
    #[derive(Deserialize)]
    struct Marked {
        header: ExportMark,
    }
    let Marked { header: mark } = serde_json::from_slice(line).map_err(|_| ImportError::NoExport)?;
    if mark.format != EXPORT_FORMAT {
        return Err(ImportError::NoExport);
    }
    if mark.version > EXPORT_VERSION {
        return Err(ImportError::Newer { found: mark.version });
    }
    match serde_json::from_slice(line) {
        Ok(ExportLine::Header(header)) => Ok(*header),
        Ok(_) => Err(ImportError::NoExport),
        Err(error) => Err(ImportError::Damaged { line: 1, why: error.to_string() }),
    }
}

/// The frame as it was: JSON stands for itself, a string for text that is none, base64 for bytes.
fn frame_bytes(raw: &RawValue) -> Bytes {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Binary {
        base64: String,
    }
    if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
        return text.into();
    }
    let binary = serde_json::from_str::<Binary>(raw.get()).ok();
    let bytes = binary.and_then(|binary| STANDARD.decode(binary.base64).ok());
    bytes.map_or_else(|| Bytes::from(raw.get().to_owned()), Bytes::from)
}

#[cfg(test)]
mod tests;

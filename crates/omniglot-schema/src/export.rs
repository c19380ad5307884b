//! A session as a file: one JSON object per line, whose single member names the kind of line.
//!
//! A header, every event in order, the blobs that they name, and an end that proves the file whole.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::event::UniversalEvent;
use crate::ids::SessionId;
use crate::session::{SessionInfo, SessionStats};

/// The value of `format` in every export.
pub const EXPORT_FORMAT: &str = "omniglot-session";
/// The newest version that this program knows.
pub const EXPORT_VERSION: u32 = 1;

/// One line of an export.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExportLine {
    /// The first line.
    Header(Box<ExportHeader>),
    Event(Box<UniversalEvent>),
    Blob(ExportBlob),
    /// The last line.
    End(ExportEnd),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExportHeader {
    #[serde(flatten)]
    pub mark: ExportMark,
    /// The program that wrote the file.
    pub exporter: String,
    /// Milliseconds since 1970.
    pub exported_at: i64,
    /// Whether events carry their native frames.
    pub raw: bool,
    /// The session, with secrets replaced by `***`.
    pub session: SessionInfo,
    #[serde(default)]
    pub stats: SessionStats,
}

/// The members that the header of every version has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportMark {
    pub format: String,
    pub version: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExportBlob {
    pub name: String,
    pub mime: String,
    pub base64: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportEnd {
    pub events: u64,
    pub blobs: u64,
    /// The SHA-256 of every byte before this line, in hex.
    pub sha256: String,
}

/// The session that was made from an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportResponse {
    /// The new session.
    pub session_id: SessionId,
    /// The events of the file, and those that close open items of it.
    pub event_count: u64,
    /// The number of blobs that came with the events.
    pub blobs: u64,
    /// The differences from the exported session, as sentences.
    pub notes: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_it_is_and_keeps_the_raw_frame() {
        let json = r#"{"event":{"event_id":"evt_1","sequence":1,"time":"2026-01-01T00:00:00Z","session_id":"s","native_session_id":null,"source":"daemon","synthetic":true,"type":"session.started","data":{},"raw":{"a": 1.0}}}"#;
        let line: ExportLine = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&line).unwrap(), json);
        assert!(serde_json::from_str::<ExportLine>(r#"{"nonsense":{}}"#).is_err());
    }
}

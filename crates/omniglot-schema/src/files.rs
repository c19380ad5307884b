//! Files and directories, as the routes below `/v1/fs` tell them. Paths are absolute.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum FsEntryType {
    File,
    Directory,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsEntry {
    /// The name within its directory.
    pub name: String,
    /// The absolute path.
    pub path: String,
    /// Whether it is a file or a directory.
    pub entry_type: FsEntryType,
    /// Bytes.
    pub size: u64,
    /// The time of the last change, as in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
}

/// A file or a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsStat {
    /// The absolute path.
    pub path: String,
    /// Whether it is a file or a directory.
    pub entry_type: FsEntryType,
    /// Bytes.
    pub size: u64,
    /// The time of the last change, as in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
}

/// The file that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FsWriteResponse {
    /// The absolute path of the file.
    pub path: String,
    /// The length of the file.
    pub bytes_written: u64,
}

/// The path that was made or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FsActionResponse {
    /// The absolute path.
    pub path: String,
}

/// The file or directory to move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FsMoveRequest {
    /// The present path.
    pub from: String,
    /// The new path.
    pub to: String,
    /// Replace a file, or an empty directory, that has the new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrite: Option<bool>,
}

/// The move that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FsMoveResponse {
    /// The absolute path before.
    pub from: String,
    /// The absolute path now.
    pub to: String,
}

/// The content of an archive that was unpacked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FsUploadBatchResponse {
    /// The files and directories of the archive, where they are now.
    pub paths: Vec<String>,
    /// Whether the archive has more entries than were unpacked.
    pub truncated: bool,
}

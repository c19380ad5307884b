//! The desktop of clients that know one: this daemon has none, and says so in their shapes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The state of the desktop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DesktopStatusResponse {
    /// Always `inactive`.
    pub state: DesktopState,
    /// Always empty: nothing that could be installed gives this daemon a desktop.
    pub missing_dependencies: Vec<String>,
    /// The processes of the desktop; always empty.
    pub processes: Vec<String>,
}

/// Whether there is a desktop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DesktopState {
    Inactive,
}

/// The recordings of the desktop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DesktopRecordingListResponse {
    /// Always empty.
    pub recordings: Vec<String>,
}

/// The state of the desktop's stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DesktopStreamStatusResponse {
    /// Always false.
    pub active: bool,
}

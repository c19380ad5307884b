//! The query parameters of the routes below `/v1/fs`.

use omniglot_schema::SessionId;
use serde::Deserialize;
use utoipa::IntoParams;

use super::query::{session, switch};
use crate::http::extract::text;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FsDirectoryQuery {
    /// Path of the directory; without it the session's directory, or the first configured root
    #[serde(default, deserialize_with = "text")]
    pub(crate) path: Option<String>,
    /// Session in whose directory the path is; without it, in a configured root
    #[serde(default, alias = "sessionId", deserialize_with = "session")]
    pub(crate) session_id: Option<SessionId>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FsPathQuery {
    /// Path, relative to the directory or absolute within it
    pub(crate) path: String,
    /// Session in whose directory the path is; without it, in a configured root
    #[serde(default, alias = "sessionId", deserialize_with = "session")]
    pub(crate) session_id: Option<SessionId>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FsDeleteQuery {
    /// Path, relative to the directory or absolute within it
    pub(crate) path: String,
    /// Session in whose directory the path is; without it, in a configured root
    #[serde(default, alias = "sessionId", deserialize_with = "session")]
    pub(crate) session_id: Option<SessionId>,
    /// Delete a directory with everything in it
    #[serde(default, deserialize_with = "switch")]
    #[param(value_type = Option<bool>)]
    pub(crate) recursive: bool,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FsSessionQuery {
    /// Session in whose directory the paths are; without it, in a configured root
    #[serde(default, alias = "sessionId", deserialize_with = "session")]
    pub(crate) session_id: Option<SessionId>,
}

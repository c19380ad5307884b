//! Files of a session's directory; without a session, of a configured root.

use bytes::Bytes;
use omniglot_schema::{
    FsActionResponse, FsEntry, FsMoveRequest, FsMoveResponse, FsStat, FsUploadBatchResponse, FsWriteResponse,
    SessionId,
};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Body, Method};

use crate::client::{Client, accepted, read};
use crate::error::ClientError;
use crate::transport::Call;

impl Client {
    /// Lists a directory; an empty path is the session's directory itself.
    pub async fn fs_entries(
        &self,
        session: Option<&SessionId>,
        path: &str,
    ) -> Result<Vec<FsEntry>, ClientError> {
        read(self.fs(Method::GET, "entries", session, Some(path)).send().await?).await
    }

    pub async fn fs_stat(&self, session: Option<&SessionId>, path: &str) -> Result<FsStat, ClientError> {
        read(self.fs(Method::GET, "stat", session, Some(path)).send().await?).await
    }

    pub async fn fs_read_file(&self, session: Option<&SessionId>, path: &str) -> Result<Bytes, ClientError> {
        let response = self.fs(Method::GET, "file", session, Some(path)).send().await?;
        Ok(accepted(response).await?.bytes().await?)
    }

    /// Replaces a file at once, or makes it.
    pub async fn fs_write_file(
        &self,
        session: Option<&SessionId>,
        path: &str,
        content: impl Into<Body>,
    ) -> Result<FsWriteResponse, ClientError> {
        let request = self.fs(Method::PUT, "file", session, Some(path));
        read(request.header(CONTENT_TYPE, OCTETS).body(content).send().await?).await
    }

    pub async fn fs_delete_entry(
        &self,
        session: Option<&SessionId>,
        path: &str,
        recursive: bool,
    ) -> Result<FsActionResponse, ClientError> {
        let query = [
            ("path", Some(path.to_owned())),
            ("session_id", session.map(ToString::to_string)),
            ("recursive", recursive.then(|| "true".to_owned())),
        ];
        read(self.request(Method::DELETE, &["v1", "fs", "entry"], &query).send().await?).await
    }

    pub async fn fs_mkdir(
        &self,
        session: Option<&SessionId>,
        path: &str,
    ) -> Result<FsActionResponse, ClientError> {
        read(self.fs(Method::POST, "mkdir", session, Some(path)).send().await?).await
    }

    pub async fn fs_move(
        &self,
        session: Option<&SessionId>,
        request: &FsMoveRequest,
    ) -> Result<FsMoveResponse, ClientError> {
        read(self.fs(Method::POST, "move", session, None).json(request).send().await?).await
    }

    /// Unpacks an archive into a directory: tar, also compressed with gzip.
    pub async fn fs_upload_batch(
        &self,
        session: Option<&SessionId>,
        path: &str,
        archive: impl Into<Body>,
    ) -> Result<FsUploadBatchResponse, ClientError> {
        let request = self.fs(Method::POST, "upload-batch", session, Some(path));
        read(request.header(CONTENT_TYPE, OCTETS).body(archive).send().await?).await
    }

    fn fs(&self, method: Method, route: &str, session: Option<&SessionId>, path: Option<&str>) -> Call {
        let query = [("path", path.map(str::to_owned)), ("session_id", session.map(ToString::to_string))];
        self.request(method, &["v1", "fs", route], &query)
    }
}

const OCTETS: &str = "application/octet-stream";

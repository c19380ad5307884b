//! Files of a session's directory, or of a configured root. The runtime keeps every path inside.

mod download;
mod refusal;
mod work;

use std::io::Read;
use std::path::Path;

use axum::Json;
use axum::extract::Request;
use axum::response::Response;
use http::HeaderMap;
use omniglot_runtime::confined::FileInfo;
use omniglot_runtime::hub::files::{FileSpace, UnpackLimits};
use omniglot_schema::{
    FsActionResponse, FsEntry, FsEntryType, FsMoveRequest, FsMoveResponse, FsStat, FsUploadBatchResponse,
    FsWriteResponse, ProblemDetails,
};

use crate::app::App;
use crate::faces::rest::wire::files::{FsDeleteQuery, FsDirectoryQuery, FsPathQuery, FsSessionQuery};
use crate::http::body::JsonBody;
use crate::http::extract::QueryOf;
use crate::http::problem::Problem;
use crate::http::refusals::Refusals;
use crate::http::upload::Upload;
use work::{in_space, require_archive, upload};

/// The longest file that can be written, and the longest archive.
const LONGEST_FILE: u64 = 256 << 20;
const LONGEST_ARCHIVE: u64 = 1 << 30;

/// List Directory
///
/// Lists files and directories at the given path, sorted by name. Pipes, devices and links that lead out are left out.
#[utoipa::path(get, path = "/v1/fs/entries", tag = "fs", params(FsDirectoryQuery),
    responses((status = 200, description = "Directory listing", body = Vec<FsEntry>), Refusals))]
pub(crate) async fn fs_entries(
    app: App,
    QueryOf(query): QueryOf<FsDirectoryQuery>,
) -> Result<Json<Vec<FsEntry>>, Problem> {
    let path = query.path.unwrap_or_default();
    let work = move |space: FileSpace| {
        let place = space.find(&path)?;
        let entries = place.root.infos(&place.path)?.into_iter().map(|(name, info)| FsEntry {
            path: text(&place.below(&place.path.join(&name))),
            name: name.to_string_lossy().into_owned(),
            entry_type: entry_type(info),
            size: info.size,
            modified: info.modified.map(|time| time.to_string()),
        });
        Ok(entries.collect())
    };
    in_space(&app, query.session_id, work).await.map(Json)
}

/// Get File Info
///
/// Returns metadata (size, timestamps, type) for a path.
#[utoipa::path(get, path = "/v1/fs/stat", tag = "fs", params(FsPathQuery),
    responses((status = 200, description = "File metadata", body = FsStat), Refusals))]
pub(crate) async fn fs_stat(app: App, QueryOf(query): QueryOf<FsPathQuery>) -> Result<Json<FsStat>, Problem> {
    let work = move |space: FileSpace| {
        let place = space.find_any(&query.path)?;
        let info = place.root.info(&place.path)?;
        let modified = info.modified.map(|time| time.to_string());
        Ok(FsStat { path: text(&place.absolute()), entry_type: entry_type(info), size: info.size, modified })
    };
    in_space(&app, query.session_id, work).await.map(Json)
}

/// Read File
///
/// Reads the raw bytes of a file, or one range of them. Browsers are told to store the file and never to show it.
#[utoipa::path(get, path = "/v1/fs/file", tag = "fs",
    params(FsPathQuery,
        ("Range" = Option<String>, Header, description = "One range of bytes, such as `bytes=0-99`"),
        ("If-Range" = Option<String>, Header, description = "Tag of the file that the range is of")),
    responses(
        (status = 200, description = "File content", body = inline(Bytes),
            content_type = "application/octet-stream",
            headers(("ETag" = String, description = "Changes with the file"))),
        (status = 206, description = "The range of the file", body = inline(Bytes),
            content_type = "application/octet-stream"),
        (status = 416, description = "There is no such range", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn fs_read_file(
    app: App,
    QueryOf(query): QueryOf<FsPathQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let work = move |space: FileSpace| {
        let place = space.find_entry(&query.path)?;
        let file = place.root.read(&place.path)?;
        let metadata = file.metadata().map_err(|error| refusal::io(&place.absolute(), &error))?;
        Ok((file, metadata, place.path))
    };
    let (file, metadata, path) = in_space(&app, query.session_id, work).await?;
    download::respond(file, &metadata, &path, &headers).await
}

/// Write File
///
/// Writes raw bytes to a file, creating it if it doesn't exist. The file is replaced at once when all bytes are there,
/// and keeps its permissions; its directory must exist. At most 256 MiB.
#[utoipa::path(put, path = "/v1/fs/file", tag = "fs", params(FsPathQuery),
    request_body(content = inline(Bytes), content_type = "application/octet-stream"),
    responses(
        (status = 200, description = "Write result", body = FsWriteResponse),
        (status = 413, description = "The file is too large", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn fs_write_file(
    app: App,
    QueryOf(query): QueryOf<FsPathQuery>,
    request: Request,
) -> Result<Json<FsWriteResponse>, Problem> {
    let body = Upload::new(request, app.limits, LONGEST_FILE)?;
    let work = move |space: FileSpace, body: &mut dyn Read| {
        let place = space.find_entry(&query.path)?;
        let bytes_written = place.root.replace(&place.path, space.temporaries(), body)?;
        Ok(FsWriteResponse { path: text(&place.absolute()), bytes_written })
    };
    upload(&app, query.session_id, body, work).await.map(Json)
}

/// Delete Entry
///
/// Deletes a file or directory. A link is deleted, not what it leads to.
#[utoipa::path(delete, path = "/v1/fs/entry", tag = "fs", params(FsDeleteQuery),
    responses(
        (status = 200, description = "Delete result", body = FsActionResponse),
        (status = 409, description = "The directory is not empty", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn fs_delete_entry(
    app: App,
    QueryOf(query): QueryOf<FsDeleteQuery>,
) -> Result<Json<FsActionResponse>, Problem> {
    let work = move |space: FileSpace| {
        let place = space.find_entry(&query.path)?;
        match query.recursive {
            true => place.root.remove_all(&place.path)?,
            false => place.root.remove(&place.path)?,
        }
        Ok(FsActionResponse { path: text(&place.absolute()) })
    };
    in_space(&app, query.session_id, work).await.map(Json)
}

/// Create Directory
///
/// Creates a directory, including any missing parent directories. One that exists is left as it is.
#[utoipa::path(post, path = "/v1/fs/mkdir", tag = "fs", params(FsPathQuery),
    responses(
        (status = 200, description = "Directory created", body = FsActionResponse),
        (status = 409, description = "A file has this name", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn fs_mkdir(
    app: App,
    QueryOf(query): QueryOf<FsPathQuery>,
) -> Result<Json<FsActionResponse>, Problem> {
    let work = move |space: FileSpace| {
        let place = space.find_entry(&query.path)?;
        place.root.make_directory(&place.path)?;
        Ok(FsActionResponse { path: text(&place.absolute()) })
    };
    in_space(&app, query.session_id, work).await.map(Json)
}

/// Move Entry
///
/// Moves or renames a file or directory.
#[utoipa::path(post, path = "/v1/fs/move", tag = "fs", params(FsSessionQuery),
    request_body = FsMoveRequest,
    responses(
        (status = 200, description = "Move result", body = FsMoveResponse),
        (status = 409, description = "Something has the new name", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn fs_move(
    app: App,
    QueryOf(query): QueryOf<FsSessionQuery>,
    body: JsonBody<FsMoveRequest>,
) -> Result<Json<FsMoveResponse>, Problem> {
    let FsMoveRequest { from, to, overwrite } = body.value;
    let work = move |space: FileSpace| {
        let (from, to) = (space.find_entry(&from)?, space.find_entry(&to)?);
        from.root.rename(&from.path, &to.root, &to.path, overwrite.unwrap_or_default())?;
        Ok(FsMoveResponse { from: text(&from.absolute()), to: text(&to.absolute()) })
    };
    in_space(&app, query.session_id, work).await.map(Json)
}

/// Upload Files
///
/// Uploads a tar archive, which may be compressed with gzip, and extracts it to the destination directory; existing
/// files are replaced. At most 10,000 entries are unpacked, and 1 GiB. An archive with links, devices or paths that lead
/// out is refused, and nothing of it is unpacked.
#[utoipa::path(post, path = "/v1/fs/upload-batch", tag = "fs", params(FsDirectoryQuery),
    request_body(content(
        (inline(Bytes) = "application/octet-stream"),
        (inline(Bytes) = "application/x-tar"),
        (inline(Bytes) = "application/gzip"),
    )),
    responses(
        (status = 200, description = "Upload result", body = FsUploadBatchResponse),
        (status = 409, description = "A file is in the place of a directory, or a directory in that of a file",
            body = ProblemDetails, content_type = "application/problem+json"),
        (status = 413, description = "The archive is too large", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn fs_upload_batch(
    app: App,
    QueryOf(query): QueryOf<FsDirectoryQuery>,
    request: Request,
) -> Result<Json<FsUploadBatchResponse>, Problem> {
    require_archive(request.headers())?;
    let path = query.path.unwrap_or_default();
    let body = Upload::new(request, app.limits, LONGEST_ARCHIVE)?;
    let work = move |space: FileSpace, body: &mut dyn Read| {
        let place = space.find(&path)?;
        let unpacked = place.unpack(body, UnpackLimits::default(), space.temporaries());
        let unpacked = unpacked.map_err(|error| refusal::of_archive(error, &place))?;
        let paths = unpacked.paths.iter().map(|path| text(&place.below(path))).collect();
        Ok(FsUploadBatchResponse { paths, truncated: unpacked.truncated })
    };
    upload(&app, query.session_id, body, work).await.map(Json)
}

fn entry_type(info: FileInfo) -> FsEntryType {
    if info.is_dir { FsEntryType::Directory } else { FsEntryType::File }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The bytes of a file.
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "only its description is used")]
struct Bytes(Vec<u8>);

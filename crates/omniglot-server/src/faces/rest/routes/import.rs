//! Makes a session from an exported file. The runtime checks the content of the file.

use std::path::PathBuf;

use axum::Json;
use axum::body::Body;
use axum::extract::Request;
use bytes::BytesMut;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use omniglot_runtime::RuntimeError;
use omniglot_runtime::hub::importer::{Export, Importer};
use omniglot_schema::{ErrorType, ImportResponse, ProblemDetails, SessionId};

use crate::app::{App, Limits, complete};
use crate::faces::rest::wire::query::ImportQuery;
use crate::http::body::next_data;
use crate::http::extract::{PathOf, QueryOf};
use crate::http::problem::{InSession as _, Problem};
use crate::http::refusals::Refusals;

/// A session is committed as a whole, so all of it must fit into memory.
const LONGEST: usize = 512 << 20;

const NDJSON: &str = "application/x-ndjson";

/// Import Session
///
/// Makes a session from an exported one: a header, every event, the blobs that they name and an end, one JSON
/// object per line. Its log has a new epoch, and open items in it are closed. A file that is damaged,
/// incomplete or of a newer version is refused, and nothing is changed.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/import", tag = "sessions",
    params(("session_id" = String, Path, description = "Id of the new session"), ImportQuery),
    request_body(content = String, content_type = "application/x-ndjson",
        description = "What `omniglot sessions export` wrote"),
    responses(
        (status = 200, description = "Session imported", body = ImportResponse),
        (status = 409, description = "Session already exists", body = ProblemDetails,
            content_type = "application/problem+json"),
        (status = 413, description = "The file is too long", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn import_session(
    app: App,
    PathOf(id): PathOf<SessionId>,
    QueryOf(query): QueryOf<ImportQuery>,
    request: Request,
) -> Result<Json<ImportResponse>, Problem> {
    require_ndjson(request.headers())?;
    let mut export =
        read(Importer::new(id.clone()), request.into_body(), app.limits).await.in_session(&id)?;
    export.directory = query.directory.map(PathBuf::from);
    complete(async move { app.hub.import(export).await }).await.in_session(&id).map(Json)
}

/// A web page can send other types to any address without a preflight request.
fn require_ndjson(headers: &HeaderMap) -> Result<(), Problem> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(NDJSON) {
        return Ok(());
    }
    Err(Problem::new(ErrorType::UnsupportedMediaType, "the body is not said to be JSON lines")
        .hint(format!("send `Content-Type: {NDJSON}`")))
}

async fn read(mut importer: Importer, mut body: Body, limits: Limits) -> Result<Export, Problem> {
    let mut rest = BytesMut::new();
    let mut searched = 0;
    let mut total = 0;
    while let Some(data) = next_data(&mut body, limits).await? {
        total += data.len();
        if total > LONGEST {
            let detail = format!("the file is longer than {} MiB", LONGEST >> 20);
            return Err(Problem::new(ErrorType::TooLarge, detail).hint("export it without native frames"));
        }
        rest.extend_from_slice(&data);
        while let Some(end) = rest.get(searched..).and_then(|new| new.iter().position(|byte| *byte == b'\n'))
        {
            let line = rest.split_to(searched + end + 1);
            importer.line(line.strip_suffix(b"\n").unwrap_or(&line)).map_err(RuntimeError::from)?;
            searched = 0;
        }
        searched = rest.len();
    }
    if !rest.is_empty() {
        importer.line(&rest).map_err(RuntimeError::from)?;
    }
    Ok(importer.finish().map_err(RuntimeError::from)?)
}

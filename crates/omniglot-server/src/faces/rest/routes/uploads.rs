//! Files for messages of clients that have none on the daemon's machine.

use axum::Json;
use axum::extract::Request;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use omniglot_schema::{ErrorType, MessageAttachment, ProblemDetails, SessionId};

use crate::app::App;
use crate::faces::rest::wire::query::UploadQuery;
use crate::http::body::next_data;
use crate::http::extract::{PathOf, QueryOf};
use crate::http::problem::{InSession as _, Problem};
use crate::http::refusals::Refusals;

/// Upload File
///
/// Keeps the body as a file of the session and answers with an attachment for its messages. A file has at most
/// 32 MiB, all files of a session 512 MiB; they are removed with the session.
#[utoipa::path(post, path = "/v1/sessions/{session_id}/uploads", tag = "sessions",
    params(("session_id" = String, Path, description = "Session id"), UploadQuery),
    request_body(content = Vec<u8>, content_type = "application/octet-stream",
        description = "The bytes of the file, with any content type but a form's"),
    responses(
        (status = 200, description = "The file, as a message attaches it", body = MessageAttachment),
        (status = 413, description = "The file is too large", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn upload_file(
    app: App,
    PathOf(id): PathOf<SessionId>,
    QueryOf(query): QueryOf<UploadQuery>,
    request: Request,
) -> Result<Json<MessageAttachment>, Problem> {
    let mime = content_type(request.headers()).in_session(&id)?;
    let mut upload = app.hub.begin_upload(&id).await.in_session(&id)?;
    let mut body = request.into_body();
    while let Some(data) = next_data(&mut body, app.limits).await.in_session(&id)? {
        upload.write(&data).await.in_session(&id)?;
    }
    upload.finish(query.name(), mime).await.in_session(&id).map(Json)
}

/// Returns the type of the file; `None` when the client does not tell it.
fn content_type(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "" | "application/octet-stream" => Ok(None),
        "multipart/form-data" | "application/x-www-form-urlencoded" => {
            let detail = "a form is no file: send its bytes as the body";
            Err(Problem::new(ErrorType::UnsupportedMediaType, detail)
                .hint("with curl: --data-binary @FILE -H 'Content-Type: image/png'"))
        }
        _ => Ok(Some(essence)),
    }
}

//! Work with files on threads that may block.

use std::io::Read;

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use omniglot_runtime::hub::files::FileSpace;
use omniglot_schema::{ErrorType, SessionId};
use tokio::sync::Semaphore;

use crate::app::App;
use crate::http::problem::Problem;
use crate::http::upload::Upload;

/// Each holds a thread while its client sends; others wait for their turn.
static UPLOADS: Semaphore = Semaphore::const_new(64);

/// A web page can send other types to any address without a preflight request. The bytes tell the format.
pub(super) fn require_archive(headers: &HeaderMap) -> Result<(), Problem> {
    const TYPES: [&str; 4] =
        ["application/octet-stream", "application/x-tar", "application/gzip", "application/x-gzip"];
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    if TYPES.iter().any(|known| essence.eq_ignore_ascii_case(known)) {
        return Ok(());
    }
    Err(Problem::new(ErrorType::UnsupportedMediaType, "the body is not said to be an archive")
        .hint(format!("send a `Content-Type` of {}", TYPES.join(", "))))
}

/// Does something with files, on a thread of its own.
pub(super) async fn in_space<T: Send + 'static>(
    app: &App,
    session: Option<SessionId>,
    work: impl FnOnce(FileSpace) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let space = app.hub.file_space(session.as_ref()).await.map_err(Problem::from);
    let done = match space {
        Ok(space) => blocking(move || work(space)).await,
        Err(problem) => Err(problem),
    };
    about(done, session)
}

/// Does something with a body and files.
pub(super) async fn upload<T: Send + 'static>(
    app: &App,
    session: Option<SessionId>,
    mut body: Upload,
    work: impl FnOnce(FileSpace, &mut dyn Read) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let space = app.hub.file_space(session.as_ref()).await.map_err(Problem::from);
    let permit = UPLOADS.acquire().await.ok();
    let done = blocking(move || {
        let _permit = permit;
        let used = space.and_then(|space| work(space, &mut body));
        body.finish(used)
    });
    about(done.await, session)
}

fn about<T>(done: Result<T, Problem>, session: Option<SessionId>) -> Result<T, Problem> {
    done.map_err(|problem| match &session {
        Some(id) => problem.session(id),
        None => problem,
    })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => {
            tracing::error!(%error, "work with files broke off");
            Err(Problem::new(ErrorType::Internal, "the work broke off; the daemon's log has the cause"))
        }
    }
}

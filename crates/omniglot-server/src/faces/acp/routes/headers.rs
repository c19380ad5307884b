//! Reads the headers of a request to the ACP face: the accepted form of the answer, its delivery, and the
//! client's cursor. Reads no body; the routes answer.

use http::header::ACCEPT;
use http::{HeaderMap, StatusCode};
use omniglot_schema::ErrorType;

use crate::faces::acp::state::connection::Reply;
use crate::faces::acp::state::connection::cursor::Cursor;
use crate::http::problem::Problem;

/// Returns the cursor of a client.
pub(super) fn last_event_id(headers: &HeaderMap) -> Result<Option<Cursor>, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let text = value.to_str().unwrap_or("?");
    if text.is_empty() {
        return Ok(None);
    }
    let cursor =
        text.parse().map_err(|error| Problem::invalid(format!("Last-Event-ID `{text}`: {error}")))?;
    Ok(Some(cursor))
}

pub(super) fn wanted_reply(headers: &HeaderMap) -> Reply {
    let prefer = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let mut requested = prefer.flat_map(|value| value.split([',', ';'])).map(str::trim);
    if requested.any(|request| request.eq_ignore_ascii_case("respond-async")) {
        Reply::Stream
    } else {
        Reply::Both
    }
}

pub(super) fn accepts(headers: &HeaderMap, media_type: &str) -> Result<(), Problem> {
    let Some(accept) = headers.get(ACCEPT) else { return Ok(()) };
    let accept = accept.to_str().unwrap_or_default().to_ascii_lowercase();
    let kind = media_type.split('/').next().unwrap_or_default();
    let fits = |range: &str| {
        let range = range.split(';').next().unwrap_or_default().trim();
        range == "*/*" || range == media_type || range.strip_suffix("/*") == Some(kind)
    };
    if accept.split(',').any(fits) {
        return Ok(());
    }
    let detail = format!("the answer is {media_type}, which the request does not accept");
    Err(Problem::new(ErrorType::InvalidRequest, detail).status(StatusCode::NOT_ACCEPTABLE))
}

//! Reads JSON bodies: within the limit, of the right media type, with errors that name the field.

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::BodyExt as _;
use omniglot_schema::ErrorType;
use serde::de::DeserializeOwned;

use crate::app::{App, Limits, Unscoped};
use crate::http::members;
use crate::http::problem::Problem;

/// A JSON body, with the bytes it was read from.
pub(crate) struct JsonBody<T> {
    pub(crate) value: T,
    pub(crate) bytes: Bytes,
}

impl<T: DeserializeOwned> FromRequest<Unscoped<App>> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Unscoped<App>) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        let bytes = read(&head.headers, body, app.limits()).await?;
        if bytes.is_empty() {
            return Err(empty());
        }
        require_json(&head.headers)?;
        Ok(Self { value: parse(&bytes)?, bytes })
    }
}

/// A JSON body that may be left out.
pub(crate) struct OptionalJson<T>(pub(crate) Option<T>);

impl<T: DeserializeOwned> FromRequest<Unscoped<App>> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Unscoped<App>) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        let bytes = read(&head.headers, body, app.limits()).await?;
        if bytes.is_empty() {
            return Ok(Self(None));
        }
        require_json(&head.headers)?;
        parse(&bytes).map(Self)
    }
}

pub(crate) fn require_json(headers: &HeaderMap) -> Result<(), Problem> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json")) {
        return Ok(());
    }
    let detail =
        if given.is_empty() { "the body has no content type".into() } else { format!("not JSON: {given}") };
    Err(Problem::new(ErrorType::UnsupportedMediaType, detail).hint("send `Content-Type: application/json`"))
}

pub(crate) async fn read(headers: &HeaderMap, mut body: Body, limits: Limits) -> Result<Bytes, Problem> {
    let too_large = || {
        Problem::new(ErrorType::TooLarge, format!("the body is longer than {} bytes", limits.max_body))
            .hint("put large content into a file and attach its path")
    };
    // A declared length is refused before a byte of it is read.
    let declared = headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > limits.max_body as u64) {
        return Err(too_large());
    }
    let mut bytes = BytesMut::new();
    while let Some(data) = next_data(&mut body, limits).await? {
        if bytes.len() + data.len() > limits.max_body {
            return Err(too_large());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}

/// Returns the next piece of the body; `None` at its end.
pub(crate) async fn next_data(body: &mut Body, limits: Limits) -> Result<Option<Bytes>, Problem> {
    loop {
        let frame = tokio::time::timeout(limits.stall, body.frame())
            .await
            .map_err(|_| Problem::invalid("the body stopped half way"))?;
        match frame {
            None => return Ok(None),
            Some(Err(error)) => return Err(Problem::invalid(format!("the body broke off: {error}"))),
            Some(Ok(frame)) => {
                // Trailers are ignored.
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}

fn empty() -> Problem {
    Problem::invalid("the body is empty; send a JSON object")
}

/// Accepts an object and nothing else: serde alone would accept the members of a struct from an array too,
/// and ignore unknown ones.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => {}
        Some(_) => return Err(Problem::invalid("the body must be a JSON object")),
        None => return Err(empty()),
    }
    let mut unknown = None;
    let mut note = |path: serde_ignored::Path<'_>| _ = unknown.get_or_insert_with(|| path.to_string());
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(serde_ignored::Deserializer::new(&mut json, &mut note));
    // A misspelt member is the reason when another is missing, so it is reported first.
    if let Some(path) = unknown {
        return Err(unknown_member::<T>(&path));
    }
    let value = parsed.map_err(|error| {
        let path = error.path().to_string();
        let place = if matches!(&*path, "." | "?") { "body".to_owned() } else { format!("field `{path}`") };
        Problem::invalid(format!("{place}: {}", error.into_inner()))
    })?;
    json.end().map_err(|error| Problem::invalid(format!("body: {error}")))?;
    Ok(value)
}

fn unknown_member<T: DeserializeOwned>(path: &str) -> Problem {
    // An optional member is written as `?` in the path.
    let path = path.replace(".?", "");
    let problem = Problem::invalid(format!("unknown member `{path}` in the body"));
    match members::names_of::<T>() {
        Some(names) if !path.contains('.') => problem.hint(format!("allowed are {}", names.join(", "))),
        _ => problem,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use omniglot_schema::{CancelRequest, CreateSessionRequest, MessageRequest};

    use super::*;

    const LIMITS: Limits = Limits {
        max_body: 64,
        stall: Duration::from_secs(60),
        heartbeat: Duration::from_secs(10),
        acp_clients: 1,
    };

    #[track_caller]
    fn refused<T: DeserializeOwned>(body: &str) -> String {
        let problem = parse::<T>(body.as_bytes()).err().expect("refused");
        assert_eq!(problem.details().status, 400);
        problem.details().detail.clone().unwrap()
    }

    #[test]
    fn an_error_names_the_field() {
        insta::assert_snapshot!(refused::<MessageRequest>(r#"{"message":5}"#), @"field `message`: invalid type: integer `5`, expected a string at line 1 column 12");
        insta::assert_snapshot!(refused::<MessageRequest>(r#"{"message":"m","attachments":[{}]}"#), @"field `attachments[0]`: missing field `path` at line 1 column 32");
        insta::assert_snapshot!(refused::<MessageRequest>("{}"), @"body: missing field `message` at line 1 column 2");
        insta::assert_snapshot!(refused::<MessageRequest>("{"), @"body: EOF while parsing an object at line 1 column 1");
        insta::assert_snapshot!(refused::<CancelRequest>(r#"{"queue":"burn"}"#), @"field `queue`: unknown variant `burn`, expected `keep` or `drop` at line 1 column 15");
        insta::assert_snapshot!(refused::<CancelRequest>("{} {}"), @"body: trailing characters at line 1 column 4");
    }

    #[test]
    fn only_an_object_is_taken() {
        for body in [r#"["hello"]"#, "5", "null", r#""text""#, "nonsense"] {
            assert_eq!(refused::<MessageRequest>(body), "the body must be a JSON object", "{body}");
        }
        assert_eq!(refused::<MessageRequest>(" \n"), "the body is empty; send a JSON object");
        assert!(parse::<CancelRequest>(b" {} ").is_ok());
    }

    #[test]
    fn an_unknown_member_is_named_with_the_known_ones() {
        let body = br#"{"message":"m","delivry":"reject"}"#;
        let problem = parse::<MessageRequest>(body).err().unwrap();
        insta::assert_snapshot!(problem.details().detail.as_ref().unwrap(), @"unknown member `delivry` in the body");
        insta::assert_snapshot!(problem.details().hint.as_ref().unwrap(), @"allowed are message, attachments, delivery, client_ids, metadata");
        insta::assert_snapshot!(refused::<CreateSessionRequest>(r#"{"agnt":"mock"}"#), @"unknown member `agnt` in the body");
        insta::assert_snapshot!(refused::<MessageRequest>(r#"{"message":"m","attachments":[{"path":"p","x":{}}]}"#), @"unknown member `attachments.0.x` in the body");
        let nested = r#"{"agent":"a","skills":{"sources":[{"type":"t","source":"s","refs":1}]}}"#;
        insta::assert_snapshot!(refused::<CreateSessionRequest>(nested), @"unknown member `skills.sources.0.refs` in the body");
        let server = r#"{"agent":"a","mcp":{"s":{"type":"local","command":"c","dir":"/"}}}"#;
        assert!(refused::<CreateSessionRequest>(server).contains("unknown field `dir`, expected one of"));
    }

    #[test]
    fn only_json_media_types_pass() {
        let check = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, http::HeaderValue::from_static(value));
            require_json(&headers).is_ok()
        };
        assert!(
            check("application/json")
                && check("Application/JSON; charset=utf-8")
                && check("application/a+json")
        );
        // A web page can send these to any address without a preflight request.
        assert!(!check("text/plain") && !check("application/x-www-form-urlencoded") && !check(""));
        assert_eq!(require_json(&HeaderMap::new()).unwrap_err().details().status, 415);
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_refused() {
        let headers = HeaderMap::new();
        assert_eq!(read(&headers, Body::from("x".repeat(64)), LIMITS).await.unwrap().len(), 64);
        let problem = read(&headers, Body::from("x".repeat(65)), LIMITS).await.unwrap_err();
        assert_eq!(problem.details().status, 413);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_half_way_is_refused() {
        let endless = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
        let problem = read(&HeaderMap::new(), endless, LIMITS).await.unwrap_err();
        assert_eq!(problem.details().detail.as_deref(), Some("the body stopped half way"));
    }
}

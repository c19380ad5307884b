//! A file as an answer: whole or one range, streamed, and never shown by a browser as a page of ours.

use std::fs::{File, Metadata};
use std::io::SeekFrom;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_RANGE, RANGE, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio_util::io::ReaderStream;

use super::refusal;
use crate::http::problem::Problem;

const PIECE: usize = 64 << 10;

#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Whole,
    /// The first byte and the number of bytes.
    Part(u64, u64),
    Nothing,
}

pub(super) async fn respond(
    file: File,
    metadata: &Metadata,
    path: &Path,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let length = metadata.len();
    let etag =
        format!("\"{:x}-{:x}.{:x}-{length:x}\"", metadata.ino(), metadata.mtime(), metadata.mtime_nsec());
    let (status, first, count) = match wanted(headers, &etag, length) {
        Wanted::Whole => (StatusCode::OK, 0, length),
        Wanted::Part(first, count) => (StatusCode::PARTIAL_CONTENT, first, count),
        Wanted::Nothing => return Ok(no_such_range(length)),
    };
    let mut file = tokio::fs::File::from_std(file);
    file.seek(SeekFrom::Start(first)).await.map_err(|error| refusal::io(path, &error))?;
    let body = Body::from_stream(ReaderStream::with_capacity(file.take(count), PIECE));
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    for (name, value) in FIXED {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(CONTENT_LENGTH, count.into());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = utf8_percent_encode(&name, NON_ALPHANUMERIC);
    set(headers, CONTENT_DISPOSITION, format!("attachment; filename*=UTF-8''{name}"));
    set(headers, ETAG, etag);
    if status == StatusCode::PARTIAL_CONTENT {
        set(headers, CONTENT_RANGE, format!("bytes {first}-{}/{length}", first + count - 1));
    }
    Ok(response)
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: String) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

fn no_such_range(length: u64) -> Response {
    let problem = Problem::invalid(format!("the file has {length} bytes, and no such range"));
    let mut response = problem.status(StatusCode::RANGE_NOT_SATISFIABLE).into_response();
    set(response.headers_mut(), CONTENT_RANGE, format!("bytes */{length}"));
    response
}

fn wanted(headers: &HeaderMap, etag: &str, length: u64) -> Wanted {
    let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or_default());
    match (text(RANGE), text(IF_RANGE)) {
        (None, _) => Wanted::Whole,
        (Some(_), Some(tag)) if tag != etag => Wanted::Whole,
        (Some(range), _) => part(range, length),
    }
}

/// Reads one range. Other units, and several ranges at once, are answered with the whole file.
fn part(range: &str, length: u64) -> Wanted {
    let Some(range) = range.trim().strip_prefix("bytes=").filter(|range| !range.contains(',')) else {
        return Wanted::Whole;
    };
    let Some((first, last)) = range.split_once('-') else { return Wanted::Nothing };
    let end = length.saturating_sub(1);
    let (first, last) = match (number(first), number(last)) {
        (Some(first), Some(last)) => (first, last.min(end)),
        (Some(first), None) if last.is_empty() => (first, end),
        (None, Some(count)) if first.is_empty() && count > 0 => (length.saturating_sub(count), end),
        _ => return Wanted::Nothing,
    };
    if first >= length || last < first { Wanted::Nothing } else { Wanted::Part(first, last - first + 1) }
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Somebody else chose these bytes: a browser must neither guess their type nor run anything in them.
const FIXED: [(HeaderName, &str); 5] = [
    (CONTENT_TYPE, "application/octet-stream"),
    (ACCEPT_RANGES, "bytes"),
    (CACHE_CONTROL, "private, no-cache"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_cut_to_the_file() {
        for (range, expected) in [
            ("bytes=0-0", Wanted::Part(0, 1)),
            ("bytes=2-5", Wanted::Part(2, 4)),
            ("bytes=2-", Wanted::Part(2, 8)),
            ("bytes=2-99", Wanted::Part(2, 8)),
            ("bytes=-3", Wanted::Part(7, 3)),
            ("bytes=-99", Wanted::Part(0, 10)),
            ("lines=1-2", Wanted::Whole),
            ("bytes=0-1,3-4", Wanted::Whole),
        ] {
            assert_eq!(part(range, 10), expected, "{range}");
        }
    }

    #[test]
    fn a_range_that_is_not_there_is_refused() {
        let bad = [
            "bytes=10-",
            "bytes=5-4",
            "bytes=-0",
            "bytes=-",
            "bytes=",
            "bytes=a-b",
            "bytes=+1-2",
            "bytes=1",
            "bytes=--1",
        ];
        for range in bad.into_iter().chain(["bytes=99999999999999999999-"]) {
            assert_eq!(part(range, 10), Wanted::Nothing, "{range}");
        }
        for range in ["bytes=0-", "bytes=-1", "bytes=0-0"] {
            assert_eq!(part(range, 0), Wanted::Nothing, "{range}");
        }
    }

    #[test]
    fn a_range_of_another_file_is_the_whole_file() {
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, HeaderValue::from_static("bytes=1-2"));
        assert_eq!(wanted(&headers, "\"a\"", 10), Wanted::Part(1, 2));
        headers.insert(IF_RANGE, HeaderValue::from_static("\"a\""));
        assert_eq!(wanted(&headers, "\"a\"", 10), Wanted::Part(1, 2));
        assert_eq!(wanted(&headers, "\"b\"", 10), Wanted::Whole);
    }
}

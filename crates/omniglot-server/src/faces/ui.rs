//! The screen in the browser: the files of ui/dist, which are part of the program.
//!
//! They are the same for everybody and hold no data, so they need no token; the page reads everything through the
//! REST face, with the token of its address's fragment. A name that is not in the table is not found, and never
//! another route.

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use omniglot_schema::ErrorType;

use crate::http::problem::Problem;

/// The routes, all of which are open.
pub(crate) const ROUTES: [&str; 3] = ["GET /ui", "GET /ui/", "GET /ui/{file}"];

const PAGE: &str = "index.html";

/// One file, in each form that it is sent in.
struct File {
    name: &'static str,
    plain: &'static [u8],
    gzip: &'static [u8],
    brotli: &'static [u8],
}

const FILES: &[File] = &include!("../../../../ui/dist/table.rs");

pub(crate) fn router() -> Router {
    Router::new().route("/ui", get(to_the_page)).route("/ui/", get(page)).route("/ui/{file}", get(file))
}

/// The address without its slash would make the page look for its files in the wrong place. The answer is relative,
/// so that it is right behind a proxy, and browsers keep the fragment.
async fn to_the_page() -> Response {
    guarded((StatusCode::TEMPORARY_REDIRECT, [(LOCATION, "ui/")]).into_response())
}

async fn page(headers: HeaderMap) -> Response {
    answer(PAGE, &headers)
}

async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    answer(&name, &headers)
}

fn answer(name: &str, headers: &HeaderMap) -> Response {
    let Some(file) = FILES.iter().find(|file| file.name == name) else {
        let problem = Problem::new(ErrorType::NotFound, format!("the screen has no file {name}"));
        return guarded(problem.hint("the page is at /ui/").into_response());
    };
    let (encoding, bytes) = file.accepted_by(headers);
    let cached = if name == PAGE { "no-cache" } else { "public, max-age=31536000, immutable" };
    let headers = [(CONTENT_TYPE, file.mime()), (CACHE_CONTROL, cached), (VARY, "accept-encoding")];
    let mut response = (headers, Body::from(bytes)).into_response();
    if let Some(encoding) = encoding {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    guarded(response)
}

impl File {
    /// Returns the shortest form that a client takes, with its name.
    fn accepted_by(&self, headers: &HeaderMap) -> (Option<&'static str>, &'static [u8]) {
        [("br", self.brotli), ("gzip", self.gzip)]
            .into_iter()
            .find(|(encoding, _)| accepts(headers, encoding))
            .map_or((None, self.plain), |(encoding, bytes)| (Some(encoding), bytes))
    }

    fn mime(&self) -> &'static str {
        match self.name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            _ => "application/octet-stream",
        }
    }
}

/// Whether the client names the encoding and does not refuse it by `q=0`.
fn accepts(headers: &HeaderMap, encoding: &str) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(encoding));
        let refused = |part: &str| {
            let quality = part.strip_prefix("q=").or_else(|| part.strip_prefix("Q="));
            quality.is_some_and(|q| q.parse().is_ok_and(|q: f32| q <= 0.0))
        };
        named && !parts.any(refused)
    })
}

/// Adds what every answer below `/ui` has.
fn guarded(mut response: Response) -> Response {
    for (name, value) in FIXED {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The page runs its own script and nothing else, asks this daemon and nobody else, and writes no HTML. Pictures of
/// sessions are fetched with the token and shown as `blob:`.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
    media-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

const FIXED: [(HeaderName, &str); 5] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn taking(encodings: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(encodings))])
    }

    #[track_caller]
    fn encoding(encodings: &'static str) -> Option<String> {
        let response = answer(PAGE, &taking(encodings));
        response.headers().get(CONTENT_ENCODING).map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn the_client_gets_the_shortest_form_that_it_takes() {
        assert_eq!(encoding("gzip, deflate, br, zstd").as_deref(), Some("br"));
        assert_eq!(encoding("GZIP;q=0.5, br;q=0").as_deref(), Some("gzip"));
        assert_eq!(encoding("identity, br;q=0.0, gzip; q=0"), None);
        assert_eq!(encoding("brotli, x-gzip"), None);
    }

    #[test]
    fn the_page_names_only_files_that_are_there_and_nothing_elsewhere() {
        let page = FILES.iter().find(|file| file.name == PAGE).unwrap();
        let text = std::str::from_utf8(page.plain).unwrap();
        let named: Vec<_> = ["src=\"", "href=\""]
            .iter()
            .flat_map(|start| text.split(start).skip(1))
            .map(|rest| rest.split('"').next().unwrap())
            .collect();
        assert!(named.len() >= 2, "{text}");
        for name in named {
            assert!(FILES.iter().any(|file| file.name == name.trim_start_matches("./")), "{name}: {text}");
        }
    }

    #[test]
    fn every_form_of_a_file_has_the_same_content() {
        for file in FILES {
            let mut unpacked = vec![];
            flate2::read::GzDecoder::new(file.gzip).read_to_end(&mut unpacked).unwrap();
            assert!(unpacked == file.plain, "{}", file.name);
            assert!(!file.brotli.is_empty() && file.brotli.len() <= file.gzip.len(), "{}", file.name);
        }
    }

    #[test]
    fn the_policy_lets_nothing_in_line_run() {
        assert!(!POLICY.contains("unsafe") && !POLICY.contains('*') && !POLICY.contains("http"), "{POLICY}");
    }
}

//! The directory of a request: named in the query, in a header, or not at all; all three forms are
//! equivalent.

use std::convert::Infallible;
use std::path::Path;

use axum::extract::{FromRequestParts, Query};
use http::request::Parts;
use percent_encoding::percent_decode_str;
use serde::Deserialize;

const HEADER: &str = "x-opencode-directory";

/// The directory of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directory {
    /// The directory that the client named, as sessions have it: with links resolved, if it exists.
    named: Option<String>,
}

impl Directory {
    fn new(named: Option<&str>) -> Self {
        Self { named: named.map(resolved) }
    }

    /// Returns the directory; without a name that is the daemon's own.
    pub(crate) fn path(&self) -> String {
        self.named.clone().unwrap_or_else(|| resolved("."))
    }

    /// Whether a client sees sessions of `directory`; without a name it sees all.
    pub(crate) fn shows(&self, directory: Option<&str>) -> bool {
        self.named.is_none() || self.named.as_deref() == directory
    }
}

fn resolved(path: &str) -> String {
    let found = std::fs::canonicalize(path).ok();
    found.as_deref().unwrap_or(Path::new(path)).to_string_lossy().into_owned()
}

#[derive(Deserialize)]
struct Named {
    directory: Option<String>,
    /// The newer routes use this name.
    #[serde(rename = "location[directory]")]
    location: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Directory {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let query = Query::<Named>::try_from_uri(&parts.uri).ok().map(|Query(named)| named);
        let in_query = query.and_then(|named| named.directory.or(named.location));
        let header = || {
            let value = parts.headers.get(HEADER)?.as_bytes();
            // The SDK percent-encodes the value, scripts may not.
            let text = std::str::from_utf8(value).ok()?;
            Some(percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), Into::into))
        };
        let named = in_query.or_else(header).filter(|named| !named.is_empty());
        Ok(Self::new(named.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    async fn named(uri: &str, header: Option<&str>) -> Option<String> {
        let mut request = Request::builder().uri(uri);
        if let Some(header) = header {
            request = request.header(HEADER, header);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        let Ok(directory) = Directory::from_request_parts(&mut parts, &()).await;
        directory.named
    }

    #[tokio::test]
    async fn query_and_header_mean_the_same_and_the_query_wins() {
        assert_eq!(named("/path?directory=%2Fa%20b", None).await.unwrap(), "/a b");
        assert_eq!(named("/path", Some("%2Fa%20b")).await.unwrap(), "/a b");
        assert_eq!(named("/path", Some("/a b")).await.unwrap(), "/a b");
        assert_eq!(named("/api/x?location%5Bdirectory%5D=%2Fa", None).await.unwrap(), "/a");
        assert_eq!(named("/path?directory=%2Fa", Some("/b")).await.unwrap(), "/a");
        assert_eq!(named("/path?directory=", None).await, None);
    }

    #[test]
    fn links_lead_to_the_directory_that_sessions_have() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let directory = Directory::new(link.to_str());
        assert_eq!(directory.path(), real.to_str().unwrap());
        assert!(directory.shows(real.to_str()) && !directory.shows(Some("/")) && !directory.shows(None));
        assert!(Directory::new(None).shows(None));
    }
}

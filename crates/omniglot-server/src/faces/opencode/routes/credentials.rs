//! The credentials of OpenCode's clients: the token as the password of any user, in a header or in the query.
//! `access` checks the token.

use std::borrow::Cow;

use axum::extract::Query;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Uri};
use serde::Deserialize;

/// The path prefix of this face.
pub(crate) const PREFIX: &str = "/opencode";

/// OpenCode's web page requests this at the root of a host, whatever the path of the server's address is.
pub(crate) const PROBE: &str = "/global/health";

pub(crate) fn is_ours(uri: &Uri) -> bool {
    let below = uri.path().strip_prefix(PREFIX);
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) || uri.path() == PROBE
}

/// Splits the agent that a path below the prefix prefers off it: `/agents/NAME/rest` is `/rest`.
pub(crate) fn preferred_agent(path: &str) -> Option<(&str, String)> {
    let rest = path.strip_prefix("/agents/")?;
    let (agent, rest) = rest.split_once('/').unwrap_or((rest, ""));
    Some((agent, format!("/{rest}")))
}

/// Returns the path as this face's routes have it, with the prefix.
pub(crate) fn without_agent(path: &str) -> Cow<'_, str> {
    match path.strip_prefix(PREFIX).and_then(preferred_agent) {
        Some((_, rest)) => format!("{PREFIX}{rest}").into(),
        None => path.into(),
    }
}

/// Returns the password of a request, if it carries one in OpenCode's way.
pub(crate) fn password(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    header.and_then(basic).or_else(|| in_query(uri))
}

fn basic(header: &str) -> Option<String> {
    let (scheme, credentials) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("basic").then(|| decode(credentials))?
}

/// Browsers cannot set headers on an event stream.
fn in_query(uri: &Uri) -> Option<String> {
    #[derive(Deserialize)]
    struct Shown {
        auth_token: String,
    }
    let Query(shown) = Query::<Shown>::try_from_uri(uri).ok()?;
    decode(&shown.auth_token)
}

fn decode(credentials: &str) -> Option<String> {
    let text = String::from_utf8(STANDARD.decode(credentials.trim()).ok()?).ok()?;
    text.split_once(':').map(|(_, password)| password.to_owned())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn shown(header: Option<&str>, uri: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        if let Some(header) = header {
            headers.insert(AUTHORIZATION, HeaderValue::from_str(header).unwrap());
        }
        password(&headers, &uri.parse().unwrap())
    }

    #[test]
    fn the_password_stands_in_the_header_or_in_the_query() {
        let credentials = STANDARD.encode("anybody:pa:ss");
        assert_eq!(shown(Some(&format!("Basic {credentials}")), "/opencode/path").unwrap(), "pa:ss");
        let uri = format!("/opencode/event?directory=%2Fx&auth_token={}", credentials.replace('=', "%3D"));
        assert_eq!(shown(None, &uri).unwrap(), "pa:ss");
    }

    #[test]
    fn anything_else_shows_nothing() {
        for header in ["Bearer good", "Basic", "Basic !!", "Basic bm9jb2xvbg=="] {
            assert_eq!(shown(Some(header), "/opencode/path"), None, "{header}");
        }
        assert_eq!(shown(None, "/opencode/path?auth_token=x"), None);
    }

    #[test]
    fn only_paths_below_the_prefix_are_ours() {
        let ours = |path: &str| is_ours(&path.parse().unwrap());
        assert!(ours("/opencode") && ours("/opencode/event?x=1"));
        assert!(!ours("/opencodes") && !ours("/v1/opencode"));
    }
}

//! File paths as `file://` URIs and back, and percent-encoding, for adapters and faces alike.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Every byte but the unreserved ones of RFC 3986 and the slash.
const RESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Encodes a text for a path or a query value.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Decodes what was percent-encoded; `None` if the result is no text.
pub fn decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(Into::into)
}

/// Returns the URI of an absolute path. A text that is no absolute path is returned unchanged.
pub fn of_path(path: &str) -> String {
    if path.starts_with('/') { format!("file://{}", encoded(path)) } else { path.to_owned() }
}

/// Returns the path of a `file://` URI; `None` for every other URI.
pub fn to_path(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix("file://")?;
    // Editors append line numbers.
    let rest = rest.split(['#', '?']).next().unwrap_or(rest);
    let path = rest.get(rest.find('/')?..)?;
    decoded(path)
}

/// Returns the last part of a path or URI.
pub fn name_of(address: &str) -> &str {
    address.rsplit('/').find(|part| !part.is_empty()).unwrap_or(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_way_there_and_back() {
        for path in ["/w/read me.md", "/w/100%/ä#?.txt", "/plain"] {
            assert_eq!(to_path(&of_path(path)).as_deref(), Some(path));
        }
        assert_eq!(of_path("/w/read me-._~.md"), "file:///w/read%20me-._~.md");
        assert_eq!(of_path("relative path"), "relative path");
        assert_eq!(encoded("/w/a b&c=ü"), "/w/a%20b%26c%3D%C3%BC");
        assert_eq!(decoded("/w/a%20b#c?d").as_deref(), Some("/w/a b#c?d"));
        assert_eq!(decoded("/%ff"), None);
    }

    #[test]
    fn only_a_file_has_a_path() {
        assert_eq!(to_path("https://a.example/b"), None);
        assert_eq!(to_path("file:///a/b.rs#L3:7").as_deref(), Some("/a/b.rs"));
        assert_eq!(to_path("file:///a%20b/c.rs?start=1&end=9").as_deref(), Some("/a b/c.rs"));
        assert_eq!(to_path("file://localhost/a").as_deref(), Some("/a"));
        assert_eq!(to_path("file:///bad%2").as_deref(), Some("/bad%2"));
        assert_eq!(to_path("file:///%ff"), None);
    }
}

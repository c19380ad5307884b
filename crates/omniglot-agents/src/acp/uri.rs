//! File paths as `file://` URIs and back.

use std::path::Path;

/// The URI of an absolute path; bytes beyond the unreserved set are percent-encoded.
pub(crate) fn from_path(path: &Path) -> String {
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(*byte))
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The path in a `file://` URI; any other URI stays as it is.
pub(crate) fn to_path(uri: &str) -> String {
    let Some(path) = uri.strip_prefix("file://") else { return uri.to_owned() };
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'%', [high, low, after @ ..]) if let Some(byte) = hex(*high, *low) => {
                bytes.push(byte);
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? * 16 + digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_way_there_and_back() {
        for path in ["/w/read me.md", "/w/100%/ä#?.txt", "/plain"] {
            assert_eq!(to_path(&from_path(Path::new(path))), path);
        }
        assert_eq!(from_path(Path::new("/w/read me.md")), "file:///w/read%20me.md");
        assert_eq!(to_path("https://example.org/a%20b"), "https://example.org/a%20b");
        assert_eq!(to_path("file:///bad%2"), "/bad%2");
    }
}

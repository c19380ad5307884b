//! File paths as `file://` URIs and back.

/// Returns the URI of an absolute path; bytes beyond the unreserved set are percent-encoded. A text that is
/// no absolute path is returned unchanged.
pub(crate) fn of_path(path: &str) -> String {
    if !path.starts_with('/') {
        return path.to_owned();
    }
    let encoded = path.bytes().map(|byte| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    });
    std::iter::once("file://".to_owned()).chain(encoded).collect()
}

/// Returns the path of a `file://` URI; `None` for every other URI.
pub(crate) fn to_path(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix("file://")?;
    // Editors append line numbers.
    let rest = rest.split(['#', '?']).next().unwrap_or(rest);
    let path = &rest.get(rest.find('/')?..)?;
    let mut bytes = vec![];
    let mut left = path.bytes();
    while let Some(byte) = left.next() {
        bytes.push(if byte == b'%' { hex(left.next()?)? * 16 + hex(left.next()?)? } else { byte });
    }
    String::from_utf8(bytes).ok()
}

/// Returns the last part of a path or URI.
pub(crate) fn name_of(address: &str) -> &str {
    address.rsplit('/').find(|part| !part.is_empty()).unwrap_or(address)
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_way_there_and_back() {
        for path in ["/w/read me.md", "/w/100%/ä#?.txt", "/plain"] {
            assert_eq!(to_path(&of_path(path)).as_deref(), Some(path));
        }
    }

    #[test]
    fn only_a_file_has_a_path() {
        assert_eq!(to_path("https://a.example/b"), None);
        assert_eq!(to_path("file:///a/b.rs#L3:7").as_deref(), Some("/a/b.rs"));
        assert_eq!(to_path("file://localhost/a").as_deref(), Some("/a"));
        assert_eq!(to_path("file:///a%zz"), None);
    }
}

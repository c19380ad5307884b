//! `data:` URLs: files that stand inside a request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use percent_encoding::percent_decode_str;

/// The content of a `data:` URL, and its type if the URL tells one.
#[derive(Debug, PartialEq, Eq)]
pub struct DataUrl {
    pub mime: Option<String>,
    pub bytes: Bytes,
}

impl DataUrl {
    /// Returns `None` when the text is no `data:` URL, or one that cannot be decoded.
    pub fn parse(url: &str) -> Option<Self> {
        let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
        let bytes = match head.strip_suffix(";base64") {
            Some(_) => STANDARD.decode(data).ok()?.into(),
            None => percent_decode_str(data).collect::<Vec<u8>>().into(),
        };
        let mime = head.split(';').next().filter(|mime| mime.contains('/'));
        Some(Self { mime: mime.map(str::to_owned), bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_become_bytes() {
        let url = |text: &str| DataUrl::parse(text).map(|url| (url.mime.unwrap_or_default(), url.bytes));
        assert_eq!(url("data:text/plain;base64,aGk=").unwrap(), ("text/plain".into(), "hi".into()));
        assert_eq!(url("data:text/plain,a%20b").unwrap(), ("text/plain".into(), "a b".into()));
        assert_eq!(url("data:,x").unwrap(), (String::new(), "x".into()));
        for bad in ["data:text/plain;base64,!", "data:x", "file:///x", "text/plain,a"] {
            assert!(url(bad).is_none(), "{bad}");
        }
    }
}

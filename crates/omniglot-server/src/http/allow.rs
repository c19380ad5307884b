//! Hosts and web origins that are allowed beside our own, in the form in which requests name them.
//!
//! A value that no request could ever match is refused here: it would look like a permission and be none.
//! The check itself is in `access`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use http::uri::Authority;

/// A name in `Host`, in lower case: with a port it matches only that port, without one any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedHost(String);

/// A web origin as browsers send it: scheme, host and port, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedOrigin(String);

/// The reason why a value could never match a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NeverMatches {
    #[error("there are no wildcards; name each one")]
    Wildcard,
    #[error("`null` is sent by every page without an address; serve the page from one and name that")]
    Null,
    #[error("a host is NAME or NAME:PORT, such as box.example.com")]
    NoHost,
    #[error("an origin is SCHEME://HOST or SCHEME://HOST:PORT, such as https://app.example.com")]
    NoOrigin,
    #[error("browsers leave out the port {port} of {scheme}; leave it out too")]
    DefaultPort { scheme: &'static str, port: u16 },
}

impl AllowedHost {
    /// `name` is the host alone, `host` the value as it was sent; both in lower case.
    pub(crate) fn matches(&self, name: &str, host: &Authority) -> bool {
        self.0 == name || self.0 == host.as_str()
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for AllowedHost {
    type Err = NeverMatches;

    fn from_str(text: &str) -> Result<Self, NeverMatches> {
        let text = text.to_ascii_lowercase();
        if text.contains('*') {
            return Err(NeverMatches::Wildcard);
        }
        // An IPv6 address may be given without its brackets.
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Ok(Self(ip.to_string()));
        }
        let host = authority(&text).ok_or(NeverMatches::NoHost)?;
        Ok(Self(if host.port().is_some() { text } else { bare(&host).to_owned() }))
    }
}

impl AllowedOrigin {
    pub(crate) fn matches(&self, origin: &str) -> bool {
        self.0 == origin
    }
}

impl fmt::Display for AllowedOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for AllowedOrigin {
    type Err = NeverMatches;

    fn from_str(text: &str) -> Result<Self, NeverMatches> {
        let text = text.to_ascii_lowercase();
        let text = text.strip_suffix('/').unwrap_or(&text);
        if text == "null" {
            return Err(NeverMatches::Null);
        }
        if text.contains('*') {
            return Err(NeverMatches::Wildcard);
        }
        let (scheme, rest) = text.split_once("://").ok_or(NeverMatches::NoOrigin)?;
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
        if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.bytes().all(allowed) {
            return Err(NeverMatches::NoOrigin);
        }
        let authority = authority(rest).ok_or(NeverMatches::NoOrigin)?;
        for (known, port) in [("http", 80), ("https", 443)] {
            if scheme == known && authority.port_u16() == Some(port) {
                return Err(NeverMatches::DefaultPort { scheme: known, port });
            }
        }
        Ok(Self(text.to_owned()))
    }
}

/// Parses a host with or without a port, and nothing else.
fn authority(text: &str) -> Option<Authority> {
    let authority = text.parse::<Authority>().ok()?;
    let after_host = text.strip_prefix(authority.host())?;
    let whole = after_host.is_empty() || authority.port_u16().is_some();
    (whole && !bare(&authority).is_empty()).then_some(authority)
}

/// Returns the host without its port, brackets and the dot that ends a full name.
pub(crate) fn bare(host: &Authority) -> &str {
    host.host().trim_start_matches('[').trim_end_matches(']').trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn host(text: &str) -> Result<String, NeverMatches> {
        text.parse::<AllowedHost>().map(|host| host.0)
    }

    #[track_caller]
    fn origin(text: &str) -> Result<String, NeverMatches> {
        text.parse::<AllowedOrigin>().map(|origin| origin.0)
    }

    #[test]
    fn a_host_is_a_name_or_an_address_with_or_without_a_port() {
        for (text, kept) in [
            ("Box.Example", "box.example"),
            ("box.example.", "box.example"),
            ("box:8080", "box:8080"),
            ("10.0.0.1", "10.0.0.1"),
            ("::2", "::2"),
            ("[::2]", "::2"),
            ("[::2]:80", "[::2]:80"),
        ] {
            assert_eq!(host(text).as_deref(), Ok(kept), "{text}");
        }
    }

    #[test]
    fn a_host_that_never_matches_is_refused() {
        for text in ["", ".", "a b", "http://box", "box/path", "me@box", "box:", "box:99999", "bäx"] {
            assert_eq!(host(text), Err(NeverMatches::NoHost), "{text}");
        }
        for text in ["*", "*.example.com"] {
            assert_eq!(host(text), Err(NeverMatches::Wildcard), "{text}");
        }
    }

    #[test]
    fn an_origin_is_a_scheme_a_host_and_perhaps_a_port() {
        for (text, kept) in [
            ("https://App.Example/", "https://app.example"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://[::1]:3000", "http://[::1]:3000"),
            ("http://x:443", "http://x:443"),
            ("chrome-extension://abc", "chrome-extension://abc"),
        ] {
            assert_eq!(origin(text).as_deref(), Ok(kept), "{text}");
        }
    }

    #[test]
    fn an_origin_that_never_matches_is_refused() {
        for text in
            ["", "app.example", "localhost:3000", "https://", "https://a/b", "https://a?b", "://a", "1a://a"]
        {
            assert_eq!(origin(text), Err(NeverMatches::NoOrigin), "{text}");
        }
        assert_eq!(origin("NULL"), Err(NeverMatches::Null));
        assert_eq!(origin("*"), Err(NeverMatches::Wildcard));
        assert_eq!(origin("https://*.example"), Err(NeverMatches::Wildcard));
        let port = NeverMatches::DefaultPort { scheme: "https", port: 443 };
        assert_eq!(origin("https://app.example:443"), Err(port));
    }
}

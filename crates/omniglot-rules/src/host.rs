//! Hosts of URLs. A URL whose host two readers could understand differently has none that a rule may allow.

/// Returns the host of a URL that is written plainly, in lower case and without the dot of the root.
pub(crate) fn of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, port),
        None => (authority, ""),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let host = host.strip_suffix('.').unwrap_or(host);
    let plain = !host.is_empty() && host.chars().all(is_plain) && port.chars().all(|c| c.is_ascii_digit());
    let printable = url.chars().all(|c| c.is_ascii_graphic() && c != '\\');
    (plain && printable).then(|| host.to_ascii_lowercase())
}

/// Whether a host fits the pattern of a rule.
pub(crate) fn fits(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix("*.") {
        Some(domain) => host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.') && rest.len() > 1),
        None => pattern == host,
    }
}

/// Whether a text may name a host that fits, read as generously as can be.
pub(crate) fn may_name(pattern: &str, text: &str) -> bool {
    let text = text.to_lowercase();
    let name = pattern.strip_prefix("*").unwrap_or(pattern);
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|after| after.chars().next());
        let begins = name.starts_with('.') || !before.is_some_and(|c| is_part(c) || c == '.');
        begins && !after.is_some_and(is_part)
    })
}

/// Returns the pattern in lower case, or what is wrong with it.
pub(crate) fn pattern(text: &str) -> Result<String, &'static str> {
    let name = text.strip_prefix("*.").unwrap_or(text);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if name.is_empty() || !name.chars().all(is_plain) || name.starts_with('.') || name.ends_with('.') {
        return Err("is no host; write `example.com`, or `*.example.com` for all below it");
    }
    Ok(text.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_read_only_from_a_url_that_nobody_reads_differently() {
        assert_eq!(of("https://Example.com/a?b").as_deref(), Some("example.com"));
        assert_eq!(of("http://example.com.:8080").as_deref(), Some("example.com"));
        for url in [
            "example.com",
            "https://user@example.com/",
            "https://evil.test\\@example.com/",
            "https://example.com:80@evil.test/",
            "https://example.com%2eevil.test/",
            "https://exаmple.com/",
            "https://[::1]/",
            "https:///example.com",
            "https://example.com\n.evil.test/",
            "file://example.com/etc",
            "javascript://example.com/",
            "https://example.com /",
        ] {
            assert_eq!(of(url), None, "{url}");
        }
    }

    #[test]
    fn a_star_stands_for_everything_below_a_domain_and_not_for_the_domain() {
        assert!(fits("*.example.com", "a.example.com") && fits("*.example.com", "a.b.example.com"));
        assert!(!fits("*.example.com", "example.com") && !fits("*.example.com", "badexample.com"));
        assert!(!fits("example.com", "example.com.evil.test"));
    }

    #[test]
    fn a_denied_host_is_found_however_it_is_written() {
        for text in ["curl https://user@EVIL.test:80/x", "//evil.test", "nc evil.test 80", "evil.test."] {
            assert!(may_name("evil.test", text), "{text}");
        }
        assert!(may_name("*.evil.test", "https://a.evil.test") && !may_name("evil.test", "notevil.test"));
    }
}

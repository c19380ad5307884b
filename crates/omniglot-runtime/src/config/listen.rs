//! The address that a daemon listens on: a port, or a socket in the file system.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// The bytes of a socket's path that the kernel has room for.
const LONGEST_SOCKET_PATH: usize = 107;

const UNIX: &str = "unix:";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    Tcp(SocketAddr),
    /// The absolute path of a socket, which is UTF-8.
    Unix(PathBuf),
}

impl Listen {
    /// Parses ADDRESS:PORT, where the address may be `localhost`, or `unix:PATH`, which is relative to `dir`.
    pub fn parse(text: &str, dir: &Path) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix(UNIX) {
            return socket_path(path, dir).map(Self::Unix);
        }
        let local = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
        let local = local.map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        local.or_else(|| text.parse().ok()).map(Self::Tcp).ok_or_else(|| {
            "expected an IP address and a port, such as \"127.0.0.1:2468\", \"[::1]:2468\" or \"0.0.0.0:2468\", or \
             \"unix:\" and the path of a socket"
                .to_owned()
        })
    }

    /// Returns the address that a daemon has announced by this URL.
    pub fn of_url(url: &str) -> Option<Self> {
        let address = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        match address.map(|address| address.trim_end_matches('/').parse()) {
            Some(address) => address.ok().map(Self::Tcp),
            None => url.strip_prefix(UNIX).map(|path| Self::Unix(path.into())),
        }
    }

    /// Whether only clients on this machine can connect.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl From<SocketAddr> for Listen {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

/// The form that [`Listen::parse`] reads.
impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

fn socket_path(path: &str, dir: &Path) -> Result<PathBuf, String> {
    if path.is_empty() || path.ends_with('/') || path.contains('\0') {
        return Err("expected the path of a socket, such as \"unix:/run/user/1000/omniglot.sock\"".into());
    }
    let path = std::path::absolute(dir.join(path)).map_err(|error| error.to_string())?;
    let Some(text) = path.to_str() else {
        return Err("the path of the socket is not UTF-8; choose another".into());
    };
    match text.len() {
        0..=LONGEST_SOCKET_PATH => Ok(path),
        length => Err(format!(
            "the path of a socket has at most {LONGEST_SOCKET_PATH} bytes, and {text} has {length}; choose a shorter one"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, String> {
        Listen::parse(text, Path::new("/etc/o")).map(|listen| listen.to_string())
    }

    #[test]
    fn a_socket_is_found_beside_the_configuration() {
        assert_eq!(parse("unix:/run/o.sock").unwrap(), "unix:/run/o.sock");
        assert_eq!(parse("unix:///run/o.sock").unwrap(), "unix:/run/o.sock");
        assert_eq!(parse("unix:o.sock").unwrap(), "unix:/etc/o/o.sock");
    }

    #[test]
    fn a_path_that_no_socket_can_have_is_refused() {
        for bad in ["unix:", "unix:/run/", "unix:a\0b"] {
            assert!(parse(bad).unwrap_err().contains("expected the path of a socket"), "{bad}");
        }
        assert!(parse(&format!("unix:/{}", "a".repeat(106))).is_ok());
        let refused = parse(&format!("unix:/{}", "a".repeat(107))).unwrap_err();
        assert!(refused.contains("107 bytes") && refused.contains("has 108"), "{refused}");
    }

    #[test]
    fn an_announced_address_is_read_back() {
        for (url, listen) in [
            ("http://[::1]:80", "[::1]:80"),
            ("https://[::1]:80", "[::1]:80"),
            ("unix:/run/o.sock", "unix:/run/o.sock"),
        ] {
            assert_eq!(Listen::of_url(url).unwrap().to_string(), listen);
        }
        assert_eq!(Listen::of_url("http://box:80"), None);
    }
}

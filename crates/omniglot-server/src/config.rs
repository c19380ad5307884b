//! The settings of a server: where to listen, who may connect, and its limits.
//!
//! Finding these values (command line, files, environment) is the binary's duty.

use std::fmt;
use std::time::Duration;

use omniglot_runtime::config::Listen;
use subtle::ConstantTimeEq as _;

use crate::admission::ConnectionLimits;
use crate::hooks::Hooks;
use crate::http::allow::{AllowedHost, AllowedOrigin};
use crate::listen::Tls;

#[derive(Debug, Clone)]
pub struct ServerConfig {
    pub listen: Listen,
    /// Whether another port will do where that one is taken.
    pub any_port: bool,
    /// The certificate of a port; without one it speaks plain HTTP.
    pub tls: Option<Tls>,
    /// `None` opens every route; only allowed on loopback.
    pub token: Option<Token>,
    /// Where a client finds the token, told to those on this machine who come without it.
    pub token_hint: String,
    /// Names in `Host` beside the loopback ones and the bound address.
    pub allow_hosts: Vec<AllowedHost>,
    /// Web origins beside our own, such as `https://app.example.com`.
    pub allow_origins: Vec<AllowedOrigin>,
    /// The longest request body, in bytes.
    pub max_body: usize,
    /// How long a peer may take nothing of what we have for it.
    pub stall: Duration,
    /// The longest silence on an event stream.
    pub heartbeat: Duration,
    pub connections: ConnectionLimits,
    /// How many ACP clients are remembered.
    pub acp_clients: usize,
    /// The hooks that clients may look at.
    pub hooks: Hooks,
}

impl ServerConfig {
    pub fn new(listen: impl Into<Listen>) -> Self {
        Self {
            listen: listen.into(),
            any_port: false,
            tls: None,
            token: None,
            token_hint: "start the request with the header `Authorization: Bearer <token>`".into(),
            allow_hosts: vec![],
            allow_origins: vec![],
            max_body: 8 << 20,
            stall: Duration::from_secs(60),
            heartbeat: Duration::from_secs(10),
            connections: ConnectionLimits::default(),
            acp_clients: 1000,
            hooks: Hooks::default(),
        }
    }
}

/// The secret that clients must show. It is never printed.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Takes the same time wherever the first difference is.
    pub(crate) fn matches(&self, shown: &str) -> bool {
        self.0.as_bytes().ct_eq(shown.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_printed() {
        assert_eq!(format!("{:?}", Token::new("secret")), "Token(***)");
    }

    #[test]
    fn only_the_whole_token_matches() {
        let token = Token::new("secret");
        assert!(token.matches("secret"));
        for bad in ["", "secre", "secret1", "SECRET"] {
            assert!(!token.matches(bad), "{bad}");
        }
    }
}

//! One request to the daemon, and the way that it takes: a port, a socket in the file system, or TLS.

use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Body, Method, RequestBuilder, Response, Url};
use serde::Serialize;

use crate::client::CONNECT_TIMEOUT;
use crate::error::ClientError;
use crate::tls::{TlsTransport, Trust};

/// The name by which a daemon behind a socket in the file system is called.
const HOST_OF_A_SOCKET: &str = "http://localhost/";

/// The way to one daemon. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Transport {
    /// Makes every request, and sends those that need no TLS.
    http: reqwest::Client,
    tls: Option<TlsTransport>,
}

impl Transport {
    /// Returns the way to `address`, and the address that requests are made of.
    pub(crate) fn to(address: &str, trust: Trust) -> Result<(Self, Url), ClientError> {
        // A proxy cannot reach a daemon on loopback, and must not see the token.
        let mut http =
            reqwest::Client::builder().tcp_nodelay(true).no_proxy().connect_timeout(CONNECT_TIMEOUT);
        let base = match address.strip_prefix("unix:").filter(|path| path.starts_with('/')) {
            Some(path) => {
                http = http.unix_socket(path);
                Url::parse(HOST_OF_A_SOCKET)
            }
            None => Url::parse(address),
        };
        let known = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        let base = base.ok().filter(known).ok_or_else(|| ClientError::Url(address.to_owned()))?;
        let tls = (base.scheme() == "https").then(|| TlsTransport::new(trust)).transpose()?;
        Ok((Self { http: http.build()?, tls }, base))
    }

    pub(crate) fn call(&self, method: Method, url: Url) -> Call {
        Call { request: self.http.request(method, url), tls: self.tls.clone() }
    }
}

/// A request that is being made.
pub(crate) struct Call {
    request: RequestBuilder,
    tls: Option<TlsTransport>,
}

impl Call {
    fn map(self, change: impl FnOnce(RequestBuilder) -> RequestBuilder) -> Self {
        Self { request: change(self.request), tls: self.tls }
    }

    pub(crate) fn header<N, V>(self, name: N, value: V) -> Self
    where
        HeaderName: TryFrom<N, Error: Into<http::Error>>,
        HeaderValue: TryFrom<V, Error: Into<http::Error>>,
    {
        self.map(|request| request.header(name, value))
    }

    pub(crate) fn bearer_auth(self, token: &str) -> Self {
        self.map(|request| request.bearer_auth(token))
    }

    pub(crate) fn json(self, body: &impl Serialize) -> Self {
        self.map(|request| request.json(body))
    }

    pub(crate) fn body(self, body: impl Into<Body>) -> Self {
        self.map(|request| request.body(body))
    }

    pub(crate) fn timeout(self, timeout: Duration) -> Self {
        self.map(|request| request.timeout(timeout))
    }

    #[cfg(test)]
    pub(crate) fn url(self) -> Url {
        self.request.build().unwrap().url().clone()
    }

    pub(crate) async fn send(self) -> Result<Response, ClientError> {
        match self.tls {
            None => Ok(self.request.send().await?),
            Some(tls) => tls.send(self.request.build()?).await,
        }
    }
}

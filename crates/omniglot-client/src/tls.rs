//! Requests over TLS, each on a connection of its own: the daemons that commands talk to are few, and so are their
//! requests.

mod trust;

use std::io;
use std::sync::Arc;

use http::header::HOST;
use http::{HeaderValue, Uri};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use reqwest::{Body, Request, Response, Url};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::client::CONNECT_TIMEOUT;
use crate::error::ClientError;
pub use trust::Trust;

#[derive(Clone)]
pub(crate) struct TlsTransport {
    connector: TlsConnector,
}

impl TlsTransport {
    pub(crate) fn new(trust: Trust) -> Result<Self, ClientError> {
        Ok(Self { connector: Arc::new(trust.config()?).into() })
    }

    pub(crate) async fn send(&self, request: Request) -> Result<Response, ClientError> {
        let silent = ClientError::Silent(CONNECT_TIMEOUT.as_secs());
        match request.timeout().copied() {
            Some(limit) => timeout(limit, self.exchange(request)).await.unwrap_or(Err(silent)),
            None => self.exchange(request).await,
        }
    }

    async fn exchange(&self, request: Request) -> Result<Response, ClientError> {
        let connected = timeout(CONNECT_TIMEOUT, self.connect(request.url())).await;
        let connected = connected.unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()));
        let stream = TokioIo::new(connected.map_err(|error| ClientError::Connect(error.into()))?);
        let broken = |error: hyper::Error| ClientError::Transport(error.into());
        let (mut sender, connection) = http1::handshake(stream).await.map_err(broken)?;
        // It ends with the answer, or as soon as nobody reads that any more.
        tokio::spawn(async move { connection.await.unwrap_or_default() });
        let response = sender.send_request(of_origin(request)?).await.map_err(broken)?;
        Ok(response.map(Body::wrap).into())
    }

    async fn connect(&self, url: &Url) -> io::Result<TlsStream<TcpStream>> {
        let host = url.host_str().unwrap_or_default();
        let stream = TcpStream::connect((bare(host), url.port_or_known_default().unwrap_or(443))).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from(bare(host).to_owned()).map_err(io::Error::other)?;
        self.connector.connect(name, stream).await
    }
}

/// Returns an IPv6 address without its brackets.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// Names the host in a header and the path alone in the first line, as servers expect it.
fn of_origin(request: Request) -> Result<http::Request<Body>, ClientError> {
    let mut request = http::Request::<Body>::try_from(request)?;
    let unfit = |error: &dyn std::fmt::Display| ClientError::Url(error.to_string());
    let authority = request.uri().authority().map(|authority| authority.as_str()).unwrap_or_default();
    let host = HeaderValue::from_str(authority).map_err(|error| unfit(&error))?;
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse::<Uri>().map_err(|error| unfit(&error))?;
    request.headers_mut().insert(HOST, host);
    Ok(request)
}

//! Requests over TLS, each on a connection of its own: the daemons that commands talk to are few, and so are their
//! requests.

mod trust;

use std::io;
use std::sync::Arc;
use std::time::Duration;

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

/// Less than what a call has that is answered at once, so that this is told first.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(4);

#[derive(Clone)]
pub(crate) struct TlsTransport {
    connector: TlsConnector,
}

impl TlsTransport {
    pub(crate) fn new(trust: Trust) -> Result<Self, ClientError> {
        Ok(Self { connector: Arc::new(trust.config()?).into() })
    }

    pub(crate) async fn send(&self, request: Request) -> Result<Response, ClientError> {
        let Some(limit) = request.timeout().copied() else { return self.exchange(request).await };
        let whole = async {
            let response = self.exchange(request).await?;
            let (status, headers) = (response.status(), response.headers().clone());
            let mut whole = http::Response::new(response.bytes().await?);
            (*whole.status_mut(), *whole.headers_mut()) = (status, headers);
            Ok(whole.into())
        };
        timeout(limit, whole).await.unwrap_or_else(|_elapsed| Err(ClientError::Silent(limit.as_secs())))
    }

    async fn exchange(&self, request: Request) -> Result<Response, ClientError> {
        let stream = TokioIo::new(self.connect(request.url()).await?);
        let broken = |error: hyper::Error| ClientError::Transport(error.into());
        let (mut sender, connection) = http1::handshake(stream).await.map_err(broken)?;
        // It ends with the answer, or as soon as nobody reads that any more.
        tokio::spawn(async move { connection.await.unwrap_or_default() });
        let response = sender.send_request(of_origin(request)?).await.map_err(broken)?;
        Ok(response.map(Body::wrap).into())
    }

    /// A daemon that accepts the connection and says nothing hangs; it is not absent.
    async fn connect(&self, url: &Url) -> Result<TlsStream<TcpStream>, ClientError> {
        let unreached = |error: io::Error| ClientError::Connect(error.into());
        let host = bare(url.host_str().unwrap_or_default());
        let address = (host, url.port_or_known_default().unwrap_or(443));
        let connected = timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await;
        let connected = connected.unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()));
        let stream = connected.map_err(unreached)?;
        stream.set_nodelay(true).map_err(unreached)?;
        let name =
            ServerName::try_from(host.to_owned()).map_err(|error| unreached(io::Error::other(error)))?;
        let secured = timeout(HANDSHAKE_TIMEOUT, self.connector.connect(name, stream)).await;
        let silent = |_elapsed| Err(ClientError::Silent(HANDSHAKE_TIMEOUT.as_secs()));
        secured.map_or_else(silent, |secured| secured.map_err(unreached))
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

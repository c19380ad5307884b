//! Makes one call: resolves the host, checks every address, and connects to one that was checked.
//!
//! Nothing is resolved a second time, no redirect is followed, no proxy is used. Everything has a time limit, and what
//! the receiver answers beside its status is thrown away.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use reqwest::Url;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::ServerName;

use super::address::is_public;
use super::hook::Hook;
use super::message::Message;
use super::trust;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The most that is read of an answer's head, and of its body.
const LONGEST_ANSWER: usize = 16 << 10;
/// The longest pause that a receiver can ask for.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Taken(u16),
    /// The receiver wants no more calls.
    Gone,
    /// The receiver does not take this body.
    Refused(u16),
    /// The receiver cannot be reached, or takes nothing at the moment.
    Failed {
        why: String,
        status: Option<u16>,
        after: Option<Duration>,
    },
    /// Nobody needs the call any more.
    Moot(&'static str),
}

impl Outcome {
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self, Self::Taken(_))
    }

    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Taken(status) | Self::Refused(status) => Some(*status),
            Self::Gone => Some(StatusCode::GONE.as_u16()),
            Self::Failed { status, .. } => *status,
            Self::Moot(_) => None,
        }
    }

    fn of(status: StatusCode, headers: &HeaderMap) -> Self {
        let code = status.as_u16();
        match code {
            200..=299 => Self::Taken(code),
            410 => Self::Gone,
            408 | 425 | 429 => Self::failed(format!("the receiver answered {code}"), status, headers),
            300..=399 => {
                let why = format!(
                    "the receiver answered {code}; redirects are not followed, so write the final address into `url`"
                );
                Self::failed(why, status, headers)
            }
            400..=499 => Self::Refused(code),
            _ => Self::failed(format!("the receiver answered {code}"), status, headers),
        }
    }

    fn failed(why: String, status: StatusCode, headers: &HeaderMap) -> Self {
        let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let after = seconds.map(|seconds| Duration::from_secs(seconds).min(LONGEST_RETRY_AFTER));
        Self::Failed { why, status: Some(status.as_u16()), after }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(status) => write!(f, "the receiver took it ({status})"),
            Self::Gone => write!(f, "the receiver answered 410: it wants no more calls"),
            Self::Refused(status) => write!(f, "the receiver refused it ({status})"),
            Self::Failed { why, .. } => f.write_str(why),
            Self::Moot(why) => f.write_str(why),
        }
    }
}

/// Makes calls. Tests have one that needs no network.
pub(crate) trait Transport: Send + Sync {
    fn call<'a>(&'a self, hook: &'a Hook, message: &'a Message) -> BoxFuture<'a, Outcome>;
}

/// Finds the addresses of a host.
pub(crate) trait Resolver: Send + Sync {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>>;
}

/// The resolver of the system.
pub(crate) struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}

/// Makes calls over the network.
pub(crate) struct Network {
    resolver: Arc<dyn Resolver>,
    limit: Duration,
}

/// The reason why there was no answer.
#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error("{host} was not found: {cause}")]
    Unknown { host: String, cause: io::Error },
    #[error("{host} has no address")]
    NoAddress { host: String },
    #[error(
        "{host} leads to {address}, which is no address of the internet; `allow_private = true` of the hook allows it"
    )]
    Private { host: String, address: IpAddr },
    #[error("{address} does not take connections: {cause}")]
    Unreachable { address: SocketAddr, cause: io::Error },
    #[error("the certificates that this machine trusts cannot be read: {0}")]
    NoTrust(String),
    #[error("there is no secure connection to {host}: {cause}")]
    Insecure { host: String, cause: io::Error },
    #[error("the connection broke: {0}")]
    Broken(hyper::Error),
    #[error("the request cannot be made: {0}")]
    Unfit(String),
}

impl Network {
    /// No call takes longer than `limit`.
    pub(crate) fn new(resolver: Arc<dyn Resolver>, limit: Duration) -> Self {
        Self { resolver, limit }
    }

    /// Returns the addresses of a host, if all of them may be called.
    async fn checked(&self, hook: &Hook, host: &str, port: u16) -> Result<Vec<SocketAddr>, CallError> {
        let addresses = self.resolver.resolve(host, port).await;
        let addresses = addresses.map_err(|cause| CallError::Unknown { host: host.to_owned(), cause })?;
        match addresses.iter().find(|address| !hook.allow_private && !is_public(address.ip())) {
            Some(private) => Err(CallError::Private { host: host.to_owned(), address: private.ip() }),
            None => Ok(addresses),
        }
    }

    async fn exchange(&self, hook: &Hook, message: &Message) -> Result<Outcome, CallError> {
        let request = request(hook, message)?;
        let host = message.url.host_str().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).to_owned();
        let port = message.url.port_or_known_default().unwrap_or(443);
        let addresses = self.checked(hook, &host, port).await?;
        let stream = connect(&addresses).await?.ok_or_else(|| CallError::NoAddress { host: host.clone() })?;
        if message.url.scheme() == "http" {
            return answer(stream, request).await;
        }
        let connector = trust::connector().map_err(CallError::NoTrust)?;
        let insecure = |cause| CallError::Insecure { host: host.clone(), cause };
        let name = ServerName::try_from(host.clone()).map_err(|error| insecure(io::Error::other(error)))?;
        answer(connector.connect(name, stream).await.map_err(insecure)?, request).await
    }
}

impl Transport for Network {
    fn call<'a>(&'a self, hook: &'a Hook, message: &'a Message) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let failed = |why: String| Outcome::Failed { why, status: None, after: None };
            match timeout(self.limit, self.exchange(hook, message)).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(error)) => failed(error.to_string()),
                Err(_elapsed) => failed(format!(
                    "the receiver did not answer within {} s; `hook_seconds` of [limits] gives it more",
                    self.limit.as_secs()
                )),
            }
        })
    }
}

/// Connects to the first of the addresses that takes the connection; `None` when there are none.
async fn connect(addresses: &[SocketAddr]) -> Result<Option<TcpStream>, CallError> {
    let mut last = None;
    for address in addresses {
        let connected = timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await;
        match connected.unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into())) {
            Ok(stream) => return Ok(Some(stream)),
            Err(cause) => last = Some(CallError::Unreachable { address: *address, cause }),
        }
    }
    last.map_or(Ok(None), Err)
}

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<Outcome, CallError> {
    let mut builder = http1::Builder::new();
    let builder = builder.max_buf_size(LONGEST_ANSWER);
    let (mut sender, connection) =
        builder.handshake(TokioIo::new(stream)).await.map_err(CallError::Broken)?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(CallError::Broken)?;
        let outcome = Outcome::of(response.status(), response.headers());
        // A receiver may log an error when nobody reads its answer to the end.
        drop(Limited::new(response.into_body(), LONGEST_ANSWER).collect().await);
        Ok(outcome)
    };
    tokio::pin!(connection, exchange);
    tokio::select! {
        biased;
        outcome = &mut exchange => outcome,
        ended = &mut connection => {
            ended.map_err(CallError::Broken)?;
            exchange.await
        }
    }
}

fn request(hook: &Hook, message: &Message) -> Result<Request<Full<Bytes>>, CallError> {
    let seconds = Timestamp::now().as_second();
    let url = &message.url;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut builder = Request::post(format!("{}{query}", url.path()))
        .header(HOST, format!("{}{port}", url.host_str().unwrap_or_default()))
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, concat!("omniglot/", env!("CARGO_PKG_VERSION")))
        .header("webhook-id", &message.id)
        .header("webhook-timestamp", seconds.to_string());
    if let Some(signature) = hook.key.as_ref().and_then(|key| key.sign(&message.id, seconds, &message.body)) {
        builder = builder.header("webhook-signature", signature);
    }
    if let Some(credentials) = credentials(url) {
        builder = builder.header(AUTHORIZATION, credentials);
    }
    builder.body(Full::new(message.body.clone())).map_err(|error| CallError::Unfit(error.to_string()))
}

/// Returns the user and password of an address as a header.
fn credentials(url: &Url) -> Option<String> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let pair = format!("{}:{}", plain(url.username()), plain(url.password().unwrap_or_default()));
    Some(format!("Basic {}", STANDARD.encode(pair)))
}

#[cfg(test)]
mod tests;

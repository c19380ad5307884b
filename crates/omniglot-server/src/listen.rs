//! Listens, accepts connections and ends them: one task per connection, all of them awaited at the end.
//!
//! The loop is our own because a connection needs what ready-made ones do not give: small buffers, a
//! stall guard below HTTP, and a stop that ends event streams only after what ended their turns was sent.

mod listener;
mod tls;
mod unix_socket;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use omniglot_runtime::Hub;
use omniglot_runtime::config::Listen;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::admission::{Admission, Ticket};
use crate::app::{App, Limits};
use crate::config::ServerConfig;
use crate::faces;
use crate::http::access::{Access, PeerAddr, Visitor};
use crate::http::metrics::HttpMetrics;
use crate::http::stall::StallGuard;

use listener::{Accepted, Listener};
pub use tls::{Tls, TlsError};
pub use unix_socket::SocketError;

/// The bytes of a response that hyper may buffer; a stopped reader costs little more than this.
const WRITE_BUFFER: usize = 32 << 10;

/// Longer than clients keep an idle connection, so that it is they who close it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(120);

/// How long clients may take to read what is left for them once nothing more comes.
const GRACE: Duration = Duration::from_secs(2);

const BACKLOG: u32 = 1024;

/// How often it is told that connections are not accepted.
const TELL_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("{0} is not a loopback address, and there is no token")]
    OpenToTheNetwork(Listen),
    #[error("cannot listen on {at}")]
    Listen {
        at: Listen,
        #[source]
        cause: SocketError,
    },
}

impl ServeError {
    /// Returns the advice for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::OpenToTheNetwork(_) => {
                Some("give a token with --token-file or OMNIGLOT_TOKEN, or listen on 127.0.0.1")
            }
            Self::Listen { cause: SocketError::Io(cause), .. }
                if cause.kind() == io::ErrorKind::AddrInUse =>
            {
                Some("another program listens there; choose another --port, or 0 for any free one")
            }
            Self::Listen { cause, .. } => cause.hint(),
        }
    }
}

/// A bound server; it answers once it runs.
pub struct Server {
    listener: Listener,
    at: Listen,
    router: Router,
    stop: Stop,
    stall: Duration,
    tls: Option<Tls>,
    admission: Arc<Admission>,
}

/// The two halves of a stop.
#[derive(Debug, Clone, Default)]
struct Stop {
    /// No connection takes another request.
    requests: CancellationToken,
    /// Every event stream ends as soon as it has sent what is committed.
    streams: CancellationToken,
}

impl Server {
    pub async fn bind(config: ServerConfig, hub: Hub) -> Result<Self, ServeError> {
        if config.token.is_none() && !config.listen.is_local() {
            return Err(ServeError::OpenToTheNetwork(config.listen));
        }
        let listener = Listener::bind(&config.listen, config.any_port).await?;
        let unknown =
            |cause: io::Error| ServeError::Listen { at: config.listen.clone(), cause: cause.into() };
        let at = listener.taken().map_err(unknown)?;
        let stop = Stop::default();
        // Nobody reads along on a socket that only its user can use.
        let tls = config.tls.clone().filter(|_| matches!(at, Listen::Tcp(_)));
        let ServerConfig { max_body, stall, heartbeat, acp_clients, .. } = config;
        let limits = Limits { max_body, stall, heartbeat, acp_clients };
        let http = Arc::new(HttpMetrics::default());
        let (started, ends) = (jiff::Timestamp::now(), stop.streams.clone());
        let hooks = config.hooks.clone();
        let app = App { hub, limits, http: http.clone(), hooks, started, stop: ends };
        let tokens = Arc::new(app.hub.clone());
        let (router, screen) = faces::router(&app);
        let access = Access::new(&config, &at, faces::ACCESS, faces::needs, tokens);
        let router = access.counting(http).showing(screen).guard(router);
        let admission = Admission::new(config.connections);
        Ok(Self { listener, at, router, stop, stall, tls, admission })
    }

    /// Returns the address that was really taken, as clients name it.
    pub fn url(&self) -> String {
        match &self.at {
            Listen::Tcp(addr) if self.tls.is_some() => format!("https://{addr}"),
            Listen::Tcp(addr) => format!("http://{addr}"),
            socket @ Listen::Unix(_) => socket.to_string(),
        }
    }

    /// Serves until `shutdown`. From then on no request is taken; once `settle` is done, which is the time
    /// to commit what ends the running turns, event streams send what is committed and end.
    pub async fn run(self, shutdown: impl Future<Output = ()>, settle: impl Future<Output = ()>) {
        let mut connections = JoinSet::new();
        let mut unaccepted = Unaccepted::default();
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                accepted = self.listener.accept() => match accepted {
                    Ok(accepted) => _ = connections.spawn(self.connection(accepted)),
                    Err(error) => unaccepted.one(&error).await,
                },
                Some(ended) = connections.join_next() => report(ended),
            }
        }
        drop(self.listener);
        self.stop.requests.cancel();
        settle.await;
        self.stop.streams.cancel();
        let all = async {
            while let Some(ended) = connections.join_next().await {
                report(ended)
            }
        };
        if tokio::time::timeout(GRACE, all).await.is_err() {
            connections.shutdown().await;
        }
    }

    fn connection(&self, accepted: Accepted) -> impl Future<Output = ()> + Send + 'static {
        let (router, stop, stall) = (self.router.clone(), self.stop.requests.clone(), self.stall);
        let (ticket, tls) = (self.admission.enter(), self.tls.clone());
        async move {
            match (accepted, tls) {
                (Accepted::Unix(stream), _) => {
                    serve(StallGuard::new(stream, stall), PeerAddr::Socket, ticket, router, stop).await;
                }
                (Accepted::Tcp(stream, peer), None) => {
                    let stream = StallGuard::new(stream, stall);
                    serve(stream, PeerAddr::Ip(peer.ip()), ticket, router, stop).await;
                }
                (Accepted::Tcp(stream, peer), Some(tls)) => {
                    if let Some(stream) = begun(tls.handshake(stream, stall), &ticket, &stop).await {
                        serve(stream, PeerAddr::Ip(peer.ip()), ticket, router, stop).await;
                    }
                }
            }
        }
    }
}

/// Waits for the handshake of a connection, for no longer than for a token; `None` for one that ends with it.
async fn begun<S>(
    handshake: impl Future<Output = io::Result<Option<S>>>,
    ticket: &Ticket,
    stop: &CancellationToken,
) -> Option<S> {
    let begun = tokio::select! {
        begun = handshake => begun,
        () = stop.cancelled() => return None,
        () = ticket.cut_off() => return None,
        () = ticket.overdue() => return None,
    };
    begun.unwrap_or_else(|error| {
        tracing::debug!(%error, "a handshake failed");
        None
    })
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: PeerAddr,
    ticket: Arc<Ticket>,
    router: Router,
    stop: CancellationToken,
) {
    let visitor: Arc<dyn Visitor> = ticket.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(visitor.clone());
        let router = router.clone();
        async move { Ok::<_, Infallible>(router.oneshot(request).await.unwrap_or_else(|never| match never {})) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(WRITE_BUFFER)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = ticket.cut_off() => return tracing::debug!("a silent connection made room for another"),
        () = ticket.overdue() => {
            connection.as_mut().graceful_shutdown();
            tokio::time::timeout(GRACE, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error = &error as &dyn std::error::Error, "a connection broke");
    }
}

/// Connections that were not accepted. Out of file descriptors, most likely: they come back as connections
/// end. The kernel offers the same connection again and again, so it is told once in a while.
#[derive(Default)]
struct Unaccepted {
    told: Option<Instant>,
}

impl Unaccepted {
    async fn one(&mut self, error: &io::Error) {
        if self.told.is_none_or(|told| told.elapsed() > TELL_EVERY) {
            self.told = Some(Instant::now());
            tracing::warn!(%error, "connections are not accepted");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn report(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection's task panicked");
    }
}

#[cfg(test)]
mod tests {
    use crate::admission::ConnectionLimits;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::body::Body;
    use axum::routing::get;
    use bytes::Bytes;
    use futures_util::stream;
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpStream;

    use super::*;

    const CHUNK: usize = 32 << 10;

    /// A route whose body never ends, and how many chunks were taken of it.
    fn endless() -> (Router, Arc<AtomicUsize>) {
        let taken = Arc::new(AtomicUsize::new(0));
        let counter = taken.clone();
        let body = move || async move {
            Body::from_stream(stream::repeat_with(move || {
                counter.fetch_add(1, Ordering::Relaxed);
                Ok::<_, Infallible>(Bytes::from(vec![0; CHUNK]))
            }))
        };
        (Router::new().route("/", get(body)), taken)
    }

    #[tokio::test]
    async fn a_reader_that_stops_is_cut_and_holds_little() {
        let listener = listener::port("127.0.0.1:0".parse().unwrap()).unwrap();
        let mut reader = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, peer) = listener.accept().await.unwrap();
        reader.write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
        let (router, taken) = endless();
        // Returns only because the reader takes nothing: the body has no end and the socket stays open.
        let stream = StallGuard::new(stream, Duration::from_millis(50));
        let ticket = Admission::new(ConnectionLimits::default()).enter();
        serve(stream, PeerAddr::Ip(peer.ip()), ticket, router, CancellationToken::new()).await;
        let bytes = taken.load(Ordering::Relaxed) * CHUNK;
        assert!(bytes < 16 << 20, "{bytes} bytes were taken for a reader that read none");
        drop(reader);
    }

    #[tokio::test(start_paused = true)]
    async fn a_handshake_that_never_ends_takes_no_longer_than_a_token_may() {
        let ticket = Admission::new(ConnectionLimits::default()).enter();
        let before = tokio::time::Instant::now();
        let endless = std::future::pending::<io::Result<Option<()>>>();
        assert!(begun(endless, &ticket, &CancellationToken::new()).await.is_none());
        let taken = before.elapsed();
        ticket.overdue().await;
        assert_eq!(before.elapsed(), taken, "the time of the request that follows is not counted anew");
    }

    /// Serves a client that asks the open route every 4 s and goes after a minute; returns how long that lasted.
    async fn served_for(ticket: Arc<Ticket>) -> Duration {
        let (mut client, stream) = tokio::io::duplex(4096);
        let asking = tokio::spawn(async move {
            for _ in 0..15 {
                // Whoever was cut off hears of it by the end of the connection.
                drop(client.write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n").await);
                tokio::time::sleep(Duration::from_secs(4)).await;
            }
        });
        let before = tokio::time::Instant::now();
        let router = Router::new().route("/", get(async || "open"));
        serve(stream, PeerAddr::Socket, ticket, router, CancellationToken::new()).await;
        let lasted = before.elapsed();
        asking.abort();
        lasted
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_shows_no_token_is_cut_off_after_10_s_however_often_it_asks() {
        let admission = Admission::new(ConnectionLimits::default());
        assert_eq!(served_for(admission.enter()).await.as_secs(), 10);
        let known = admission.enter();
        known.admit().unwrap();
        assert_eq!(served_for(known).await.as_secs(), 60);
    }

    #[test]
    fn an_open_address_needs_a_token() {
        let refused = ServeError::OpenToTheNetwork(Listen::Tcp("0.0.0.0:1".parse().unwrap()));
        assert!(refused.hint().unwrap().contains("--token-file"));
    }
}

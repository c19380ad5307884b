//! A stream over a real HTTP connection: frames are written before they count as taken.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadBuf, duplex,
};
use tokio::sync::mpsc;

use super::*;
use crate::faces::opencode::state::fixture::Fixture;

/// A connection that tells, whenever it is written to, how far the stream says to have been taken.
struct Watched<F> {
    inner: DuplexStream,
    taken: F,
    told: mpsc::UnboundedSender<(String, Option<u64>)>,
}

impl<F: Fn() -> Option<u64> + Unpin> AsyncWrite for Watched<F> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let _nobody = self.told.send((text, (self.taken)())).is_err();
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl<F: Unpin> AsyncRead for Watched<F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

#[tokio::test]
async fn a_frame_counts_as_taken_when_its_connection_has_written_it() {
    let fixture = Fixture::start().await;
    let relay = fixture.relay.clone();
    let reader = relay.join(&relay.hub, &Form::Global).await.unwrap();
    let mut taken = relay.progress().pop().unwrap();
    let stream = EventStream::new(reader, Form::Global, Duration::from_secs(60), CancellationToken::new());
    let (ours, mut theirs) = duplex(1 << 20);
    let (told, mut writes) = mpsc::unbounded_channel();
    let seen = taken.clone();
    let watched = Watched { inner: ours, taken: move || *seen.borrow(), told };
    let response = Mutex::new(Some(stream.into_response()));
    let service = service_fn(move |_: hyper::Request<hyper::body::Incoming>| {
        let response = response.lock().unwrap().take().unwrap();
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = hyper::server::conn::http1::Builder::new();
    let connection = tokio::spawn(connection.serve_connection(TokioIo::new(watched), service));
    theirs.write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
    assert!(theirs.read_u8().await.is_ok());
    relay.announce(Payload::ServerHeartbeat {});
    taken.wait_for(|taken| *taken >= Some(1)).await.unwrap();
    let mut all = vec![];
    writes.recv_many(&mut all, usize::MAX).await;
    let written = all.iter().filter(|(text, _)| text.contains("server.heartbeat"));
    let said: Vec<_> = written.map(|(_, taken)| *taken).collect();
    assert_eq!(said, [Some(0)], "{all:?}");
    connection.abort();
}

//! From the daemon to the editor: all messages on one stream, reopened at the position where it broke.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use omniglot_client::{ClientError, FrameStream, SseFrame};
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use super::envelope::Envelope;
use super::upstream::Wake;
use super::{Relay, note};
use crate::connect;

/// The pause before a stream is reopened.
const PAUSE: Duration = Duration::from_millis(100);

/// The statuses with which an invalid cursor is refused.
const REFUSED: [u16; 2] = [400, 410];

/// The id of the last frame that was forwarded.
#[derive(Debug, Default)]
pub(super) struct Cursor(Mutex<Option<String>>);

impl Cursor {
    pub(super) fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, id: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }
}

/// Follows the stream for as long as there is a daemon; returns why there is none. `upstream` repeats the
/// handshake to each daemon that was found after a loss.
pub(super) async fn follow(relay: Arc<Relay>, upstream: mpsc::Sender<Wake>) -> anyhow::Error {
    loop {
        let attached = relay.daemon_link.attached().await;
        let opened = attached.client.acp_stream(&relay.server, relay.cursor.get().as_deref()).await;
        let lost = match opened {
            Ok(stream) => pass_on(&relay, stream).await,
            Err(error) => Some(error),
        };
        if lost.as_ref().is_some_and(connect::is_lost) {
            if let Err(error) = relay.daemon_link.another(&attached, || relay.pending.has_open()).await {
                return error;
            }
            introduced(&upstream).await;
        }
        if lost.and_then(|error| error.status()).is_some_and(|status| REFUSED.contains(&status)) {
            // A position in logs that no longer exist.
            note(
                "the daemon's log is not the one that was followed; load the session again to see all of it",
            );
            relay.cursor.set(None);
        }
        sleep(PAUSE).await;
    }
}

/// Waits until the daemon has the handshake: it may read the editor's capabilities.
async fn introduced(upstream: &mpsc::Sender<Wake>) {
    let (wake, done) = oneshot::channel();
    if upstream.send(wake).await.is_ok() {
        // Nothing is ever sent: the dropped sender is the only result.
        drop(done.await);
    }
}

/// Forwards frames until the stream ends; returns the reason, if there is one.
async fn pass_on(relay: &Relay, mut stream: FrameStream) -> Option<ClientError> {
    while let Some(frame) = stream.next().await {
        match frame {
            Ok(frame) => pass_frame(relay, frame).await,
            Err(error) => return Some(error),
        }
    }
    None
}

async fn pass_frame(relay: &Relay, frame: SseFrame) {
    match Envelope::parse(frame.data.as_bytes()) {
        Ok(envelope) if relay.pending.is_news(&envelope) => relay.outbound.line(frame.data).await,
        Ok(_) => {}
        Err(fault) => tracing::debug!(?fault, "a frame of the daemon"),
    }
    if frame.id.is_some() {
        relay.cursor.set(frame.id);
    }
}

//! An open event stream as items.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use omniglot_schema::UniversalEvent;
use tokio::time::{Instant, Sleep, sleep};

use crate::error::ClientError;
use crate::sse::{SseFrame, SseParser};

/// Three heartbeats.
const SILENCE: Duration = Duration::from_secs(30);

/// One item of an event stream.
#[derive(Debug, Clone)]
pub enum SseItem {
    Event {
        /// The cursor after this event.
        id: String,
        event: Box<UniversalEvent>,
        /// The event as it was sent.
        json: String,
    },
    /// Everything that was committed when the stream was opened has been sent.
    CaughtUp,
    /// The session is gone; the stream ends.
    Deleted,
}

impl SseItem {
    fn read(frame: SseFrame) -> Result<Option<Self>, ClientError> {
        Ok(match &*frame.event {
            "" => Some(Self::Event {
                id: frame.id.unwrap_or_default(),
                event: serde_json::from_str(&frame.data)?,
                json: frame.data,
            }),
            "caught_up" => Some(Self::CaughtUp),
            "deleted" => Some(Self::Deleted),
            // A newer daemon may send events that this client does not know.
            _ => None,
        })
    }
}

/// Decoded events. Ends when the daemon ends the stream; an error is the last item.
pub struct EventStream {
    frames: FrameStream,
}

impl EventStream {
    pub(crate) fn new(frames: FrameStream) -> Self {
        Self { frames }
    }

    /// Returns the frames without decoding.
    pub fn into_frames(self) -> FrameStream {
        self.frames
    }
}

impl Stream for EventStream {
    type Item = Result<SseItem, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let Some(frame) = ready!(self.frames.poll_next_unpin(cx)) else { return Poll::Ready(None) };
            match frame.and_then(SseItem::read) {
                Ok(None) => {}
                Ok(Some(item)) => return Poll::Ready(Some(Ok(item))),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}

/// SSE frames. Ends when the daemon ends the stream; an error is the last item.
pub struct FrameStream {
    chunks: BoxStream<'static, Result<Bytes, reqwest::Error>>,
    parser: SseParser,
    silence: Pin<Box<Sleep>>,
    over: bool,
}

impl FrameStream {
    pub(crate) fn new(chunks: impl Stream<Item = Result<Bytes, reqwest::Error>> + Send + 'static) -> Self {
        let silence = Box::pin(sleep(SILENCE));
        Self { chunks: chunks.boxed(), parser: SseParser::default(), silence, over: false }
    }

    fn fail(&mut self, error: ClientError) -> Poll<Option<Result<SseFrame, ClientError>>> {
        self.over = true;
        Poll::Ready(Some(Err(error)))
    }
}

impl Stream for FrameStream {
    type Item = Result<SseFrame, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(frame) = self.parser.next_frame() {
                return Poll::Ready(Some(Ok(frame)));
            }
            if self.over {
                return Poll::Ready(None);
            }
            match self.chunks.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(bytes))) => {
                    self.parser.feed(&bytes);
                    self.silence.as_mut().reset(Instant::now() + SILENCE);
                }
                Poll::Ready(Some(Err(error))) => return self.fail(error.into()),
                Poll::Ready(None) => self.over = true,
                Poll::Pending => {
                    ready!(self.silence.as_mut().poll(cx));
                    return self.fail(ClientError::Silent(SILENCE.as_secs()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    const EVENT: &str = r#"{"event_id":"evt_1","sequence":1,"time":"2026-01-01T00:00:00Z","session_id":"s","native_session_id":null,"source":"daemon","synthetic":true,"type":"session.started","data":{},"raw":null}"#;

    fn stream_of(text: String) -> EventStream {
        EventStream::new(FrameStream::new(stream::iter([Ok(Bytes::from(text))])))
    }

    #[tokio::test]
    async fn frames_become_items() {
        let text = format!(
            "id: e.1\ndata: {EVENT}\n\n:\n\nevent: caught_up\ndata: {{}}\n\nevent: new\ndata: x\n\nevent: deleted\ndata: {{}}\n\n"
        );
        let items: Vec<SseItem> = stream_of(text).map(Result::unwrap).collect().await;
        assert!(matches!(&*items, [SseItem::Event { .. }, SseItem::CaughtUp, SseItem::Deleted]), "{items:?}");
        let Some(SseItem::Event { id, event, json }) = items.first() else { unreachable!() };
        assert_eq!((&**id, event.sequence, &**json), ("e.1", 1, EVENT));
    }

    #[tokio::test]
    async fn an_event_that_cannot_be_read_is_an_error() {
        let items: Vec<_> = stream_of("id: e.1\ndata: {}\n\n".into()).collect().await;
        assert!(matches!(&*items, [Err(ClientError::Decode(_))]), "{items:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_daemon_that_does_not_even_beat_is_given_up() {
        let items: Vec<_> = EventStream::new(FrameStream::new(stream::pending())).collect().await;
        assert!(matches!(&*items, [Err(ClientError::Silent(30))]), "{items:?}");
    }
}

//! The ACP face as methods: messages are posted one by one, and all replies arrive on one stream.
//!
//! Does not interpret the messages.

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Method, StatusCode};

use crate::client::{Client, accepted};
use crate::error::ClientError;
use crate::stream::FrameStream;

/// One JSON-RPC message to the daemon.
#[derive(Debug, Clone)]
pub struct AcpMessage<'a> {
    /// The agent of sessions that are created without naming one.
    pub agent: Option<&'a str>,
    /// The idempotency key of this message, so that it can be repeated without harm.
    pub key: &'a str,
    /// The id of the last received frame of the stream; the daemon may drop the frames up to it.
    pub last: Option<&'a str>,
    pub body: Bytes,
}

impl Client {
    /// Returns once the message is accepted; its answer arrives on the stream, unless it is returned here.
    pub async fn acp_post(
        &self,
        server: &str,
        message: AcpMessage<'_>,
    ) -> Result<Option<Bytes>, ClientError> {
        let query = [("agent", message.agent.map(str::to_owned))];
        let request = self.request(Method::POST, &["v1", "acp", server], &query);
        let request = match message.last {
            Some(last) => request.header("last-event-id", last),
            None => request,
        };
        let request = request
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .header("prefer", "respond-async")
            .header("idempotency-key", message.key)
            .body(message.body);
        let response = accepted(request.send().await?).await?;
        if response.status() == StatusCode::ACCEPTED {
            return Ok(None);
        }
        Ok(Some(response.bytes().await?).filter(|body| !body.is_empty()))
    }

    /// Streams the daemon's messages to this client that follow the frame with the id `last`.
    pub async fn acp_stream(&self, server: &str, last: Option<&str>) -> Result<FrameStream, ClientError> {
        let mut request = self.request(Method::GET, &["v1", "acp", server], &[]);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = accepted(request.header(ACCEPT, "text/event-stream").send().await?).await?;
        Ok(FrameStream::new(response.bytes_stream()))
    }

    /// Disconnects the client; the sessions stay.
    pub async fn acp_leave(&self, server: &str) -> Result<(), ClientError> {
        accepted(self.request(Method::DELETE, &["v1", "acp", server], &[]).send().await?).await.map(drop)
    }
}

//! The ACP face as methods: messages go out one by one, and everything that comes back is on one stream.
//!
//! Knows nothing of what the messages say.

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Method, StatusCode};

use crate::client::{Client, accepted};
use crate::error::ClientError;
use crate::stream::FrameStream;

/// One JSON-RPC message to the daemon.
#[derive(Debug, Clone)]
pub struct AcpMessage<'a> {
    /// The agent of sessions that are made without naming one.
    pub agent: Option<&'a str>,
    /// Names this message, so that it can be repeated without harm.
    pub key: &'a str,
    /// The id of the last frame of the stream, before which the daemon need not keep anything.
    pub last: Option<&'a str>,
    pub body: Bytes,
}

impl Client {
    /// Returns once the message is taken; its answer comes on the stream, unless it is returned here.
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

    /// What the daemon says to this client, from after the frame with the id `last` on.
    pub async fn acp_stream(&self, server: &str, last: Option<&str>) -> Result<FrameStream, ClientError> {
        let mut request = self.request(Method::GET, &["v1", "acp", server], &[]);
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = accepted(request.header(ACCEPT, "text/event-stream").send().await?).await?;
        Ok(FrameStream::new(response.bytes_stream()))
    }

    /// Leaves; the sessions stay.
    pub async fn acp_leave(&self, server: &str) -> Result<(), ClientError> {
        accepted(self.request(Method::DELETE, &["v1", "acp", server], &[]).send().await?).await.map(drop)
    }
}

//! From the editor to the daemon: its lines, one after the other, each accepted before the next is sent.

use std::sync::Arc;

use bytes::Bytes;
use omniglot_client::{AcpMessage, ClientError};
use omniglot_runtime::process::lines::{DEFAULT_CAP, Line, LineReader};
use tokio::io::AsyncRead;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::daemon_link::Attached;
use super::envelope::{Envelope, Fault, RpcId, error_answer};
use super::pending::OutgoingMessage;
use super::{LAST_ANSWERS, Relay, note};
use crate::connect;

pub(super) struct Upstream {
    relay: Arc<Relay>,
    /// Requests of the stream task to introduce us to a new daemon.
    woken: mpsc::Receiver<Wake>,
    /// The pid of the daemon that has our handshake.
    known: Option<u32>,
}

/// Dropped when the daemon has our handshake.
pub(super) type Wake = oneshot::Sender<()>;

/// The JSON-RPC code of the daemon's own faults.
const INTERNAL_ERROR: i64 = -32603;
const INVALID_REQUEST: i64 = -32600;

impl Upstream {
    pub(super) fn new(relay: Arc<Relay>, woken: mpsc::Receiver<Wake>) -> Self {
        Self { relay, woken, known: None }
    }

    /// Runs until the editor has closed stdin and received the pending answers.
    pub(super) async fn run(mut self, editor: impl AsyncRead + Unpin) -> anyhow::Result<()> {
        let mut reader = LineReader::new(editor, DEFAULT_CAP);
        loop {
            tokio::select! {
                lines = reader.next_batch() => match lines? {
                    Some(lines) => self.lines(lines).await?,
                    None => break,
                },
                Some(wake) = self.woken.recv() => self.wake(wake).await?,
            }
        }
        self.last_answers().await
    }

    /// A script that pipes a few requests into us wants their answers; a turn may continue without us.
    async fn last_answers(&mut self) -> anyhow::Result<()> {
        let relay = self.relay.clone();
        let quiet = timeout(LAST_ANSWERS, relay.pending.quiet());
        tokio::pin!(quiet);
        loop {
            tokio::select! {
                _ = &mut quiet => return Ok(()),
                Some(wake) = self.woken.recv() => self.wake(wake).await?,
            }
        }
    }

    async fn wake(&mut self, wake: Wake) -> anyhow::Result<()> {
        self.introduce().await?;
        drop(wake);
        Ok(())
    }

    async fn lines(&mut self, lines: Vec<Line>) -> anyhow::Result<()> {
        for line in lines {
            match line {
                Line::Whole(line) | Line::Partial(line) => self.line(line).await?,
                Line::TooLong { .. } => self.relay.outbound.line(Fault::TooLong.answer()).await,
            }
        }
        Ok(())
    }

    async fn line(&mut self, line: Bytes) -> anyhow::Result<()> {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        match Envelope::parse(&line) {
            Err(fault) => self.relay.outbound.line(fault.answer()).await,
            Ok(envelope) => {
                let outgoing =
                    OutgoingMessage { key: uuid::Uuid::new_v4().to_string(), body: line, envelope };
                self.introduce().await?;
                self.relay.pending.posted(&outgoing);
                self.deliver(&outgoing).await?;
                self.relay.pending.delivered(&outgoing);
            }
        }
        Ok(())
    }

    /// A daemon that was started since then does not have our handshake.
    async fn introduce(&mut self) -> anyhow::Result<()> {
        let attached = self.relay.daemon_link.attached().await;
        match self.known {
            Some(pid) if pid != attached.pid => self.repeat(attached.pid).await,
            Some(_) => Ok(()),
            None => {
                self.known = Some(attached.pid);
                Ok(())
            }
        }
    }

    async fn repeat(&mut self, pid: u32) -> anyhow::Result<()> {
        self.known = Some(pid);
        for outgoing in self.relay.pending.to_repeat() {
            Box::pin(self.deliver(&outgoing)).await?;
        }
        Ok(())
    }

    /// Delivers a message to the daemon that runs at the moment.
    async fn deliver(&mut self, outgoing: &OutgoingMessage) -> anyhow::Result<()> {
        loop {
            let attached = self.relay.daemon_link.attached().await;
            match self.try_deliver(&attached, outgoing).await {
                Ok(answer) => return self.answered(answer).await,
                Err(error) if connect::is_lost(&error) => {
                    tracing::debug!(%error, "the daemon was lost");
                    let found = self.relay.daemon_link.again(&attached).await?;
                    if found.pid != attached.pid && self.known.is_some_and(|known| known != found.pid) {
                        // The repeated messages include this one, if the editor waits for its answer.
                        self.repeat(found.pid).await?;
                        if matches!(outgoing.envelope, Envelope::Request { .. }) {
                            return Ok(());
                        }
                    }
                }
                Err(error) => return self.refused(outgoing, error).await,
            }
        }
    }

    async fn try_deliver(
        &self,
        attached: &Attached,
        outgoing: &OutgoingMessage,
    ) -> Result<Option<Bytes>, ClientError> {
        let last = self.relay.cursor.get();
        let message = AcpMessage {
            agent: self.relay.agent.as_deref(),
            key: &outgoing.key,
            last: last.as_deref(),
            body: outgoing.body.clone(),
        };
        attached.client.acp_post(&self.relay.server, message).await
    }

    /// Forwards an answer that arrived with the response.
    async fn answered(&self, answer: Option<Bytes>) -> anyhow::Result<()> {
        let Some(answer) = answer else { return Ok(()) };
        let is_due = Envelope::parse(&answer).is_ok_and(|envelope| self.relay.pending.is_news(&envelope));
        if is_due && let Ok(line) = String::from_utf8(answer.into()) {
            self.relay.outbound.line(line).await;
        }
        Ok(())
    }

    /// Answers with an error, so that the editor does not wait for an answer that never arrives.
    async fn refused(&self, outgoing: &OutgoingMessage, error: ClientError) -> anyhow::Result<()> {
        let status = error.status();
        let problem = error.problem().and_then(|problem| serde_json::to_value(problem).ok());
        let message = format!("{:#}", connect::explain(error));
        match &outgoing.envelope {
            Envelope::Request { id, .. } if self.relay.pending.settle(id) => {
                self.tell(id, status, &message, problem).await;
            }
            _ => note(&message),
        }
        Ok(())
    }

    async fn tell(&self, id: &RpcId, status: Option<u16>, message: &str, data: Option<serde_json::Value>) {
        let code = match status {
            Some(400..=499) => INVALID_REQUEST,
            _ => INTERNAL_ERROR,
        };
        self.relay.outbound.line(error_answer(id, code, message, data)).await;
    }
}

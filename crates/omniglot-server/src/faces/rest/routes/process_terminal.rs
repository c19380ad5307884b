//! The terminal of a process over a WebSocket: output in binary frames, everything else in JSON.
//!
//! Browsers cannot set headers on a WebSocket, so the token may stand in the query of this route, and of no other.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Query;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::FutureExt as _;
use http::Uri;
use omniglot_runtime::process::user::log::{Entry, LogReader, Wanted};
use omniglot_runtime::{ProcessError, RuntimeError, UserProcess};
use omniglot_schema::ProblemDetails;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::app::App;
use crate::faces::rest::wire::process::{ClientFrame, ServerFrame, TerminalQuery, decode};
use crate::http::extract::{PathOf, QueryOf};
use crate::http::problem::Problem;
use crate::http::refusals::Refusals;

/// The longest frame of a client: the largest input that limits allow, in base64.
const MAX_FRAME: usize = 2 << 20;

/// The bytes of output that are read at once.
const PIECE: usize = 32 << 10;

/// How long a client may take to close its end.
const CLOSE: Duration = Duration::from_secs(1);

/// Whether the path is that of a terminal.
pub(crate) fn is_terminal(uri: &Uri) -> bool {
    let id = uri.path().strip_prefix("/v1/processes/").and_then(|rest| rest.strip_suffix("/terminal/ws"));
    id.is_some_and(|id| !id.is_empty() && !id.contains('/'))
}

/// Returns the token in the query.
pub(crate) fn access_token(uri: &Uri) -> Option<String> {
    Query::<TerminalQuery>::try_from_uri(uri).ok()?.0.access_token
}

/// Open Process Terminal
///
/// Opens the terminal of a process as a WebSocket. Frames of the daemon: `{"type":"ready","processId"}`, then the
/// output as far as it is kept and as it comes, in binary frames, at the end `{"type":"exit","exitCode"}`; and
/// `{"type":"error","message"}`. Frames of the client: `{"type":"input","data","encoding"?}` (text, or `base64`),
/// `{"type":"resize","cols","rows"}`, `{"type":"close"}`.
#[utoipa::path(get, path = "/v1/processes/{process_id}/terminal/ws", tag = "processes",
    params(("process_id" = String, Path, description = "Process id"), TerminalQuery),
    responses(
        (status = 101, description = "A WebSocket from here on"),
        (status = 409, description = "The process has no terminal", body = ProblemDetails,
            content_type = "application/problem+json"),
        Refusals,
    ))]
pub(crate) async fn open_process_terminal(
    app: App,
    PathOf(id): PathOf<String>,
    QueryOf(_): QueryOf<TerminalQuery>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let process = app.hub.process(&id)?;
    if !process.has_terminal() {
        return Err(RuntimeError::from(ProcessError::NoTerminal(id)).into());
    }
    let upgrade = upgrade.map_err(|error| Problem::invalid(error.body_text()))?;
    Ok(upgrade.max_message_size(MAX_FRAME).on_upgrade(move |socket| async move {
        let caller = app.hub.caller().clone();
        let mut terminal = Terminal { log: process.read_log(Wanted::all()), socket, app, process };
        // A client that does not read must not stay beyond its token.
        let ended = async {
            caller.ended().await;
            sleep(CLOSE).await;
        };
        tokio::select! {
            served = terminal.serve() => if let Err(error) = served {
                tracing::debug!(%error, "a terminal's connection broke");
            },
            () = ended => {}
        }
    }))
}

/// One client at a terminal.
struct Terminal {
    socket: WebSocket,
    app: App,
    process: Arc<UserProcess>,
    log: LogReader,
}

impl Terminal {
    async fn serve(&mut self) -> Result<(), axum::Error> {
        let process = self.process.clone();
        let (caller, stop) = (self.app.hub.caller().clone(), self.app.stop.clone());
        self.tell(&ServerFrame::Ready { process_id: process.id() }).await?;
        let mut beat_at = Instant::now() + self.app.limits.heartbeat;
        loop {
            // Whatever else is ready: nothing is done for a token that has ended.
            if caller.ended().now_or_never().is_some() {
                break;
            }
            tokio::select! {
                () = caller.ended() => break,
                () = stop.cancelled() => break,
                entries = self.log.next(PIECE) => match entries {
                    Some(entries) => self.show(entries).await?,
                    None => break,
                },
                exit_code = process.exited() => {
                    self.show_rest().await?;
                    self.tell(&ServerFrame::Exit { exit_code }).await?;
                    break;
                }
                message = self.socket.recv() => match message {
                    Some(message) => if !self.take(message?).await? { break },
                    None => return Ok(()),
                },
                () = sleep_until(beat_at) => {
                    beat_at = Instant::now() + self.app.limits.heartbeat;
                    self.socket.send(Message::Ping(Default::default())).await?;
                }
            }
        }
        self.close().await
    }

    /// Waits for the client to close, too: ending the connection with input unread would take the last frames along.
    async fn close(&mut self) -> Result<(), axum::Error> {
        self.socket.send(Message::Close(None)).await?;
        let closed = async { while self.socket.recv().await.is_some_and(|message| message.is_ok()) {} };
        drop(timeout(CLOSE, closed).await);
        Ok(())
    }

    async fn show(&mut self, entries: Vec<Entry>) -> Result<(), axum::Error> {
        for entry in entries {
            self.socket.send(Message::Binary(entry.data)).await?;
        }
        Ok(())
    }

    async fn show_rest(&mut self) -> Result<(), axum::Error> {
        loop {
            match self.log.read(PIECE) {
                rest if rest.is_empty() => return Ok(()),
                rest => self.show(rest).await?,
            }
        }
    }

    async fn tell(&mut self, frame: &ServerFrame<'_>) -> Result<(), axum::Error> {
        let text = serde_json::to_string(frame).map_err(axum::Error::new)?;
        self.socket.send(Message::Text(text.into())).await
    }

    /// Does what a client asks for; false when it leaves.
    async fn take(&mut self, message: Message) -> Result<bool, axum::Error> {
        let done = match message {
            Message::Text(text) => match serde_json::from_str(&text) {
                Ok(ClientFrame::Close) => return Ok(false),
                Ok(frame) => self.obey(frame),
                Err(error) => Err(format!("not a frame of a terminal: {error}")),
            },
            Message::Binary(_) => Err("input goes in text frames, `{\"type\":\"input\",…}`".to_owned()),
            Message::Ping(_) | Message::Pong(_) => Ok(()),
            Message::Close(_) => return Ok(false),
        };
        if let Err(message) = done {
            self.tell(&ServerFrame::Error { message }).await?;
        }
        Ok(true)
    }

    fn obey(&self, frame: ClientFrame) -> Result<(), String> {
        match frame {
            ClientFrame::Input { data, encoding } => {
                let input = decode(data, encoding.as_deref().unwrap_or("text"))?;
                self.app.hub.write_to_process(&self.process, input).map_err(|error| error.to_string())
            }
            ClientFrame::Resize(size) => self.process.resize(size).map_err(|error| error.to_string()),
            ClientFrame::Close => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_terminal_of_a_process_is_one() {
        let is = |path: &str| is_terminal(&path.parse().unwrap());
        assert!(is("/v1/processes/proc_1/terminal/ws?access_token=x"));
        for other in [
            "/v1/processes/terminal/ws",
            "/v1/processes//terminal/ws",
            "/v1/processes/a/b/terminal/ws",
            "/v1/processes/a/terminal/ws/",
            "/v1/processes/a/terminal/resize",
            "/v1/sessions/a/terminal/ws",
        ] {
            assert!(!is(other), "{other}");
        }
        let token =
            |query: &str| access_token(&format!("/v1/processes/a/terminal/ws{query}").parse().unwrap());
        assert_eq!(token("?access_token=a%2Bb").as_deref(), Some("a+b"));
        assert_eq!((token(""), token("?token=a")), (None, None));
    }
}

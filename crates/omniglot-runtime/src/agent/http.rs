//! An agent that is an HTTP server with event streams, as a conversation of lines like any other.
//!
//! Starts it on a port and with a password of ours, carries out the requests that sessions send, and follows
//! the event streams that they ask for. The messages are those of [`omniglot_agents::http`].

mod events;
mod request;

use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use omniglot_agents::http::{FromServer, Serving, Stream, StreamState, ToServer};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout_at};

use crate::agent::early::Discarded;
use crate::agent::mask::Mask;
use crate::agent::session_start::StartErrorKind;
use crate::process::lines::Line;
use crate::process::{
    Launch, Limits, LineReceiver, LineSender, Process, ProcessIo, SpawnError, Stdin, Supervisor, line_queue,
};

/// Where the server is and how it lets us in.
#[derive(Debug, Clone)]
struct Address {
    client: reqwest::Client,
    base: String,
    user: &'static str,
    password: String,
    events_path: &'static str,
    /// The longest event, and the longest answer.
    line_cap: usize,
}

/// The way to the sessions. What the server starts finds our password in its environment and may repeat it.
#[derive(Debug, Clone)]
struct Out {
    queue: LineSender,
    mask: Mask,
}

/// How often another port is tried when somebody was faster.
const PORTS: usize = 3;

/// Starts the server and waits until it listens.
pub(crate) async fn start(
    supervisor: &Supervisor,
    launch: &Launch,
    serving: Serving,
    timeout: std::time::Duration,
) -> Result<(Process, ProcessIo), StartErrorKind> {
    let mut left = PORTS;
    loop {
        let port = free_port().map_err(|source| no_port(supervisor, source))?;
        left -= 1;
        match start_on(port, supervisor, launch, serving, timeout).await {
            Err(StartErrorKind::Exited { .. }) if left > 0 && is_taken(port) => {
                tracing::info!(port, "another process took the port of a server that was starting");
            }
            outcome => return outcome,
        }
    }
}

async fn start_on(
    port: u16,
    supervisor: &Supervisor,
    launch: &Launch,
    serving: Serving,
    timeout: std::time::Duration,
) -> Result<(Process, ProcessIo), StartErrorKind> {
    let password = uuid::Uuid::new_v4().simple().to_string();
    let mut launch = launch.clone();
    launch.args.extend([serving.port_argument.to_owned(), port.to_string()]);
    launch.env.insert(serving.password_variable.to_owned(), password.clone());
    let (process, mut io) = Process::spawn(supervisor, &launch).await.map_err(StartErrorKind::Spawn)?;
    until_it_listens(&process, &mut io, serving.ready, timeout).await?;
    let client = reqwest::Client::builder().no_proxy().build().map_err(|error| {
        StartErrorKind::GaveUp(format!("the HTTP client for it could not be made: {error}"))
    })?;
    let address = Address {
        client,
        base: format!("http://127.0.0.1:{port}"),
        user: serving.user,
        password,
        events_path: serving.events_path,
        line_cap: supervisor.limits.line_cap,
    };
    Ok((process, bridge(address, io, &supervisor.limits)))
}

/// A port that was free a moment ago: these servers do not tell which one they took.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Asked after our server's end, so that it is not the one who has it.
fn is_taken(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_err_and(|error| error.kind() == std::io::ErrorKind::AddrInUse)
}

fn no_port(supervisor: &Supervisor, source: std::io::Error) -> StartErrorKind {
    StartErrorKind::Spawn(SpawnError::Guard { guard: supervisor.guard.clone(), source })
}

async fn until_it_listens(
    process: &Process,
    io: &mut ProcessIo,
    ready: &str,
    timeout: std::time::Duration,
) -> Result<(), StartErrorKind> {
    let deadline = Instant::now() + timeout;
    let mut discarded = Discarded::default();
    loop {
        // A timeout looks at the clock only when there is nothing to read, and a flood always is.
        let next = match Instant::now() < deadline {
            true => timeout_at(deadline, io.lines.recv()).await.ok(),
            false => None,
        };
        let silent = |discarded| {
            Err(StartErrorKind::Silent { seconds: timeout.as_secs(), stderr: process.stderr(), discarded })
        };
        let Some(lines) = next else { return silent(discarded) };
        let Some(lines) = lines else {
            // It may have closed its output and live on.
            let Ok(exit) = timeout_at(deadline, process.wait()).await else { return silent(discarded) };
            return Err(StartErrorKind::Exited { exit, stderr: process.stderr(), discarded });
        };
        let says_ready = |line: &Line| match line {
            Line::Whole(bytes) | Line::Partial(bytes) => String::from_utf8_lossy(bytes).contains(ready),
            Line::TooLong { .. } => false,
        };
        if lines.iter().any(says_ready) {
            return Ok(());
        }
        lines.iter().for_each(|line| discarded.add(line.size()));
    }
}

fn bridge(address: Address, stdio: ProcessIo, limits: &Limits) -> ProcessIo {
    let (sender, lines) = line_queue(limits);
    let (frames, asked) = Stdin::of_requests();
    let out = Out { queue: sender, mask: Mask::hiding(address.password.clone()) };
    let bridge = Bridge { address, out, streams: HashMap::new(), tasks: JoinSet::new() };
    tokio::spawn(bridge.run(asked, stdio.lines));
    ProcessIo { lines, frames }
}

struct Bridge {
    address: Address,
    out: Out,
    /// The directories that are followed.
    streams: HashMap<String, Followed>,
    tasks: JoinSet<()>,
}

struct Followed {
    /// Whether the stream is open.
    open: Arc<AtomicBool>,
    task: AbortHandle,
}

impl Bridge {
    /// Ends with the server, or when nobody speaks to it any more; what it runs ends with it.
    async fn run(mut self, mut asked: mpsc::UnboundedReceiver<Bytes>, mut stdout: LineReceiver) {
        loop {
            tokio::select! {
                frame = asked.recv() => match frame {
                    Some(frame) => self.carry_out(&frame).await,
                    None => return,
                },
                lines = stdout.recv() => match lines {
                    Some(lines) => self.out.lines(lines).await,
                    None => return,
                },
                Some(_) = self.tasks.join_next() => {}
            }
        }
    }

    async fn carry_out(&mut self, frame: &Bytes) {
        let message = serde_json::from_slice::<&RawValue>(frame).ok().map(ToServer::parse);
        match message {
            Some(Ok(ToServer::Request(request))) => {
                let (address, out) = (self.address.clone(), self.out.clone());
                self.tasks.spawn(async move { out.say(request::send(&address, request).await).await });
            }
            Some(Ok(ToServer::Listen { directory })) => self.listen(directory).await,
            Some(Ok(ToServer::Leave { directory })) => self.leave(&directory),
            Some(Err(_)) | None => tracing::error!("a frame for an HTTP agent is no request"),
        }
    }

    async fn listen(&mut self, directory: String) {
        if let Some(followed) = self.streams.get(&directory) {
            // The newcomer waits for the word; those who know it already drop it.
            if followed.open.load(Ordering::SeqCst) {
                self.out.say(state(&directory, StreamState::Open)).await;
            }
            return;
        }
        let open = Arc::new(AtomicBool::new(false));
        let (address, out) = (self.address.clone(), self.out.clone());
        let task = self.tasks.spawn(events::follow(address, directory.clone(), out, open.clone()));
        self.streams.insert(directory, Followed { open, task });
    }

    fn leave(&mut self, directory: &str) {
        if let Some(followed) = self.streams.remove(directory) {
            followed.task.abort();
        }
    }
}

fn state(directory: &str, state: StreamState) -> FromServer {
    FromServer::Stream(Stream { directory: directory.to_owned(), state })
}

impl Out {
    async fn say(&self, message: FromServer) {
        match serde_json::to_vec(&message) {
            Ok(line) => self.lines(vec![Line::Whole(line.into())]).await,
            Err(error) => tracing::error!(%error, "a message of an HTTP agent did not serialise"),
        }
    }

    async fn lines(&self, lines: Vec<Line>) {
        let masked = |line| match line {
            Line::Whole(bytes) => Line::Whole(self.mask.bytes(bytes)),
            Line::Partial(bytes) => Line::Partial(self.mask.bytes(bytes)),
            Line::TooLong { head, length } => Line::TooLong { head: self.mask.bytes(head), length },
        };
        // Nobody listens any more: the server is being ended.
        let _ = self.queue.send(lines.into_iter().map(masked).collect()).await;
    }
}

#[cfg(test)]
mod tests;

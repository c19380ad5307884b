//! One running shared server: what it says goes to the session that it is for, what sessions say goes to it.
//!
//! The server's lines are read by one task. Sessions write their frames to the server's stdin themselves, and
//! the task of its stdin writes those that do not fit, so that neither side can make the other wait for itself.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use omniglot_agents::adapter::Shared as Wiring;
use omniglot_agents::{Handshake, Link, Route, SlotId};
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{Terms, lock};
use crate::agent::early::EarlyLines;
use crate::agent::http;
use crate::agent::restart_policy::RestartPolicy;
use crate::agent::session_start::StartErrorKind;
use crate::process::handle::{BusyFlag, ServerLease};
use crate::process::lines::Line;
use crate::process::{
    Exit, FrameSender, Gate, Launch, Limits, LineReceiver, LineSender, Process, ProcessIo, Supervisor,
    line_queue,
};

#[derive(Debug)]
pub(super) struct Multiplexer {
    shared: Arc<Shared>,
    reader: JoinHandle<()>,
}

struct Shared {
    process: Arc<Process>,
    limits: Limits,
    attached: Mutex<AttachedSessions>,
    /// Somebody has come or gone, or has begun or ended to work.
    moved: Arc<Notify>,
    /// A turn goes on that nobody hears any more.
    orphaned_turn: Arc<AtomicBool>,
    stop: CancellationToken,
}

struct AttachedSessions {
    link: Box<dyn Link>,
    sessions: HashMap<SlotId, AttachedSession>,
    last: u64,
    /// The broadcast lines that came while no session was attached: the first one gets them.
    early_lines: EarlyLines,
    /// Where frames go; `None` once the server is to leave.
    frames: Option<FrameSender>,
}

struct AttachedSession {
    lines: LineSender,
    busy_flag: BusyFlag,
}

impl Multiplexer {
    /// Starts the server and shakes hands with it.
    pub(super) async fn start(
        supervisor: &Supervisor,
        launch: &Launch,
        wiring: Wiring,
        terms: &Terms,
        restarts: Arc<Mutex<RestartPolicy>>,
    ) -> Result<Self, StartErrorKind> {
        let Wiring { mut link, serving } = wiring;
        let (process, mut io) = match serving {
            None => Process::spawn(supervisor, launch).await.map_err(StartErrorKind::Spawn)?,
            Some(serving) => http::start(supervisor, launch, serving, terms.handshake).await?,
        };
        let early_lines = shake_hands(&process, &mut io, link.as_mut(), terms).await?;
        lock(&restarts).started();
        tracing::info!(pid = process.pid(), program = launch.program, "started a shared server");
        let attached = AttachedSessions {
            link,
            sessions: HashMap::new(),
            last: 0,
            early_lines,
            frames: Some(io.frames),
        };
        let shared = Arc::new(Shared {
            process: Arc::new(process),
            limits: supervisor.limits.clone(),
            attached: Mutex::new(attached),
            moved: Arc::default(),
            orphaned_turn: Arc::default(),
            stop: CancellationToken::new(),
        });
        let reader = tokio::spawn(shared.clone().read(io.lines, terms.clone(), restarts));
        Ok(Self { shared, reader })
    }

    /// A lease for one more session; `None` once the server is ending, or is about to.
    pub(super) fn join(&self) -> Option<(ServerLease, ProcessIo)> {
        let (sender, lines) = line_queue(&self.shared.limits);
        let mut attached = lock(&self.shared.attached);
        if self.shared.has_orphaned_turn(&attached) {
            // From here on it cannot be kept alive, and so need not be waited for.
            attached.frames = None;
            self.shared.stop.cancel();
            return None;
        }
        let slot = SlotId(attached.last + 1);
        let left = CancellationToken::new();
        let frames = attached.frames.as_ref()?.through(self.shared.gate(slot, left.clone()));
        attached.last = slot.0;
        // A new queue has room for the few lines of a greeting; what does not fit was about nobody.
        sender.offer(attached.early_lines.take());
        let busy_flag = BusyFlag::new(self.shared.orphaned_turn.clone(), self.shared.moved.clone());
        attached.sessions.insert(slot, AttachedSession { lines: sender, busy_flag: busy_flag.clone() });
        drop(attached);
        self.shared.moved.notify_one();
        tokio::spawn(self.shared.clone().leave(slot, left.clone()));
        Some((ServerLease::new(self.shared.process.clone(), left, busy_flag), ProcessIo { lines, frames }))
    }

    /// Ends the server and waits until it is gone.
    pub(super) async fn stop(mut self) {
        self.shared.stop.cancel();
        self.ended().await;
    }

    /// Waits for the end of a server that no one can join any more; to be asked once.
    pub(super) async fn ended(&mut self) {
        // A reader that panicked has ended its server, too: the process is killed when dropped.
        drop((&mut self.reader).await);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.reader.is_finished()
    }
}

impl Shared {
    /// Notes each frame of a session before it is written.
    fn gate(self: &Arc<Self>, slot: SlotId, left: CancellationToken) -> Gate {
        let shared = self.clone();
        Gate { left, before: Box::new(move |frame| shared.note(slot, frame)) }
    }

    /// Takes a session off the server once it has left. Its last words, such as the request to stop its turn, are
    /// written or wait to be.
    async fn leave(self: Arc<Self>, slot: SlotId, left: CancellationToken) {
        left.cancelled().await;
        let mut attached = lock(&self.attached);
        // Under the lock, so that it stands before the first word of whoever comes next.
        attached.say(attached.link.farewell(slot));
        attached.link.left(slot);
        attached.sessions.remove(&slot);
        drop(attached);
        self.moved.notify_one();
    }

    fn note(&self, slot: SlotId, frame: &Bytes) {
        if let Ok(raw) = serde_json::from_slice::<&RawValue>(frame) {
            lock(&self.attached).link.sent(slot, raw);
        }
    }

    /// Reads the server's lines until it ends, is told to, or nobody has used it for long enough.
    async fn read(
        self: Arc<Self>,
        mut lines: LineReceiver,
        terms: Terms,
        restarts: Arc<Mutex<RestartPolicy>>,
    ) {
        let mut empty_since = Instant::now();
        let we_end_it = loop {
            let empty = lock(&self.attached).sessions.is_empty();
            tokio::select! {
                batch = lines.recv() => match batch {
                    // A session that takes nothing must not keep its server from being ended.
                    Some(batch) => drop(self.stop.run_until_cancelled(self.dispatch(batch)).await),
                    None => break false,
                },
                () = self.moved.notified() => {
                    empty_since = Instant::now();
                    if self.close_if_orphaned_turn() {
                        break true;
                    }
                }
                () = sleep_until(empty_since + terms.idle), if empty => {
                    if self.close_if_empty() {
                        break true;
                    }
                }
                () = self.stop.cancelled() => break true,
            }
        };
        if we_end_it {
            self.end(&terms).await;
            lock(&restarts).ended();
        } else {
            let exit = self.died(&terms).await;
            lock(&restarts).failed(&format!("it {exit}"));
        }
        // Only now do its sessions hear of it: whoever starts it again finds the history complete.
        lock(&self.attached).close();
    }

    fn close_if_empty(&self) -> bool {
        self.close_if(|attached| attached.sessions.is_empty())
    }

    fn close_if_orphaned_turn(&self) -> bool {
        self.close_if(|attached| self.has_orphaned_turn(attached))
    }

    /// Returns whether a turn without a session may still run and no attached session is busy.
    fn has_orphaned_turn(&self, attached: &AttachedSessions) -> bool {
        self.orphaned_turn.load(Relaxed)
            && !attached.sessions.values().any(|sessions| sessions.busy_flag.is_busy())
    }

    /// Nobody can join from then on.
    fn close_if(&self, so: impl Fn(&AttachedSessions) -> bool) -> bool {
        let mut attached = lock(&self.attached);
        let so = so(&attached);
        if so {
            attached.frames = None;
        }
        so
    }

    async fn dispatch(&self, lines: Vec<Line>) {
        for line in lines {
            for (slot, sender) in self.recipients(&line) {
                if sender.send(vec![line.clone()]).await.is_none() {
                    tracing::debug!(?slot, "a session left while its server spoke to it");
                }
            }
        }
    }

    /// For whom a line is. What is no message at all, all may see.
    fn recipients(&self, line: &Line) -> Vec<(SlotId, LineSender)> {
        let mut attached = lock(&self.attached);
        let mut reply = Vec::new();
        let route = match whole_message(line) {
            Some(frame) => attached.link.route(frame, &mut reply),
            None => Route::All,
        };
        attached.say(reply);
        match route {
            Route::Session(slot) => attached
                .sessions
                .get(&slot)
                .map(|sessions| (slot, sessions.lines.clone()))
                .into_iter()
                .collect(),
            Route::All if attached.sessions.is_empty() => {
                attached.early_lines.push(line);
                Vec::new()
            }
            Route::All => {
                attached.sessions.iter().map(|(slot, sessions)| (*slot, sessions.lines.clone())).collect()
            }
            Route::Mine(_) | Route::Nobody => Vec::new(),
        }
    }

    /// We end it: it leaves by itself when its stdin closes, or is made to.
    async fn end(&self, terms: &Terms) {
        lock(&self.attached).close();
        if timeout(terms.stop, self.process.wait()).await.is_err() {
            self.process.terminate();
            drop(timeout(terms.stop, self.process.wait()).await);
        }
        self.process.kill();
        self.process.gone_or_left().await;
    }

    /// It has ended, or at least closed its stdout, which comes to the same.
    async fn died(&self, terms: &Terms) -> Exit {
        lock(&self.attached).frames = None;
        if timeout(terms.stop, self.process.wait()).await.is_err() {
            self.process.kill();
        }
        let exit = self.process.wait().await;
        tracing::warn!(%exit, pid = self.process.pid(), "a shared server died");
        exit
    }
}

impl AttachedSessions {
    /// No more attached sessions, and no more words: the server sees the end of its stdin, sessions the end of theirs.
    fn close(&mut self) {
        self.frames = None;
        self.sessions.clear();
    }

    fn say(&self, frames: Vec<Box<RawValue>>) {
        let Some(to_server) = &self.frames else { return };
        // A server that reads nothing will be noticed by those who wait for it.
        if to_server.waiting() < MAX_WAITING {
            to_server.send(frames.iter().map(|frame| bytes_of(frame)).collect());
        }
    }
}

/// Returns what the server said to all before its handshake was over.
async fn shake_hands(
    process: &Process,
    io: &mut ProcessIo,
    link: &mut dyn Link,
    terms: &Terms,
) -> Result<EarlyLines, StartErrorKind> {
    let mut to_say = link.hello();
    let mut early_lines = EarlyLines::default();
    // Only an answer is progress: a banner that never ends must not renew the deadline.
    let mut deadline = Instant::now() + terms.handshake;
    loop {
        // A timeout looks at the clock only when there is nothing to read, and a flood always is.
        let next = match Instant::now() < deadline {
            true => timeout_at(deadline, exchange_words(io, &mut to_say)).await.ok(),
            false => None,
        };
        let silent = |discarded| {
            let (seconds, stderr) = (terms.handshake.as_secs(), process.stderr());
            Err(StartErrorKind::Silent { seconds, stderr, discarded })
        };
        let Some(lines) = next else { return silent(early_lines.discarded) };
        let Some(lines) = lines else {
            // It may have closed its output and live on.
            let Ok(exit) = timeout_at(deadline, process.wait()).await else {
                return silent(early_lines.discarded);
            };
            let stderr = process.stderr();
            let refusal = link.ended_early(&stderr);
            let discarded = early_lines.discarded;
            return Err(
                refusal.map_or(StartErrorKind::Exited { exit, stderr, discarded }, StartErrorKind::Refused)
            );
        };
        let mut done = false;
        for line in lines {
            match whole_message(&line).map(|frame| link.route(frame, &mut to_say)) {
                Some(Route::Mine(Handshake::Done)) => done = true,
                Some(Route::Mine(Handshake::Refused(refusal))) => {
                    return Err(StartErrorKind::Refused(refusal));
                }
                Some(Route::Mine(Handshake::GoesOn)) => deadline = Instant::now() + terms.handshake,
                Some(Route::Session(_) | Route::All | Route::Nobody) | None => early_lines.push(&line),
            }
        }
        if done {
            say_all(io, &mut to_say);
            return Ok(early_lines);
        }
    }
}

/// Says what is to be said and returns the next lines; `None` at the end of the server's output. A server that
/// does not read our answers is not listened to.
async fn exchange_words(io: &mut ProcessIo, to_say: &mut Vec<Box<RawValue>>) -> Option<Vec<Line>> {
    say_all(io, to_say);
    io.frames.room(MAX_WAITING).await;
    io.lines.recv().await
}

/// An end of its stdin is told by the end of its stdout.
fn say_all(io: &ProcessIo, to_say: &mut Vec<Box<RawValue>>) {
    io.frames.send(to_say.drain(..).map(|frame| bytes_of(&frame)).collect());
}

/// Words of the connection itself that may wait to be written.
const MAX_WAITING: usize = 256;

fn bytes_of(frame: &RawValue) -> Bytes {
    Bytes::copy_from_slice(frame.get().as_bytes())
}

fn whole_message(line: &Line) -> Option<&RawValue> {
    match line {
        Line::Whole(bytes) | Line::Partial(bytes) => serde_json::from_slice(bytes).ok(),
        Line::TooLong { .. } => None,
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("pid", &self.process.pid()).finish_non_exhaustive()
    }
}

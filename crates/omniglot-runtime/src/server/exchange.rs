//! One running shared server: what it says goes to the session that it is for, what sessions say goes to it.
//!
//! The server's lines are read by one task, and each session's frames by another, so that neither side can
//! make the other wait for itself.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use omniglot_agents::{Handshake, Link, Place, Route, registry};
use serde_json::value::RawValue;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::history::History;
use super::{Terms, lock};
use crate::http;
use crate::lines::Line;
use crate::opening::Why;
use crate::process::{
    Exit, Launch, Limits, LineReceiver, LineSender, Process, ProcessIo, Supervisor, line_queue,
};
use crate::vessel::{Seat, Sign};

#[derive(Debug)]
pub(super) struct Exchange {
    shared: Arc<Shared>,
    reader: JoinHandle<()>,
}

struct Shared {
    process: Arc<Process>,
    limits: Limits,
    seats: Mutex<Seats>,
    /// Somebody has come or gone, or has begun or ended to work.
    moved: Arc<Notify>,
    /// A turn goes on that nobody hears any more.
    runaway: Arc<AtomicBool>,
    stop: CancellationToken,
}

struct Seats {
    link: Box<dyn Link>,
    taken: HashMap<Place, Taken>,
    last: u64,
    /// What was said to all while nobody was there: the first to come hears it.
    unheard: Vec<Line>,
    /// Where frames go; `None` once the server is to leave.
    frames: Option<mpsc::Sender<Bytes>>,
}

struct Taken {
    lines: LineSender,
    sign: Sign,
}

impl Exchange {
    /// Starts the server and shakes hands with it.
    pub(super) async fn start(
        supervisor: &Supervisor,
        launch: &Launch,
        wiring: registry::Shared,
        terms: &Terms,
        history: Arc<Mutex<History>>,
    ) -> Result<Self, Why> {
        let registry::Shared { mut link, serving } = wiring;
        let (process, mut io) = match serving {
            None => Process::spawn(supervisor, launch).await.map_err(Why::Spawn)?,
            Some(serving) => http::start(supervisor, launch, serving, terms.handshake).await?,
        };
        let unheard = shake_hands(&process, &mut io, link.as_mut(), terms).await?;
        lock(&history).started();
        tracing::info!(pid = process.pid(), program = launch.program, "started a shared server");
        let seats = Seats { link, taken: HashMap::new(), last: 0, unheard, frames: Some(io.frames) };
        let shared = Arc::new(Shared {
            process: Arc::new(process),
            limits: supervisor.limits.clone(),
            seats: Mutex::new(seats),
            moved: Arc::default(),
            runaway: Arc::default(),
            stop: CancellationToken::new(),
        });
        let reader = tokio::spawn(shared.clone().read(io.lines, terms.clone(), history));
        Ok(Self { shared, reader })
    }

    /// A seat for one more session; `None` once the server is ending, or is about to.
    pub(super) fn join(&self) -> Option<(Seat, ProcessIo)> {
        let (sender, lines) = line_queue(&self.shared.limits);
        let (frames, said) = mpsc::channel(self.shared.limits.queued_frames);
        let mut seats = lock(&self.shared.seats);
        if self.shared.is_haunted(&seats) {
            // From here on it cannot be kept alive, and so need not be waited for.
            seats.frames = None;
            self.shared.stop.cancel();
            return None;
        }
        let to_server = seats.frames.clone()?;
        seats.last += 1;
        let place = Place(seats.last);
        // A new queue has room for the few lines of a greeting; what does not fit was about nobody.
        let unheard = std::mem::take(&mut seats.unheard);
        sender.offer(unheard);
        let sign = Sign::new(self.shared.runaway.clone(), self.shared.moved.clone());
        seats.taken.insert(place, Taken { lines: sender, sign: sign.clone() });
        drop(seats);
        self.shared.moved.notify_one();
        let left = CancellationToken::new();
        tokio::spawn(self.shared.clone().forward(place, said, to_server, left.clone()));
        Some((Seat::new(self.shared.process.clone(), left, sign), ProcessIo { lines, frames }))
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
    /// Carries one session's frames to the server until either side leaves.
    async fn forward(
        self: Arc<Self>,
        place: Place,
        mut said: mpsc::Receiver<Bytes>,
        to_server: mpsc::Sender<Bytes>,
        left: CancellationToken,
    ) {
        // A server that does not read must not keep the seat of a session that has left.
        left.run_until_cancelled(self.forward_all(place, &mut said, &to_server)).await;
        // The last words of a session: it may ask for its turn to stop, and leave.
        while let Ok(frame) = said.try_recv() {
            self.note(place, &frame);
            drop(to_server.try_send(frame));
        }
        left.cancel();
        let mut seats = lock(&self.seats);
        // Under the lock, so that it stands before the first word of whoever comes next.
        seats.say(seats.link.farewell(place));
        seats.link.left(place);
        seats.taken.remove(&place);
        drop(seats);
        self.moved.notify_one();
    }

    async fn forward_all(
        &self,
        place: Place,
        said: &mut mpsc::Receiver<Bytes>,
        to_server: &mpsc::Sender<Bytes>,
    ) {
        while let Some(frame) = said.recv().await {
            self.note(place, &frame);
            if to_server.send(frame).await.is_err() {
                return;
            }
        }
    }

    fn note(&self, place: Place, frame: &Bytes) {
        if let Ok(raw) = serde_json::from_slice::<&RawValue>(frame) {
            lock(&self.seats).link.sent(place, raw);
        }
    }

    /// Reads the server's lines until it ends, is told to, or nobody has used it for long enough.
    async fn read(self: Arc<Self>, mut lines: LineReceiver, terms: Terms, history: Arc<Mutex<History>>) {
        let mut empty_since = Instant::now();
        let we_end_it = loop {
            let empty = lock(&self.seats).taken.is_empty();
            tokio::select! {
                batch = lines.recv() => match batch {
                    // A session that takes nothing must not keep its server from being ended.
                    Some(batch) => drop(self.stop.run_until_cancelled(self.deal_out(batch)).await),
                    None => break false,
                },
                () = self.moved.notified() => {
                    empty_since = Instant::now();
                    if self.close_if_haunted() {
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
            lock(&history).ended();
        } else {
            let exit = self.died(&terms).await;
            lock(&history).failed(&format!("it {exit}"));
        }
        // Only now do its sessions hear of it: whoever starts it again finds the history complete.
        lock(&self.seats).close();
    }

    fn close_if_empty(&self) -> bool {
        self.close_if(|seats| seats.taken.is_empty())
    }

    fn close_if_haunted(&self) -> bool {
        self.close_if(|seats| self.is_haunted(seats))
    }

    /// What nobody hears any more ends with the server, unless that would end somebody else's turn.
    fn is_haunted(&self, seats: &Seats) -> bool {
        self.runaway.load(Relaxed) && !seats.taken.values().any(|taken| taken.sign.is_busy())
    }

    /// Nobody can join from then on.
    fn close_if(&self, so: impl Fn(&Seats) -> bool) -> bool {
        let mut seats = lock(&self.seats);
        let so = so(&seats);
        if so {
            seats.frames = None;
        }
        so
    }

    async fn deal_out(&self, lines: Vec<Line>) {
        for line in lines {
            for (place, sender) in self.hearers(&line) {
                if sender.send(vec![line.clone()]).await.is_none() {
                    tracing::debug!(?place, "a session left while its server spoke to it");
                }
            }
        }
    }

    /// For whom a line is. What is no message at all, all may see.
    fn hearers(&self, line: &Line) -> Vec<(Place, LineSender)> {
        let mut seats = lock(&self.seats);
        let mut reply = Vec::new();
        let route = match whole_message(line) {
            Some(frame) => seats.link.route(frame, &mut reply),
            None => Route::All,
        };
        seats.say(reply);
        match route {
            Route::Session(place) => {
                seats.taken.get(&place).map(|taken| (place, taken.lines.clone())).into_iter().collect()
            }
            Route::All if seats.taken.is_empty() => {
                seats.keep_unheard(line);
                Vec::new()
            }
            Route::All => seats.taken.iter().map(|(place, taken)| (*place, taken.lines.clone())).collect(),
            Route::Mine(_) | Route::Nobody => Vec::new(),
        }
    }

    /// We end it: it leaves by itself when its stdin closes, or is made to.
    async fn end(&self, terms: &Terms) {
        lock(&self.seats).close();
        if timeout(terms.stop, self.process.wait()).await.is_err() {
            self.process.terminate();
            drop(timeout(terms.stop, self.process.wait()).await);
        }
        self.process.kill();
        self.process.gone_or_left().await;
    }

    /// It has ended, or at least closed its stdout, which comes to the same.
    async fn died(&self, terms: &Terms) -> Exit {
        lock(&self.seats).frames = None;
        if timeout(terms.stop, self.process.wait()).await.is_err() {
            self.process.kill();
        }
        let exit = self.process.wait().await;
        tracing::warn!(%exit, pid = self.process.pid(), "a shared server died");
        exit
    }
}

impl Seats {
    /// No more seats, and no more words: the server sees the end of its stdin, sessions the end of theirs.
    fn close(&mut self) {
        self.frames = None;
        self.taken.clear();
    }

    fn say(&self, frames: Vec<Box<RawValue>>) {
        let Some(to_server) = &self.frames else { return };
        for frame in frames {
            // A server that reads nothing will be noticed by those who wait for it.
            drop(to_server.try_send(Bytes::from(frame.get().as_bytes().to_vec())));
        }
    }

    fn keep_unheard(&mut self, line: &Line) {
        if self.unheard.len() < UNHEARD {
            self.unheard.push(line.clone());
        }
    }
}

/// More than this said to an empty room is chatter.
const UNHEARD: usize = 32;

/// What the server said to all before its handshake was over.
async fn shake_hands(
    process: &Process,
    io: &mut ProcessIo,
    link: &mut dyn Link,
    terms: &Terms,
) -> Result<Vec<Line>, Why> {
    let mut to_say = link.hello();
    let mut unheard = Vec::new();
    // Only an answer is progress: a banner that never ends must not hold the door open.
    let mut deadline = Instant::now() + terms.handshake;
    loop {
        for frame in to_say.drain(..) {
            // An end of its stdin is told by the end of its stdout.
            drop(io.frames.send(Bytes::from(frame.get().as_bytes().to_vec())).await);
        }
        let Ok(lines) = timeout_at(deadline, io.lines.recv()).await else {
            return Err(Why::Silent { seconds: terms.handshake.as_secs(), stderr: Default::default() });
        };
        let Some(lines) = lines else {
            let (exit, stderr) = (process.wait().await, process.stderr());
            let refusal = link.ended_early(&stderr);
            return Err(refusal.map_or(Why::Exited { exit, stderr }, Why::Refused));
        };
        let mut done = false;
        for line in lines {
            match whole_message(&line).map(|frame| link.route(frame, &mut to_say)) {
                Some(Route::Mine(Handshake::Done)) => done = true,
                Some(Route::Mine(Handshake::Refused(refusal))) => return Err(Why::Refused(refusal)),
                Some(Route::Mine(Handshake::GoesOn)) => deadline = Instant::now() + terms.handshake,
                Some(Route::Session(_) | Route::All | Route::Nobody) | None if unheard.len() < UNHEARD => {
                    unheard.push(line);
                }
                Some(Route::Session(_) | Route::All | Route::Nobody) | None => {}
            }
        }
        if done {
            for frame in to_say.drain(..) {
                drop(io.frames.send(Bytes::from(frame.get().as_bytes().to_vec())).await);
            }
            return Ok(unheard);
        }
    }
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

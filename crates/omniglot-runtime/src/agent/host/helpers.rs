//! Helpers: programs of ours that the agent starts, and that ask through a socket.
//!
//! A helper writes one line and gets one line. Whoever can reach the socket can ask; nobody can answer through it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use omniglot_agents::{HostKey, HostOutcome};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::{HostEvent, tell};
use crate::process::lines;

/// Helpers that may wait at once; any further one is sent away.
const MAX_HELPERS: usize = 64;
/// The keys of helpers begin here, above all that an adapter counts.
const FIRST_KEY: u64 = 1 << 63;

type Waiting = Arc<Mutex<HashMap<HostKey, oneshot::Sender<String>>>>;

/// The helpers that wait for an answer. Dropped, it hears no more of them.
#[derive(Debug)]
pub(super) struct Helpers {
    waiting: Waiting,
    _listening: JoinSet<()>,
}

impl Helpers {
    pub(super) fn listen(listener: UnixListener, events: mpsc::Sender<HostEvent>) -> Self {
        let waiting = Waiting::default();
        let mut listening = JoinSet::new();
        listening.spawn(accept(listener, waiting.clone(), events));
        Self { waiting, _listening: listening }
    }

    /// Answers a helper; one that has left gets nothing.
    pub(super) fn answer(&self, key: HostKey, line: String) {
        if let Some(helper) = lock(&self.waiting).remove(&key) {
            drop(helper.send(line));
        }
    }
}

fn lock(waiting: &Waiting) -> MutexGuard<'_, HashMap<HostKey, oneshot::Sender<String>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: UnixListener, waiting: Waiting, events: mpsc::Sender<HostEvent>) {
    let mut helpers = JoinSet::new();
    let mut last = FIRST_KEY;
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Too many open files, say: the helper that waits is heard when there is room again.
                tracing::warn!(%error, "a helper of an agent");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                continue;
            }
        };
        while helpers.try_join_next().is_some() {}
        if helpers.len() >= MAX_HELPERS {
            continue;
        }
        last += 1;
        helpers.spawn(serve(stream, HostKey(last), waiting.clone(), events.clone()));
    }
}

async fn serve(stream: UnixStream, key: HostKey, waiting: Waiting, events: mpsc::Sender<HostEvent>) {
    let (from, mut to) = stream.into_split();
    let mut from = BufReader::new(from).take(lines::DEFAULT_CAP as u64);
    let mut question = String::new();
    if from.read_line(&mut question).await.is_err() || !question.ends_with('\n') {
        return;
    }
    let (answer, answered) = oneshot::channel();
    lock(&waiting).insert(key, answer);
    tell(&events, key, HostOutcome::HelperAsked(question)).await;
    let mut rest = [0];
    tokio::select! {
        answer = answered => {
            let Ok(answer) = answer else { return };
            // A helper that is gone by now wants no answer.
            drop(to.write_all(format!("{answer}\n").as_bytes()).await);
        }
        // It says nothing more: this is its end.
        _ = from.read(&mut rest) => {
            lock(&waiting).remove(&key);
            tell(&events, key, HostOutcome::HelperLeft).await;
        }
    }
}

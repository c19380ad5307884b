//! Makes frames out of every session that changes, as long as somebody listens.
//!
//! It follows the whole daemon with one task and keeps one projection per session that has changed since; a
//! session that did not change costs nothing. Sending the frames is left to the streams.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use omniglot_runtime::{Hub, RuntimeError};
use omniglot_schema::SessionId;
use omniglot_store::{Fate, News};
use tokio::sync::{Notify, watch};
use tokio_util::task::AbortOnDropHandle;

use super::backlog::{Backlog, Frame};
use super::greeting::greeting;
use super::live::{Live, encode};
use super::reader::Reader;
use super::shelf::{Shared, Shelf};
use super::stream::Form;
use super::wire::{OcEvent, Payload};

/// How long a finished command waits for streams that do not read.
const PATIENCE: Duration = Duration::from_secs(2);

/// One of its kind per daemon.
pub(crate) struct Relay {
    pub(super) hub: Hub,
    pub(super) backlog: Backlog,
    /// For looks at sessions that are not live.
    shelf: Shelf,
    state: Mutex<State>,
    /// Rings when a stream opens.
    joined: Notify,
}

#[derive(Default)]
struct State {
    /// The sessions that changed while somebody listened.
    live: HashMap<SessionId, Shared>,
    /// How far each stream has come; it hangs up when the stream ends.
    readers: Vec<watch::Receiver<u64>>,
    /// Sessions that are being made anew: their end is not told.
    exchanged: HashSet<SessionId>,
    task: Option<AbortOnDropHandle<()>>,
}

impl Relay {
    pub(crate) fn new(hub: Hub) -> Arc<Self> {
        Arc::new(Self {
            hub,
            backlog: Backlog::default(),
            shelf: Shelf::default(),
            state: Mutex::default(),
            joined: Notify::new(),
        })
    }

    /// Opens a stream. It first hears what is open in the middle of things.
    pub(crate) async fn join(self: &Arc<Self>, form: &Form) -> Result<Reader, RuntimeError> {
        let mut reader = self.enter();
        for session in self.hub.unfinished().await? {
            if form.shows(session.info.directory.as_deref().unwrap_or_default()) {
                let id = &session.info.session_id;
                match self.view(id, greet).await {
                    Ok((sequence, frames)) => reader.greet(id, sequence, frames),
                    Err(RuntimeError::SessionNotFound(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(reader)
    }

    fn enter(self: &Arc<Self>) -> Reader {
        let mut state = self.state();
        // From before the reader's place on, so that nothing lies between.
        let news = state.task.is_none().then(|| self.hub.follow());
        let (reader, progress) = Reader::new(self.clone(), self.backlog.end());
        state.readers.push(progress);
        if let Some(news) = news {
            state.task = Some(AbortOnDropHandle::new(tokio::spawn(self.clone().follow(news))));
        }
        drop(state);
        self.joined.notify_waiters();
        reader
    }

    /// Returns once somebody listens; a client that never does is not waited for long.
    pub(crate) async fn audience(&self) {
        let somebody = async {
            loop {
                let joined = self.joined.notified();
                if !self.state().readers.is_empty() {
                    return;
                }
                joined.await;
            }
        };
        if tokio::time::timeout(PATIENCE, somebody).await.is_err() {
            tracing::debug!("nobody listens to OpenCode's events");
        }
    }

    /// Called when a reader has gone.
    pub(super) fn leave(&self) {
        let mut state = self.state();
        state.readers.retain(|progress| progress.has_changed().is_ok());
        if state.readers.is_empty() {
            *state = State::default();
            self.backlog.clear();
        }
    }

    async fn follow(self: Arc<Self>, mut news: News) {
        while let Some(changed) = news.next().await {
            for (id, fate) in changed {
                match fate {
                    Fate::Grown { after } => self.grown(&id, after).await,
                    Fate::Deleted => self.deleted(&id).await,
                }
            }
        }
    }

    async fn grown(&self, id: &SessionId, after: u64) {
        let told = async {
            let live = self.live_from(id, after).await?;
            self.tell(&mut *live.lock().await).await
        };
        match told.await {
            Ok(()) | Err(RuntimeError::SessionNotFound(_)) => {}
            Err(error) => {
                tracing::error!(session = %id, error = &error as &dyn std::error::Error, "OpenCode's clients miss events");
                self.state().live.remove(id);
            }
        }
    }

    /// Says something of the server itself to everybody who listens to all of it.
    pub(crate) fn announce(&self, payload: Payload) {
        let event = OcEvent::loose(jiff::Timestamp::now().as_millisecond(), payload);
        let json = encode(&event);
        self.backlog.push(vec![Frame { session: None, sequence: None, directory: "".into(), json }]);
    }

    /// Those who show a list of sessions take it off.
    async fn deleted(&self, id: &SessionId) {
        if self.state().exchanged.remove(id) {
            return;
        }
        self.shelf.remove(id);
        let Some(live) = self.state().live.remove(id) else { return };
        let live = live.lock().await;
        let info = Box::new(live.projector().session());
        let payload = Payload::SessionDeleted { session_id: info.id.clone(), info };
        let event = OcEvent::loose(jiff::Timestamp::now().as_millisecond(), payload);
        self.backlog.push(vec![live.frame(None, &event)]);
    }

    /// A session is about to be made anew under its id, which its clients shall not take for its end.
    pub(crate) fn exchange(&self, id: &SessionId) {
        self.shelf.remove(id);
        let mut state = self.state();
        state.live.remove(id);
        if state.task.is_some() {
            state.exchanged.insert(id.clone());
        }
    }

    /// Gets to know a session that is about to be deleted: afterwards nobody could say which it was.
    pub(crate) async fn remember(&self, id: &SessionId) -> Result<(), RuntimeError> {
        if self.state().readers.is_empty() {
            return Ok(());
        }
        let last = self.hub.record(id).await?.last_seq;
        let live = self.live_from(id, last).await?;
        self.tell(&mut *live.lock().await).await
    }

    /// The projection of a session, told up to `after` if it is new.
    async fn live_from(&self, id: &SessionId, after: u64) -> Result<Shared, RuntimeError> {
        if let Some(live) = self.live(id) {
            return Ok(live);
        }
        let new = Arc::new(tokio::sync::Mutex::new(Live::open(&self.hub, id, after).await?));
        Ok(self.state().live.entry(id.clone()).or_insert(new).clone())
    }

    fn live(&self, id: &SessionId) -> Option<Shared> {
        self.state().live.get(id).cloned()
    }

    /// Folds what is committed and makes it known.
    async fn tell(&self, live: &mut Live) -> Result<(), RuntimeError> {
        while let Some(frames) = live.step().await? {
            self.backlog.push(frames);
        }
        Ok(())
    }

    /// Looks at a session as it is now.
    pub(crate) async fn view<T>(
        &self,
        id: &SessionId,
        look: impl FnOnce(&Live) -> T,
    ) -> Result<T, RuntimeError> {
        // The id may have been given to another session since it was looked at.
        let record = self.hub.record(id).await?;
        if let Some(live) = self.live(id) {
            let mut live = live.lock().await;
            if live.is_of(&record) {
                self.tell(&mut live).await?;
                return Ok(look(&live));
            }
        }
        let live = match self.shelf.find(id) {
            Some(live) if live.lock().await.is_of(&record) => live,
            _ => {
                self.shelf.remove(id);
                self.shelf.keep(id, Live::open(&self.hub, id, u64::MAX).await?)
            }
        };
        let mut live = live.lock().await;
        read_on(&mut live).await?;
        Ok(look(&live))
    }

    /// Returns once every stream has taken what the session's events after `after` say; one that does not
    /// read is not waited for long.
    pub(crate) async fn deliver(&self, id: &SessionId, after: u64) {
        let readers = self.state().readers.clone();
        if readers.is_empty() {
            return;
        }
        self.grown(id, after).await;
        let end = self.backlog.end();
        let all = async {
            for mut progress in readers {
                // One that hung up needs nothing any more.
                let _gone = progress.wait_for(|taken| *taken >= end).await.is_err();
            }
        };
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            tracing::debug!(session = %id, "a stream of OpenCode's does not read");
        }
    }

    /// Makes frames of everything that is committed.
    pub(super) async fn settle(&self) {
        let live: Vec<Shared> = self.state().live.values().cloned().collect();
        for live in live {
            // A session that cannot be read has been reported when it was.
            let _unread = self.tell(&mut *live.lock().await).await.is_err();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells nobody.
async fn read_on(live: &mut Live) -> Result<(), RuntimeError> {
    while live.step().await?.is_some() {}
    Ok(())
}

fn greet(live: &Live) -> (u64, Vec<Frame>) {
    let sequence = live.projector().sequence();
    let frames = greeting(live.projector()).iter().map(|event| live.frame(Some(sequence), event)).collect();
    (sequence, frames)
}

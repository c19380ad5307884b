//! Makes frames from every session that changes, as long as a stream is open.
//!
//! It follows the whole daemon with one task and keeps one projection per session that is under way; a session
//! that did not change costs nothing. Sending the frames is left to the streams; who listens is in `listeners`.

mod listeners;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use omniglot_runtime::{Caller, Hub, RuntimeError};
use omniglot_schema::SessionId;
use omniglot_store::{Changes, SessionChange, SessionNo, SessionRecord};
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use self::listeners::Listener;
use super::active_views::ActiveViews;
use super::ring::{Frame, SharedRing, TokenName};
use super::session_view::{SessionView, encode, farewell};
use super::view_cache::{Shared, ViewCache};
use super::windows::Windows;
use crate::faces::opencode::wire::ids::Id;
use crate::faces::opencode::wire::{OcEvent, Payload, Session};

/// The time that a finished command waits for streams that do not read.
const READER_TIMEOUT: Duration = Duration::from_secs(2);

/// There is one relay per daemon.
pub(crate) struct Relay {
    pub(super) hub: Hub,
    pub(super) ring: SharedRing,
    /// Serves reads of sessions that are not active.
    view_cache: ViewCache,
    state: Mutex<State>,
    windows: Windows,
    /// Rings when a stream is open.
    joined: Notify,
}

#[derive(Default)]
struct State {
    /// The sessions that changed while a stream was open.
    active_views: ActiveViews<Shared>,
    listeners: Vec<Listener>,
    task: Option<AbortOnDropHandle<()>>,
}

impl Relay {
    pub(crate) fn new(hub: Hub) -> Arc<Self> {
        Arc::new(Self {
            hub,
            ring: SharedRing::default(),
            view_cache: ViewCache::default(),
            state: Mutex::default(),
            windows: Windows::default(),
            joined: Notify::new(),
        })
    }

    async fn follow(self: Arc<Self>, mut news: Changes) {
        while let Some(changed) = news.next().await {
            for (no, change) in changed {
                match change {
                    SessionChange::Grown { after } => self.grown(no, after).await,
                    SessionChange::Deleted(record) => self.deleted(no, record.as_deref()),
                    // Its clients know the new session by the same id.
                    SessionChange::Replaced => self.forget(no),
                }
            }
        }
    }

    async fn grown(&self, no: SessionNo, after: u64) {
        match self.tell_from(no, after).await {
            Ok(Flow::Works) => self.state().active_views.works(no),
            Ok(Flow::Rests) => self.rested(no).await,
            Err(RuntimeError::SessionNotFound(_)) => {}
            Err(error) => {
                tracing::error!(
                    session = no.0,
                    error = &error as &dyn std::error::Error,
                    "OpenCode's clients miss events"
                );
                self.state().active_views.remove(no);
            }
        }
    }

    /// Removes an idle session, when there are too many. Only the follower task does this: later changes of
    /// that session arrive there, and it is read anew.
    async fn rested(&self, no: SessionNo) {
        let surplus = self.state().active_views.rests(no);
        let Some((longest, live)) = surplus else { return };
        let mut live = live.lock().await;
        if live.rests() {
            // A reader may still hold the view, and would emit what its successor emits.
            live.hush();
            self.state().active_views.remove(longest);
        }
    }

    pub(crate) fn windows(&self) -> &Windows {
        &self.windows
    }

    /// Emits an event of the server itself to the caller's own streams that show the directory.
    pub(crate) fn announce_to(&self, caller: &Caller, directory: &str, payload: Payload) {
        let only_for = Some(TokenName::of(caller));
        self.ring.push(vec![Frame { only_for, ..loose(directory, payload) }]);
    }

    /// Emits an event of the server itself to all global streams.
    pub(crate) fn announce(&self, payload: Payload) {
        self.ring.push(vec![loose("", payload)]);
    }

    /// Tells all global streams to read everything again: the terminal interface listens for the first event, the web
    /// page for the second one.
    pub(crate) fn announce_reload(&self) {
        let disposed = Payload::InstanceDisposed { directory: String::new() };
        self.ring.push(vec![loose("", disposed), loose("global", Payload::GlobalDisposed {})]);
    }

    /// Emits the deletion, so that clients remove the session from their lists.
    fn deleted(&self, no: SessionNo, record: Option<&SessionRecord>) {
        self.forget(no);
        match record.map(farewell).transpose() {
            Ok(frame) => self.ring.push(frame.into_iter().collect()),
            Err(error) => {
                tracing::error!(
                    session = no.0,
                    error = &error as &dyn std::error::Error,
                    "OpenCode's clients miss an end"
                );
            }
        }
    }

    fn forget(&self, no: SessionNo) {
        self.view_cache.remove(no);
        self.state().active_views.remove(no);
    }

    /// Emits the frames of a session's events after `after`, unless that was done.
    async fn tell_from(&self, no: SessionNo, after: u64) -> Result<Flow, RuntimeError> {
        let live = self.live_from(no, after).await?;
        let mut live = live.lock().await;
        self.tell(&mut live).await?;
        Ok(if live.rests() { Flow::Rests } else { Flow::Works })
    }

    /// Returns the projection of a session; a new one emits only events after `after`.
    async fn live_from(&self, no: SessionNo, after: u64) -> Result<Shared, RuntimeError> {
        let known = self.state().active_views.get(no);
        if let Some(live) = known {
            return Ok(live);
        }
        let record = self.hub.record_numbered(no).await?;
        let record = record.ok_or_else(|| RuntimeError::SessionNotFound(no.0.to_string()))?;
        let mut new = SessionView::new(&self.hub, &record)?;
        let mut state = self.state();
        if let Some(live) = state.active_views.get(no) {
            return Ok(live);
        }
        // The session may have been active before, and have emitted some of these events already.
        new.tell_after(self.ring.newest(no).map_or(after, |newest| newest.max(after)));
        let live: Shared = Arc::new(tokio::sync::Mutex::new(new));
        state.active_views.insert(no, live.clone());
        Ok(live)
    }

    /// Folds the committed events and pushes their frames.
    async fn tell(&self, live: &mut SessionView) -> Result<(), RuntimeError> {
        while let Some(frames) = live.step(&self.hub).await? {
            self.ring.push(frames);
        }
        // Clients read the lists of models again when they hear this.
        if let Some((agent, model, window)) = live.projector().window()
            && self.windows.learn(agent, model, window)
        {
            self.announce(Payload::InstanceDisposed { directory: String::new() });
        }
        Ok(())
    }

    /// Reads the current view of a session.
    pub(crate) async fn view<T>(
        &self,
        record: &SessionRecord,
        look: impl FnOnce(&SessionView) -> T,
    ) -> Result<T, RuntimeError> {
        let known = self.state().active_views.get(record.no);
        let live = match known.or_else(|| self.view_cache.find(record.no)) {
            Some(live) => live,
            None => self.view_cache.keep(record.no, SessionView::new(&self.hub, record)?),
        };
        let mut live = live.lock().await;
        self.tell(&mut live).await?;
        Ok(look(&live))
    }

    /// Returns the sessions of subagents below each session that is in memory.
    pub(crate) async fn known_subagents(&self) -> HashMap<Id, Vec<Session>> {
        let mut views = self.view_cache.all();
        views.extend(self.state().active_views.values());
        let mut known: HashMap<Id, (SessionNo, Vec<Session>)> = HashMap::new();
        for view in views {
            let view = view.lock().await;
            let (id, sessions) = (view.projector().session().id, view.projector().subagent_sessions());
            // An older session of this id was deleted.
            if known.get(&id).is_none_or(|(no, _)| *no <= view.no()) {
                known.insert(id, (view.no(), sessions));
            }
        }
        known.into_iter().map(|(id, (_, sessions))| (id, sessions)).collect()
    }

    /// Returns once every stream has taken the frames of the session's events after `after`; a stream that
    /// does not read is not waited for long.
    pub(crate) async fn deliver(&self, id: &SessionId, after: u64) -> Result<(), RuntimeError> {
        let streams = self.progress();
        if streams.is_empty() {
            return Ok(());
        }
        let no = self.hub.record(id).await?.no;
        self.tell_from(no, after).await?;
        let end = self.ring.end();
        let all = async {
            for mut progress in streams {
                // One that hung up needs nothing any more.
                let _gone = progress.wait_for(|taken| *taken >= Some(end)).await.is_err();
            }
        };
        if tokio::time::timeout(READER_TIMEOUT, all).await.is_err() {
            tracing::debug!(session = %id, "a stream of OpenCode's does not read");
        }
        Ok(())
    }

    /// Makes frames of everything that is committed.
    pub(super) async fn settle(&self) {
        let active_views = self.state().active_views.values();
        for live in active_views {
            // A session that cannot be read was reported earlier.
            let _unread = self.tell(&mut *live.lock().await).await.is_err();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A frame about no session.
fn loose(directory: &str, payload: Payload) -> Frame {
    let json = encode(&OcEvent::loose(jiff::Timestamp::now().as_millisecond(), payload));
    Frame { session: None, sequence: None, directory: directory.into(), only_for: None, json }
}

/// The activity of a session after all its events.
enum Flow {
    Works,
    Rests,
}

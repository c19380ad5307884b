//! The streams that listen to the relay: how one is opened, who hears a directory, how far each has come.

use std::sync::Arc;
use std::time::Duration;

use omniglot_runtime::{Hub, RuntimeError};
use omniglot_schema::SessionId;
use omniglot_store::SessionNo;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::{Relay, State};
use crate::faces::opencode::project::initial_state::initial_state;
use crate::faces::opencode::state::reader::{Progress, Reader};
use crate::faces::opencode::state::ring::Frame;
use crate::faces::opencode::state::session_view::SessionView;
use crate::faces::opencode::state::stream::Form;

/// How long a prompt waits for the stream of a program that opens one with every prompt. On a machine with
/// much to do that stream may come late, and without it the program shows nothing.
const AUDIENCE_TIMEOUT: Duration = Duration::from_secs(10);

/// A stream, seen from here.
pub(super) struct Listener {
    form: Form,
    /// Hangs up when the stream ends.
    progress: watch::Receiver<Progress>,
}

impl Listener {
    fn hears(&self, directory: &str) -> bool {
        self.form.shows(directory) && self.progress.borrow().is_some()
    }
}

impl Relay {
    /// Opens a stream. It first hears what is open in the middle of things, as far as `hub` shows it.
    pub(crate) async fn join(self: &Arc<Self>, hub: &Hub, form: &Form) -> Result<Reader, RuntimeError> {
        let mut reader = self.enter(form);
        for session in hub.unfinished().await? {
            if form.shows(session.info.directory.as_deref().unwrap_or_default()) {
                self.start_with(&mut reader, &session.info.session_id).await?;
            }
        }
        self.open(&reader);
        Ok(reader)
    }

    /// Gives a new stream its place. It has everything from there on to read, but what was said before is
    /// not looked at yet.
    fn enter(self: &Arc<Self>, form: &Form) -> Reader {
        let mut state = self.state();
        // From before the reader's place on, so that nothing lies between.
        let news = state.task.is_none().then(|| self.hub.follow());
        let (reader, progress) = Reader::new(self.clone(), self.ring.end());
        state.listeners.push(Listener { form: form.clone(), progress });
        if let Some(news) = news {
            state.task = Some(AbortOnDropHandle::new(tokio::spawn(self.clone().follow(news))));
        }
        reader
    }

    /// Greets a new stream with what a session is in the middle of.
    ///
    /// A session that rests gets no initial state: a turn of it may have begun and ended since the stream has its
    /// place, and the initial state would hide the frames of that turn, which the reader still has ahead.
    async fn start_with(&self, reader: &mut Reader, id: &SessionId) -> Result<(), RuntimeError> {
        let look = async {
            let record = self.hub.record(id).await?;
            self.view(&record, |live| (!live.rests()).then(|| initial_state_of(live))).await
        };
        match look.await {
            Ok(Some((no, sequence, frames))) => reader.start_with(no, sequence, frames),
            Ok(None) | Err(RuntimeError::SessionNotFound(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Says that the initial state is complete.
    fn open(&self, reader: &Reader) {
        reader.open();
        self.joined.notify_waiters();
    }

    /// Returns once a stream of this directory is open; a client that never opens one is not waited for long.
    ///
    /// A stream that is still being opened does not count: its initial state shows the turn that runs when the
    /// session is looked at, and would leave out a turn that has ended by then.
    pub(crate) async fn audience(&self, directory: &str) {
        let somebody = async {
            loop {
                let joined = self.joined.notified();
                if self.state().listeners.iter().any(|listener| listener.hears(directory)) {
                    return;
                }
                joined.await;
            }
        };
        if tokio::time::timeout(AUDIENCE_TIMEOUT, somebody).await.is_err() {
            tracing::debug!("nobody listens to OpenCode's events");
        }
    }

    /// Called when a reader has gone.
    pub(in crate::faces::opencode) fn leave(&self) {
        let mut state = self.state();
        state.listeners.retain(|listener| listener.progress.has_changed().is_ok());
        if state.listeners.is_empty() {
            *state = State::default();
            self.ring.clear();
        }
    }

    /// How far each stream has come.
    pub(in crate::faces::opencode) fn progress(&self) -> Vec<watch::Receiver<Progress>> {
        self.state().listeners.iter().map(|listener| listener.progress.clone()).collect()
    }
}

fn initial_state_of(live: &SessionView) -> (SessionNo, u64, Vec<Frame>) {
    let sequence = live.projector().sequence();
    let frames = initial_state(live.projector()).iter().map(|event| live.frame(sequence, event)).collect();
    (live.no(), sequence, frames)
}

#[cfg(test)]
mod tests;

//! The reason why the log cannot be written now, and the time of the next try.

use std::time::Duration;

use tokio::sync::watch;

/// Set while writing fails; shown to people.
#[derive(Debug, Default)]
pub(crate) struct Fault(watch::Sender<Option<String>>);

impl Fault {
    pub(crate) fn get(&self) -> Option<String> {
        self.0.borrow().clone()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Option<String>> {
        self.0.subscribe()
    }

    pub(super) fn set(&self, sentence: String) {
        if self.0.borrow().as_ref() != Some(&sentence) {
            tracing::error!("{sentence}");
            self.0.send_replace(Some(sentence));
        }
    }

    pub(super) fn clear(&self) {
        if self.0.send_if_modified(|now| now.take().is_some()) {
            tracing::info!("the event log is written again");
        }
    }
}

/// Doubling waits between 100 ms and 2 s.
pub(super) struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self(Duration::from_millis(100))
    }
}

impl Backoff {
    pub(super) fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = (wait * 2).min(Duration::from_secs(2));
        wait
    }
}

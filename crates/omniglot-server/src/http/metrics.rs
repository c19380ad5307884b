//! Counts the answers of the server, without locks.

use http::StatusCode;
use omniglot_store::Counter;

const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

#[derive(Debug, Default)]
pub(crate) struct HttpMetrics {
    answers: [Counter; CLASSES.len()],
}

impl HttpMetrics {
    pub(crate) fn answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(count) = self.answers.get(class) {
            count.add(1);
        }
    }

    /// Returns how many requests were answered, by class of status.
    pub(crate) fn answers(&self) -> impl Iterator<Item = (&'static str, u64)> {
        CLASSES.into_iter().zip(self.answers.iter().map(Counter::get))
    }
}

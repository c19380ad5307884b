//! Activities beside the turn itself: compaction, and retries of model calls.

use omniglot_schema::{Activity, StatePatch, StatusLabel};

use super::failure::{failure, is_refusal};
use super::wire::ErrorNotice;
use super::{Codex, dropped};
use crate::contract::{Draft, Output};

impl Codex {
    /// Sets the activity beside the turn; the first sign of progress ends it.
    pub(crate) fn activity(&mut self, activity: Option<Activity>, out: &mut Vec<Output>) {
        if !self.turns.set_activity(activity) {
            return;
        }
        self.state(StatePatch { activity: Some(activity), ..StatePatch::default() }, out);
    }

    /// Something came of the model: what was retried has succeeded.
    pub(crate) fn progress(&mut self, out: &mut Vec<Output>) {
        if self.turns.activity() == Some(Activity::Retrying) {
            self.activity(None, out);
        }
    }

    /// An error that is retried is no failure; the last one comes again with the end of the turn.
    pub(crate) fn error(&mut self, news: ErrorNotice, out: &mut Vec<Output>) {
        let ErrorNotice { thread_id, error, will_retry } = news;
        let mut detail = error.message.clone();
        if let Some(more) = &error.additional_details {
            detail = format!("{detail}: {more}");
        }
        if will_retry {
            self.texts.abandon(&thread_id, out);
            self.activity(Some(Activity::Retrying), out);
            self.status(StatusLabel::Retry, Some(detail), out);
        } else if self.is_child(&thread_id) {
            self.status(StatusLabel::Warning, Some(format!("a child agent failed: {detail}")), out);
        } else if is_refusal(&error) {
            // The end of the turn tells it.
            out.push(dropped());
        } else {
            out.push(Draft::Error(failure(&error)).into());
        }
    }
}

//! The session's directory around its turns: a snapshot before each, one after it, and work on its files in between.
//!
//! message ─before─► sent ─turn.started─► named ─turn.ended─► after ─► next message
//!
//! Delivery waits for what is pending here; the session goes on with everything else.

use std::fmt;
use std::future::{Future, pending};
use std::pin::Pin;
use std::time::Duration;

use omniglot_schema::{StatePatch, StatusLabel, TurnId};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::undelivered::Effect;
use super::{Answer, Session, answer};
use crate::error::RuntimeError;
use crate::snapshots::{Before, SnapshotError, TurnName};

/// Work on the files of a session.
pub(crate) struct FileWork(pub(crate) Pin<Box<dyn Future<Output = Result<WorkReport, RuntimeError>> + Send>>);

/// The entry of the transcript about work on files.
#[derive(Debug)]
pub(crate) struct WorkReport {
    pub(crate) detail: String,
    /// The turn from which on the conversation is taken back now; the outer `None` changes nothing.
    pub(crate) reverted_from: Option<Option<TurnId>>,
}

impl fmt::Debug for FileWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileWork")
    }
}

#[derive(Debug, Default)]
pub(super) struct WorkTree {
    /// The snapshot for the turn of a message that was sent.
    sent: Option<Before>,
    /// The open turn, if it has a snapshot.
    turn: Option<TurnName>,
    pending: Option<Pending>,
    /// When a turn or work on the files last began or ended: older snapshots do not count.
    touched: Option<Instant>,
    /// Until then the end of the turn is not told: what somebody changes once it is told is no part of the turn.
    hold_until: Option<Instant>,
}

/// How long the end of a turn waits for its snapshot.
const HOLD: Duration = Duration::from_secs(1);

#[derive(Debug)]
enum Pending {
    Before(JoinHandle<Before>),
    After(JoinHandle<Result<(), SnapshotError>>),
    Work { task: JoinHandle<Result<WorkReport, RuntimeError>>, client: Option<oneshot::Sender<Answer>> },
}

/// The result of what was pending.
#[derive(Debug)]
pub(super) enum Finished {
    Before(Before),
    After(Result<(), SnapshotError>),
    Work(Result<WorkReport, RuntimeError>, Option<oneshot::Sender<Answer>>),
}

impl WorkTree {
    pub(super) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether somebody works on the files.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self.pending, Some(Pending::Work { .. }))
    }

    /// When the end of a turn that waits for its snapshot is told at the latest.
    pub(super) fn hold_deadline(&self) -> Option<Instant> {
        self.hold_until.filter(|_| matches!(self.pending, Some(Pending::After(_))))
    }

    pub(super) fn end_hold(&mut self) {
        self.hold_until = None;
    }

    /// Whether the snapshot is of the directory as it is.
    pub(super) fn is_current(&self, before: &Before) -> bool {
        let since = |taken: Instant| self.touched.is_none_or(|touched| touched < taken);
        match before {
            Before::Taken(_, taken) => !self.is_pending() && since(*taken),
            Before::Missing(_) => true,
        }
    }

    pub(super) fn message_sent(&mut self, before: Option<Before>) {
        self.sent = before;
    }

    /// Waits for what is pending. Cancel-safe.
    pub(super) async fn finished(&mut self) -> Finished {
        let ended = || SnapshotError::Failed("its task has ended".to_owned());
        let finished = match &mut self.pending {
            None => pending().await,
            Some(Pending::Before(task)) => {
                Finished::Before(task.await.unwrap_or_else(|_| Before::Missing(ended())))
            }
            Some(Pending::After(task)) => Finished::After(task.await.unwrap_or_else(|_| Err(ended()))),
            Some(Pending::Work { task, client }) => {
                let result = task.await.unwrap_or(Err(RuntimeError::Stopping));
                Finished::Work(result, client.take())
            }
        };
        self.pending = None;
        finished
    }
}

impl Session {
    /// Whether the first message that waits has its snapshot, or will have none; otherwise it is taken.
    pub(super) fn has_snapshot(&mut self) -> bool {
        let snapshots = self.spec.snapshots.clone();
        if snapshots.are_disabled() {
            return !self.work_tree.is_pending();
        }
        let has_one = self.queue.front().is_some_and(|queued| queued.before.is_some());
        if !self.work_tree.is_pending() && !has_one {
            let task = self.spec.snapshots.spawn(async move { snapshots.before().await });
            self.work_tree.pending = Some(Pending::Before(task));
        }
        !self.work_tree.is_pending()
    }

    /// Names the snapshot of a turn that has begun, and takes another one when it has ended.
    pub(super) fn follow_turns(&mut self) {
        let open = self.timeline.fold().open_turn.as_ref();
        let is_over = |turn: &mut TurnName| open.is_none_or(|open| open.turn_id != turn.id);
        if let Some(turn) = self.work_tree.turn.take_if(is_over) {
            self.work_tree.pending = Some(Pending::After(self.spec.snapshots.after(turn)));
            let now = Instant::now();
            (self.work_tree.hold_until, self.work_tree.touched) = (Some(now + HOLD), Some(now));
        }
        let Some(open) = open else { return };
        self.work_tree.touched = Some(Instant::now());
        match self.work_tree.sent.take() {
            Some(Before::Taken(tree, _)) => {
                let turn = TurnName { seq: open.seq, id: open.turn_id.clone() };
                self.spec.snapshots.begin(&turn, &tree);
                self.work_tree.turn = Some(turn);
            }
            Some(Before::Missing(error)) => self.tell_missing(&error),
            None => {}
        }
        if self.timeline.fold().state.reverted_from.is_some() {
            // The conversation goes on from where it was taken back to.
            self.patch(StatePatch { reverted_from: Some(None), ..StatePatch::default() });
        }
    }

    /// Says once that the session has no snapshots although it should.
    fn tell_missing(&mut self, error: &SnapshotError) {
        if !self.timeline.fold().ended && self.spec.snapshots.is_news(error) {
            let detail = format!("the changes of this turn cannot be reverted: {error}");
            let timeline = &mut self.timeline;
            self.step.with(|stamp, out| timeline.status(StatusLabel::Warning, detail, stamp, out));
        }
    }

    pub(super) fn work_tree_finished(&mut self, finished: Finished) {
        self.step.begin();
        if matches!(finished, Finished::Work(..)) {
            self.work_tree.touched = Some(Instant::now());
        }
        match finished {
            Finished::Before(before) => {
                self.queue.front_mut().into_iter().for_each(|queued| queued.before = Some(before.clone()));
            }
            Finished::After(Ok(())) => {}
            Finished::After(Err(error)) => self.tell_missing(&error),
            Finished::Work(Ok(report), Some(client)) => self.tell_work(report, client),
            Finished::Work(Err(error), Some(client)) => answer(client, Answer::Refused(error)),
            Finished::Work(_, None) => {}
        }
        self.drive();
    }

    fn tell_work(
        &mut self,
        WorkReport { detail, reverted_from }: WorkReport,
        client: oneshot::Sender<Answer>,
    ) {
        let timeline = &mut self.timeline;
        self.step.with(|stamp, out| {
            timeline.reopen(stamp, out);
            timeline.status(StatusLabel::Reverted, detail, stamp, out);
        });
        self.patch(StatePatch { reverted_from, ..StatePatch::default() });
        self.done(Effect::Done, client);
    }

    /// Works on the files once the last turn's snapshot is there; refuses while a turn runs or is about to.
    pub(super) fn work_on_files(&mut self, work: FileWork, client: oneshot::Sender<Answer>) {
        let is_idle = self.timeline.fold().open_turn.is_none() && self.queue.is_empty();
        let prior = match self.work_tree.pending.take() {
            None if is_idle => None,
            Some(Pending::After(task)) if is_idle => Some(task),
            pending => {
                self.work_tree.pending = pending;
                return answer(client, Answer::Refused(RuntimeError::Busy));
            }
        };
        let task = self.spec.snapshots.spawn(async move {
            if let Some(prior) = prior {
                drop(prior.await);
            }
            work.0.await
        });
        self.work_tree.touched = Some(Instant::now());
        self.work_tree.pending = Some(Pending::Work { task, client: Some(client) });
    }
}

//! OpenCode's status: busy, retrying, idle; and which `idle` ends a turn.
//!
//! A normal turn has one `idle`. When a call of the model fails, the part of OpenCode that makes the call
//! tells the error and an `idle` at once, while the loop around it still runs: it closes the message
//! (`time.completed`), ends, and tells a second `idle`, 20 to 400 ms later. A prompt that comes in between is
//! answered 204 and never worked on, and `GET /session/status` calls the session idle in between, too. So the
//! `idle` of a failed turn whose message is still open is not its end. An error before the first message (a
//! model that does not exist) or after the message was closed (often that of a content filter) has one `idle`.
//!
//! Each `idle` is two events, `session.status` and then `session.idle`.

use omniglot_schema::Activity;

use super::translate::Whose;
use super::wire::Status;
use super::{OpenCode, dropped};
use crate::contract::{DropReason, Output};

impl OpenCode {
    pub(crate) fn status(&mut self, session: &str, status: Status, out: &mut Vec<Output>) {
        match self.whose(session) {
            Whose::Mine => {}
            Whose::Child(_) => return self.child_status(session, &status, out),
            Whose::Other => return,
        }
        match status {
            Status::Busy => {
                if let Some(turn) = &mut self.turn {
                    turn.busy = true;
                    turn.halted = false;
                }
                if self.activity == Some(Activity::Retrying) {
                    self.show(None, out);
                }
            }
            Status::Retry { attempt, message } => self.retry(attempt, message, out),
            Status::Idle => self.idle(out),
        }
    }

    fn idle(&mut self, out: &mut Vec<Output>) {
        match &mut self.turn {
            None => out.push(dropped(DropReason::Duplicate)),
            // Nobody has sent the request for the messages, because this is a recording: the turn ends without it.
            Some(turn) if turn.is_about_to_read() => self.end_turn(out),
            // An abort has its own end. It is idle at once, and again when the last message is whole.
            Some(turn) if turn.is_aborted() => {
                turn.stopped |= turn.complete;
                out.push(dropped(DropReason::Superseded));
            }
            // An idle before this turn was busy is an echo of the one before.
            Some(turn) if !(turn.busy || turn.has_failed()) => {
                out.push(dropped(DropReason::Superseded));
            }
            Some(turn) if turn.has_failed_message_open() && !turn.halted => {
                out.push(dropped(DropReason::Superseded));
            }
            Some(_) => self.end_turn(out),
        }
    }

    /// The second of the two events that make an `idle`.
    pub(crate) fn session_idle(&mut self, session: &str, out: &mut Vec<Output>) {
        self.status(session, Status::Idle, out);
        if self.whose(session) == Whose::Mine
            && let Some(turn) = &mut self.turn
        {
            turn.halted |= turn.has_failed_message_open();
        }
    }
}

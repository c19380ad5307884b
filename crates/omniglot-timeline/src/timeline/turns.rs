//! Turns: begun once, ended once, with exactly one error if and only if they failed (T4).

use std::time::Duration;

use jiff::Timestamp;
use omniglot_schema::{
    AuthState, AuthStatus, ErrorCode, ErrorData, EventData, ItemKind, ItemRole, MessageId, ResolvedBy,
    StatePatch, StatusLabel, SteeringMetadata, StopReason, TurnEndedData, TurnEndedMetadata, TurnId,
    TurnOrigin, TurnPhase, TurnStartedData, TurnStartedMetadata, Usage,
};

use super::fates::Slot;
use super::{Author, Emitted, Stamp, Timeline};
use crate::draft::{Body, Draft, DropReason, Failure, ItemKey, ItemStart, Origin, Outcome, TurnEnd};

#[derive(Debug)]
pub(super) struct Turn {
    pub(super) id: TurnId,
    pub(super) started: Timestamp,
    /// The same moment on the clock that nobody sets.
    pub(super) ticks: Option<Duration>,
    /// Held back until the end: only then is it known whether the turn failed.
    pub(super) failure: Option<Failure>,
    /// Opened for a request outside any turn; ends with its last request.
    pub(super) for_requests: bool,
    /// Whether it was told that requests are refused.
    pub(super) refused_requests: bool,
    /// The user's item, as long as it waits for the agent's id of it.
    pub(super) user_item: Option<ItemKey>,
}

impl Timeline {
    pub(super) fn turn_started(&mut self, origin: Origin, stamp: Stamp, out: &mut Vec<Emitted>) {
        if let Some(turn) = &mut self.turn {
            if origin == Origin::Agent {
                // It was opened for a request, and is the agent's from here on.
                turn.for_requests = false;
                return self.dropped(DropReason::Duplicate);
            }
            let failure = Failure::new(ErrorCode::Unknown, "the next turn began before this one had ended");
            self.close_turn(TurnEnd::failed(failure), ResolvedBy::TurnEnd, stamp.synthetic(), out);
        }
        self.open_turn(origin, false, stamp, out);
    }

    pub(super) fn open_turn(
        &mut self,
        origin: Origin,
        for_requests: bool,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        self.close_late(stamp.synthetic(), out);
        self.fates.turn_began();
        let id = TurnId(self.mint("turn"));
        let is_echoed = matches!(origin, Origin::Echoed { .. });
        let (origin, message_id, said) = match origin {
            Origin::User { message_id, content } | Origin::Echoed { message_id, content } => {
                (TurnOrigin::User, message_id, Some(content))
            }
            Origin::Agent => (TurnOrigin::Agent, None, None),
        };
        let author = message_id.as_ref().and_then(|id| self.named.remove(id)).unwrap_or_default();
        let Author { client_ids, by, metadata: client_metadata } = author;
        let data = TurnStartedData {
            phase: TurnPhase::Started,
            turn_id: id.clone(),
            metadata: TurnStartedMetadata { origin, message_id, client_ids, by, client_metadata },
        };
        self.emit(EventData::TurnStarted(data), stamp, out);
        let started = self.fold.last_time.unwrap_or(stamp.now);
        self.turn = Some(Turn {
            id,
            started,
            ticks: stamp.ticks,
            failure: None,
            for_requests,
            refused_requests: false,
            user_item: None,
        });
        let Some(parts) = said else { return };
        let body = Body::Message { role: ItemRole::User, parts };
        if is_echoed {
            let key = self.begin_whole(body, None, None, stamp, out);
            self.turn.iter_mut().for_each(|turn| turn.user_item = Some(key.clone()));
        } else {
            self.whole_item(body, None, None, stamp, out);
        }
    }

    pub(super) fn steered(
        &mut self,
        message_id: Option<MessageId>,
        start: ItemStart,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        if let Some(message_id) = message_id {
            let author = self.named.get(&message_id).cloned().unwrap_or_default();
            let Author { client_ids, by, metadata: client_metadata } = author;
            let message_id = Some(message_id);
            let message = SteeringMetadata { message_id, client_ids, by, client_metadata };
            self.steering.insert(start.key.clone(), message);
        }
        self.item_started(start, stamp, out);
    }

    /// Completes a message of the user under the agent's own id of it.
    pub(super) fn user_echo(
        &mut self,
        item: Option<ItemKey>,
        native_id: String,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let opening = self.turn.as_ref().and_then(|turn| turn.user_item.as_ref());
        let open = item.as_ref().or(opening).and_then(|key| self.fates.open_mut(Slot::item(key)));
        let Some(open) = open.filter(|open| open.is_of_user()) else {
            return self.dropped(DropReason::Echo);
        };
        open.native_id = Some(native_id);
        match item {
            Some(key) => self.completed(&key, Outcome::Completed, None, stamp, out),
            None => self.complete_user_item(stamp, out),
        }
    }

    /// Returns whether this draft leaves the user's item open: its echo does, and so does a status item, which is no
    /// part of the conversation.
    pub(super) fn may_precede_echo(&self, draft: &Draft) -> bool {
        let is_status = |body: &Body| body.kind() == ItemKind::Status;
        let is_open_status =
            |key| self.fates.open(Slot::item(key)).is_some_and(|open| open.body.kind() == ItemKind::Status);
        match draft {
            Draft::UserEcho { item, .. } => item.is_none(),
            Draft::ItemStarted(start) => is_status(&start.body),
            Draft::ItemDelta { key, .. } => is_open_status(key),
            Draft::ItemCompleted(end) => {
                end.body.as_ref().map_or_else(|| is_open_status(&end.key), is_status)
            }
            _ => false,
        }
    }

    /// Nothing that is said in a turn overtakes the message that began it.
    pub(super) fn complete_user_item(&mut self, stamp: Stamp, out: &mut Vec<Emitted>) {
        if let Some(key) = self.turn.as_mut().and_then(|turn| turn.user_item.take()) {
            self.end_whole(&key, stamp, out);
        }
    }

    pub(super) fn turn_ended(&mut self, end: TurnEnd, stamp: Stamp, out: &mut Vec<Emitted>) {
        if self.turn.is_none() {
            return self.dropped(DropReason::Duplicate);
        }
        let by = if end.stop == StopReason::Cancelled { ResolvedBy::Cancel } else { ResolvedBy::TurnEnd };
        self.close_turn(end, by, stamp, out);
    }

    /// Ends the open turn, if there is one: requests, items, error, end, in this order. Late text is complete
    /// before that, with or without a turn.
    pub fn close_turn(&mut self, end: TurnEnd, by: ResolvedBy, stamp: Stamp, out: &mut Vec<Emitted>) {
        self.close_late(stamp.synthetic(), out);
        self.complete_user_item(stamp.synthetic(), out);
        // Resolving the last request would end a turn that was opened for it; here the caller ends it.
        let Some(turn) = self.turn.as_mut() else { return };
        turn.for_requests = false;
        self.withdraw_requests(by, stamp.synthetic(), out);
        self.covered.clear();
        self.close_items(stamp.synthetic(), out);
        self.steering.clear();
        let Some(turn) = self.turn.take() else { return };
        let (stop, failure) = verdict(end.stop, turn.failure, end.error);
        self.learn_auth(stop, failure.as_ref(), stamp.synthetic(), out);
        match failure {
            Some(failure) if stop == StopReason::Error => {
                self.emit(EventData::Error(failure.into()), stamp, out)
            }
            Some(failure) => self.status(StatusLabel::Warning, failure.message, stamp.synthetic(), out),
            None => {}
        }
        let now = self.fold.last_time.map_or(stamp.now, |last| last.max(stamp.now));
        let measured = stamp.ticks.zip(turn.ticks).map(|(end, start)| end.saturating_sub(start).as_millis());
        let by_wall = || u128::try_from(now.duration_since(turn.started).as_millis()).unwrap_or(0);
        let duration = measured.unwrap_or_else(by_wall);
        // The end of a turn that was cut tells nothing.
        let steps = || self.fold.open_turn.as_ref().and_then(|turn| turn.steps.clone());
        let metadata = TurnEndedMetadata {
            stop_reason: stop,
            model: end.model,
            usage: end.usage.or_else(steps).map(Usage::without_contradictions),
            usage_subagents: end.usage_subagents.map(Usage::without_contradictions),
            cost_usd: end.cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0),
            duration_ms: u64::try_from(duration).unwrap_or(0),
        };
        let data = TurnEndedData { phase: TurnPhase::Ended, turn_id: turn.id, metadata };
        self.emit(EventData::TurnEnded(data), stamp, out);
    }

    /// Takes into the state what the end of a turn shows about the agent's credentials: refused ones are required
    /// until a turn has succeeded.
    fn learn_auth(
        &mut self,
        stop: StopReason,
        failure: Option<&Failure>,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let known = self.fold.state.auth.as_ref();
        let is_required = known.is_some_and(|auth| auth.state == AuthStatus::Required);
        let refused = failure.is_some_and(|failure| failure.code == ErrorCode::ProviderAuth);
        let state = match stop {
            StopReason::Error if refused => AuthStatus::Required,
            StopReason::Error | StopReason::Cancelled => return,
            _ if is_required => AuthStatus::Ready,
            _ => return,
        };
        let methods = known.map(|auth| auth.methods.clone()).unwrap_or_default();
        let auth = Some(Some(AuthState { state, methods }));
        self.state(StatePatch { auth, ..StatePatch::default() }, stamp, out);
    }

    pub(super) fn error(&mut self, failure: Failure, stamp: Stamp, out: &mut Vec<Emitted>) {
        match &mut self.turn {
            Some(turn) if turn.failure.is_none() => turn.failure = Some(failure),
            _ => self.status(StatusLabel::Warning, failure.message, stamp, out),
        }
    }
}

/// How a turn ended, given what was reported before and with its end.
fn verdict(stop: StopReason, held: Option<Failure>, last: Option<Failure>) -> (StopReason, Option<Failure>) {
    let failure = held.or(last);
    match stop {
        StopReason::Cancelled => (stop, failure),
        StopReason::Error => {
            let unnamed = || Failure::new(ErrorCode::Unknown, "");
            (StopReason::Error, Some(failure.unwrap_or_else(unnamed)))
        }
        _ if failure.is_some() => (StopReason::Error, failure),
        _ => (stop, None),
    }
}

impl From<Failure> for ErrorData {
    fn from(failure: Failure) -> Self {
        let unnamed = || "the agent gave no reason".to_owned();
        let message = if failure.message.is_empty() { unnamed() } else { failure.message };
        Self { message, code: Some(failure.code), details: failure.details }
    }
}

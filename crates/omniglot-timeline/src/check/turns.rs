//! Turns: they alternate, begin with the user's item, end once, and fail with exactly one error.

use std::collections::HashSet;

use omniglot_schema::{
    ErrorData, EventData, ItemKind, ItemRole, StopReason, TurnEndedData, TurnEndedMetadata, TurnId,
    TurnOrigin, TurnPhase, TurnStartedData, UniversalEvent, Usage,
};

use super::Code;
use super::session::Session;

#[derive(Debug, Default)]
pub(super) struct Turns {
    pub(super) open: Option<TurnId>,
    pub(super) count: usize,
    ids: HashSet<TurnId>,
    /// A user's turn has begun and its item is still to come.
    awaits_user: bool,
    errors: usize,
}

impl Session {
    /// The rules about what may stand next to what within a turn; state may change anywhere.
    pub(super) fn turn_order(&mut self, event: &UniversalEvent) {
        if matches!(event.data, EventData::SessionUpdated(_)) {
            return;
        }
        if std::mem::take(&mut self.turns.awaits_user) && !is_user_item(&event.data) {
            self.say(Code::UserItem, format!("{} instead of the user's item", event.kind().as_str()));
        }
        let another = matches!(event.data, EventData::TurnEnded(_) | EventData::Error(_));
        if self.turns.open.is_some() && self.turns.errors > 0 && !another {
            self.say(Code::ErrorNotLast, format!("{} after the turn's error", event.kind().as_str()));
        }
    }

    pub(super) fn turn_started(&mut self, data: &TurnStartedData) {
        if self.turns.open.is_some() {
            self.say(Code::TurnAlternation, "turn.started inside a turn");
        } else {
            self.nothing_open("turn.started");
        }
        if data.phase != TurnPhase::Started {
            self.say(Code::Phase, "turn.started with another phase");
        }
        self.prefix("turn_", data.turn_id.as_str());
        if !self.turns.ids.insert(data.turn_id.clone()) {
            self.say(Code::TurnId, format!("{} is used twice", data.turn_id));
        }
        self.turns.open = Some(data.turn_id.clone());
        self.turns.awaits_user = data.metadata.origin == TurnOrigin::User;
        self.turns.count += 1;
        self.turns.errors = 0;
    }

    pub(super) fn turn_ended(&mut self, data: &TurnEndedData) {
        match self.turns.open.take() {
            None => self.say(Code::TurnAlternation, "turn.ended without a turn"),
            Some(open) if open != data.turn_id => {
                self.say(Code::TurnId, format!("{} ends turn {open}", data.turn_id));
            }
            Some(_) => {}
        }
        if data.phase != TurnPhase::Ended {
            self.say(Code::Phase, "turn.ended with another phase");
        }
        self.nothing_open("turn.ended");
        for call in self.items.report_unanswered() {
            self.say(Code::CallWithoutResult, format!("call {call} has no result at turn.ended"));
        }
        if std::mem::take(&mut self.owes_memory_lost) {
            self.say(Code::MemoryLost, "resumed without memory, and no status item says so");
        }
        self.turn_metadata(&data.metadata);
    }

    fn turn_metadata(&mut self, metadata: &TurnEndedMetadata) {
        let errors = std::mem::take(&mut self.turns.errors);
        let failed = metadata.stop_reason == StopReason::Error;
        if failed && errors == 0 {
            self.say(Code::ErrorMissing, "stop_reason error without an error event in the turn");
        }
        if errors > usize::from(failed) {
            self.say(
                Code::ErrorExtra,
                format!("{errors} errors in a turn that ends {:?}", metadata.stop_reason),
            );
        }
        for usage in [&metadata.usage, &metadata.usage_subagents].into_iter().flatten() {
            self.usage(usage);
        }
        if metadata.cost_usd.is_some_and(|cost| !cost.is_finite() || cost < 0.0) {
            self.say(Code::Cost, format!("cost_usd={:?}", metadata.cost_usd));
        }
    }

    fn usage(&mut self, usage: &Usage) {
        let sum = usage.clone().with_total().total_tokens;
        if usage.total_tokens.is_some() && usage.total_tokens != sum {
            self.say(Code::Usage, format!("total {:?}, its parts give {sum:?}", usage.total_tokens));
        }
        if usage.output_tokens.is_some_and(|output| usage.reasoning_tokens.is_some_and(|part| part > output))
        {
            self.say(Code::Usage, "more reasoning than output");
        }
    }

    pub(super) fn error(&mut self, data: &ErrorData) {
        self.turns.errors += 1;
        if self.turns.open.is_none() {
            self.say(Code::ErrorOutsideTurn, "error outside a turn");
        }
        if data.code.is_none() || data.message.is_empty() {
            self.say(Code::ErrorData, "an error needs a code and a message");
        }
    }
}

fn is_user_item(data: &EventData) -> bool {
    matches!(data, EventData::ItemStarted(data)
        if data.item.kind == ItemKind::Message && data.item.role == Some(ItemRole::User))
}

//! Calls of the model: `step-start` begins one and `step-finish` ends it with its tokens. Each call is one status
//! item that is open as long as the call lasts.

use omniglot_timeline::{Body, ItemEnd, ItemKey, ItemStart, Outcome};

use super::usage::usage_of;
use super::wire::{PartHead, StepFinish};
use super::{OpenCode, dropped};
use crate::contract::{Draft, DropReason, Output};

impl OpenCode {
    pub(crate) fn step_started(&mut self, head: &PartHead, parent: Option<ItemKey>, out: &mut Vec<Output>) {
        if !self.once.insert(head.id.clone()) {
            return out.push(dropped(DropReason::Duplicate));
        }
        let key = ItemKey(format!("step:{}", head.id));
        if let Some(key) = self.steps.insert(head.message.clone(), key.clone()) {
            // The call is made again: the one before has no finish.
            out.push(Draft::ItemCompleted(ItemEnd { key, outcome: Outcome::Failed, body: None }).into());
        }
        let body = Body::Step { detail: None, usage: None };
        let native_id = Some(head.id.clone());
        out.push(Draft::ItemStarted(ItemStart { key, native_id, parent, body }).into());
    }

    /// Completes the step of its message, or tells one whose beginning was missed.
    pub(crate) fn step_finished(&mut self, head: &PartHead, finish: StepFinish, out: &mut Vec<Output>) {
        if !self.once.insert(head.id.clone()) {
            return out.push(dropped(DropReason::Duplicate));
        }
        let started = self.steps.remove(&head.message);
        let key = started.unwrap_or_else(|| ItemKey(format!("step:{}", head.id)));
        let body = Some(Body::Step { detail: finish.reason, usage: finish.tokens.and_then(usage_of) });
        out.push(Draft::ItemCompleted(ItemEnd { key, outcome: Outcome::Completed, body }).into());
    }
}

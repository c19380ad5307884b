//! Events beside the conversation: retries, compactions, warnings.

use omniglot_schema::{ContentPart, StatusLabel, UniversalItem, Usage};

use super::Projector;
use super::turn::tokens;
use crate::faces::opencode::wire::{PartBody, Payload, Status, ToastVariant};

impl Projector {
    pub(super) fn happened(&mut self, item: &UniversalItem) {
        for part in &item.content {
            let ContentPart::Status { label, detail, usage } = part else { continue };
            let detail = detail.clone().unwrap_or_default();
            match StatusLabel::of_label(label) {
                Some(StatusLabel::Retry) => self.retried(detail),
                Some(StatusLabel::Compaction) => self.compacted(),
                Some(
                    StatusLabel::Warning
                    | StatusLabel::MemoryLost
                    | StatusLabel::ExtensionError
                    | StatusLabel::ExtensionUi
                    | StatusLabel::Reverted,
                ) => self.noted(detail),
                Some(StatusLabel::Step) => self.stepped(item, usage.as_ref()),
                // The first three are told by the record or by nothing in OpenCode; what comes late has no
                // place in a message that is complete.
                Some(
                    StatusLabel::Removed | StatusLabel::ModeChanged | StatusLabel::Hook | StatusLabel::Late,
                )
                | None => {}
            }
        }
    }

    /// OpenCode's messages have the tokens of one call of the model, by which clients tell how full the context is.
    fn stepped(&mut self, item: &UniversalItem, usage: Option<&Usage>) {
        if let (Some(turn), Some(usage), None) = (&mut self.turn, usage, &item.parent_id) {
            turn.last_step = Some(tokens(usage));
        }
    }

    fn retried(&mut self, message: String) {
        let Some(turn) = &mut self.turn else { return };
        turn.retries += 1;
        let attempt = turn.retries;
        // When it is tried again is the agent's secret: to the client, any moment.
        self.say_status(Status::Retry { attempt, message, next: self.now });
    }

    /// OpenCode draws the line of a compaction under the user's message.
    fn compacted(&mut self) {
        let user = self.turn.as_ref().and_then(|turn| turn.user.clone()).or_else(|| self.user.clone());
        if let Some(user) = user {
            let auto = !self.asked_to_compact();
            let is_drawn = self.messages.message(user.as_str()).is_some_and(|message| {
                message.parts.iter().any(|part| matches!(part.body, PartBody::Compaction { .. }))
            });
            if !is_drawn {
                self.add_part(user, PartBody::Compaction { auto });
            }
        }
        self.say(Payload::SessionCompacted { session_id: self.id.clone() });
    }

    fn asked_to_compact(&self) -> bool {
        let user = self.turn.as_ref().and_then(|turn| turn.user.as_ref());
        let message = user.and_then(|user| self.messages.message(user.as_str()));
        message.is_some_and(|message| {
            message
                .parts
                .iter()
                .any(|part| matches!(&part.body, PartBody::Text { text, .. } if text.starts_with("/compact")))
        })
    }

    fn noted(&mut self, message: String) {
        let (title, variant) = (self.summary.agent.clone(), ToastVariant::Warning);
        self.say(Payload::ToastShow { title, message, variant });
    }
}

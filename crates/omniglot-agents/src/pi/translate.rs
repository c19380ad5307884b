//! Frames of both directions to drafts: the tables of lines, answers and commands.
//!
//! The work behind each arm is in the module named after its subject.

use omniglot_schema::{ContentPart, StatePatch, StatusLabel};
use omniglot_timeline::Body;
use serde_json::value::RawValue;

use super::outgoing::{Outgoing, Sent};
use super::wire::{Block, Line, Message, Name, Response};
use super::{Pi, dropped};
use crate::contract::{DropReason, Output};
use crate::fault::unparsed;

impl Pi {
    /// One line of Pi; it always leaves at least one output.
    pub(crate) fn frame(&mut self, frame: &RawValue, out: &mut Vec<Output>) {
        let before = out.len();
        match Line::parse(frame) {
            Ok(line) => {
                self.before_line(&line, out);
                self.line(line, out);
            }
            Err(fault) => out.push(Output::unparsed(fault)),
        }
        if out.len() == before {
            dropped(DropReason::Internal, out);
        }
    }

    fn line(&mut self, line: Line<'_>, out: &mut Vec<Output>) {
        match line {
            Line::Response(response) => self.response(&response, out),
            Line::Dialog(dialog) => self.dialog(dialog, out),
            Line::AgentStart => self.agent_started(out),
            Line::AgentEnd(end) => self.agent_ended(end.will_retry, out),
            Line::Settled(settled) => self.settled(settled.aborted, out),
            Line::MessageStart(message) => self.message_started(&message, out),
            Line::MessageUpdate(update) => self.message_updated(*update, out),
            Line::MessageEnd(message) => self.message_ended(&message, out),
            Line::ToolStart(start) => self.tool_started(start, out),
            Line::ToolUpdate(update) => self.tool_updated(&update, out),
            Line::ToolEnd(end) => self.tool_ended(*end, out),
            Line::Level(level) => self.level_is(level.level, out),
            Line::Name(Name { name }) => {
                self.state(StatePatch { title: Some(name), ..StatePatch::default() }, out)
            }
            Line::CompactionStart(start) => self.compaction_started(&start, out),
            Line::CompactionEnd(end) => self.compaction_ended(end, out),
            Line::RetryStart(retry) => self.retry_started(&retry, out),
            Line::RetryEnd(retry) => self.retry_ended(&retry, out),
            Line::ExtensionError(error) => {
                let words = format!("{} ({}): {}", error.extension_path, error.event, error.error);
                self.status(StatusLabel::ExtensionError, words, out);
            }
            Line::Repeated => dropped(DropReason::Internal, out),
            Line::Unknown { kind } => out.push(Output::unparsed(unparsed(kind, "unknown type of line"))),
        }
    }

    /// Messages of assistants are told as they grow, results of tools by their calls, and the prompt by who sent it.
    fn message_started(&mut self, message: &Message<'_>, out: &mut Vec<Output>) {
        match message.role.as_str() {
            "assistant" => self.answer_started(out),
            "user" => self.user_repeated(message, out),
            "toolResult" => dropped(DropReason::Duplicate, out),
            "custom" => self.injected(message, out),
            // The vendor's own prompt.
            "system" => dropped(DropReason::Internal, out),
            other => out.push(Output::unparsed(unparsed(format!("message.{other}"), "unknown role"))),
        }
    }

    fn message_ended(&mut self, message: &Message<'_>, out: &mut Vec<Output>) {
        match message.role.as_str() {
            "assistant" => self.answer_ended(message, out),
            _ => dropped(DropReason::Duplicate, out),
        }
    }

    /// A message that an extension has put into the conversation.
    fn injected(&mut self, message: &Message<'_>, out: &mut Vec<Output>) {
        let mut faults = Vec::new();
        let parts = parts(message.blocks(&mut faults));
        if message.display == Some(false) || parts.is_empty() {
            dropped(DropReason::Extension, out);
        } else {
            self.note(Body::System { parts }, out);
        }
        out.extend(faults.into_iter().map(Output::unparsed));
    }

    /// One message that really went to Pi.
    pub(crate) fn sent(&mut self, frame: &RawValue, out: &mut Vec<Output>) {
        // What we wrote ourselves and do not understand concerns nobody.
        let Some(Sent { id, body }) = Sent::parse(frame) else { return };
        match &body {
            Outgoing::Prompt { message, images, .. }
            | Outgoing::Steer { message, images }
            | Outgoing::FollowUp { message, images } => self.prompt_sent(message, images, out),
            Outgoing::Compact { custom_instructions } => {
                self.compact_sent(custom_instructions.as_deref(), out);
            }
            Outgoing::Abort | Outgoing::AbortRetry => self.turns.cancel_sent(),
            Outgoing::ExtensionUiResponse { .. } => {
                return self.answer_sent(id.as_deref().unwrap_or_default(), &body, out);
            }
            Outgoing::ClearQueue
            | Outgoing::GetState
            | Outgoing::GetAvailableModels
            | Outgoing::GetCommands
            | Outgoing::SetModel { .. }
            | Outgoing::SetThinkingLevel { .. }
            | Outgoing::SetSessionName { .. }
            | Outgoing::NewSession
            | Outgoing::SwitchSession
            | Outgoing::GetForkMessages
            | Outgoing::Fork { .. }
            | Outgoing::Clone
            | Outgoing::Other => {}
        }
        if let Some(id) = id {
            self.commands.sent(id, body);
        }
    }

    fn response(&mut self, response: &Response<'_>, out: &mut Vec<Output>) {
        let id = response.id.clone().unwrap_or_default();
        let Some(command) = self.commands.answered(id.as_str()) else {
            return self.unasked_response(response, out);
        };
        match command {
            Outgoing::Prompt { message, .. } => self.prompt_answered(&message, response, out),
            Outgoing::GetState => self.state_answered(response, out),
            Outgoing::GetAvailableModels => self.models_answered(&id, response, out),
            Outgoing::GetCommands => self.commands_answered(&id, response, out),
            Outgoing::SetModel { .. } => self.model_answered(&id, response, out),
            Outgoing::SetThinkingLevel { .. } => self.level_answered(&id, response, out),
            Outgoing::Compact { .. } => self.compact_answered(response, out),
            Outgoing::NewSession => self.session_changed(false, out),
            Outgoing::GetForkMessages => self.fork_messages_answered(response, out),
            Outgoing::Fork { .. } if self.session.is_opening() => self.forked(response, out),
            Outgoing::SwitchSession | Outgoing::Fork { .. } | Outgoing::Clone => {
                self.session_changed(true, out);
            }
            Outgoing::Steer { .. } | Outgoing::FollowUp { .. } if !response.success => {
                self.status(StatusLabel::Warning, response.words(), out);
            }
            Outgoing::Steer { .. }
            | Outgoing::FollowUp { .. }
            | Outgoing::Abort
            | Outgoing::AbortRetry
            | Outgoing::ClearQueue
            | Outgoing::SetSessionName { .. }
            | Outgoing::ExtensionUiResponse { .. }
            | Outgoing::Other => dropped(DropReason::Internal, out),
        }
    }

    /// An answer without an id is to a line that Pi could not read.
    fn unasked_response(&mut self, response: &Response<'_>, out: &mut Vec<Output>) {
        if response.success {
            return dropped(DropReason::Internal, out);
        }
        let words = format!("Pi refused {}: {}", response.command, response.words());
        self.status(StatusLabel::Warning, words, out);
    }
}

/// Returns the texts and pictures of a message.
pub(crate) fn parts(blocks: Vec<Block<'_>>) -> Vec<ContentPart> {
    let part = |block| match block {
        Block::Text { text } => Some(ContentPart::Text { text }),
        Block::Image(image) => Some(image),
        Block::Thinking { .. } | Block::Call(_) | Block::Unknown => None,
    };
    blocks.into_iter().filter_map(part).collect()
}

//! Frames of both directions to drafts: the tables of lines and blocks.

use omniglot_schema::{ItemRole, ReasoningVisibility};
use omniglot_timeline::Body;
use serde_json::value::RawValue;

use super::outgoing::Sent;
use super::wire::{Block, Line, Message};
use super::{Amp, dropped};
use crate::contract::{DropReason, Output};
use crate::fault::unparsed;

impl Amp {
    /// One line of Amp; it always leaves at least one output.
    pub(crate) fn frame(&mut self, frame: &RawValue, out: &mut Vec<Output>) {
        let before = out.len();
        match Line::parse(frame) {
            Ok(line) => self.line(line, out),
            Err(fault) => out.push(Output::unparsed(fault)),
        }
        if out.len() == before {
            dropped(DropReason::Internal, out);
        }
    }

    fn line(&mut self, line: Line<'_>, out: &mut Vec<Output>) {
        match line {
            Line::Init(init) => self.initialised(init, out),
            Line::User(message) => self.user(&message, out),
            Line::Assistant(message) => self.assistant(&message, out),
            Line::Result(result) => self.result(result, out),
            Line::Unknown { kind } => out.push(Output::unparsed(unparsed(kind, "unknown type of line"))),
        }
    }

    pub(crate) fn sent(&mut self, frame: &RawValue, out: &mut Vec<Output>) {
        if let Some(sent) = Sent::parse(frame) {
            self.prompt_sent(&sent, out);
        }
    }

    /// Results of tools, or a prompt that is repeated.
    fn user(&mut self, message: &Message<'_>, out: &mut Vec<Output>) {
        let mut faults = Vec::new();
        let mut said = String::new();
        let (mut speaks, mut results) = (false, Vec::new());
        for block in message.blocks(&mut faults) {
            match block {
                Block::Text(text) => {
                    speaks = true;
                    said.push_str(&text);
                }
                Block::Result(result) => results.push(result),
                Block::Thinking(_) | Block::RedactedThinking | Block::Call(_) | Block::Unknown { .. } => {
                    faults.push(unparsed("user.content", "unknown kind of content"));
                }
            }
        }
        // A prompt of pictures alone is repeated without any content.
        if speaks || (results.is_empty() && faults.is_empty()) {
            self.user_repeated(said, out);
        }
        results.into_iter().for_each(|result| self.call_ended(result, out));
        out.extend(faults.into_iter().map(Output::unparsed));
    }

    fn assistant(&mut self, message: &Message<'_>, out: &mut Vec<Output>) {
        let mut faults = Vec::new();
        for block in message.blocks(&mut faults) {
            match block {
                Block::Text(text) => self.note(Body::message(ItemRole::Assistant, text), out),
                Block::Thinking(text) => {
                    let visibility = ReasoningVisibility::Public;
                    self.note(Body::Reasoning { text, visibility }, out);
                }
                Block::RedactedThinking => {
                    let visibility = ReasoningVisibility::Private;
                    self.note(Body::Reasoning { text: String::new(), visibility }, out);
                }
                Block::Call(call) => self.called(&call, out),
                Block::Result(_) => out.push(Output::unparsed(unparsed("assistant.content", "a result"))),
                Block::Unknown { kind } => {
                    out.push(Output::unparsed(unparsed(
                        format!("content.{kind}"),
                        "unknown kind of content",
                    )));
                }
            }
        }
        out.extend(faults.into_iter().map(Output::unparsed));
        self.answered(message.stop_reason(), message.usage(), out);
    }
}

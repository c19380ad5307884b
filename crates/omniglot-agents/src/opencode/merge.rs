//! Messages that were read, told in the order in which they were written: those of subagents stand between
//! those of their parent, and before the results of the calls that began them.

use serde_json::value::RawValue;

use super::wire::{Message, PartBody, PartUpdated, Stored, ToolStatus};
use super::{OpenCode, unparsed};
use crate::contract::Output;

/// A message that was read.
#[derive(Debug)]
pub(crate) struct Read {
    info: Message,
    parts: Vec<PartUpdated>,
}

impl OpenCode {
    /// Reads a stored message, unless it was told before this turn. Its calls tell of subagents.
    pub(crate) fn stored(&mut self, message: &RawValue, out: &mut Vec<Output>) -> Option<Read> {
        let stored: Stored<'_> = match serde_json::from_str(message.get()) {
            Ok(stored) => stored,
            Err(error) => {
                out.push(Output::unparsed(unparsed("GET message", error.to_string())));
                return None;
            }
        };
        if stored.info.id <= self.floor {
            return None;
        }
        let mut parts = Vec::new();
        for part in stored.parts {
            match PartUpdated::of_part(part) {
                Ok(part) => parts.push(part),
                Err(fault) => out.push(Output::unparsed(fault)),
            }
        }
        for part in &parts {
            if let PartBody::Tool(tool) = &part.body
                && let Some(child) = tool.began()
            {
                self.began(child.to_owned(), &part.head.id);
            }
        }
        Some(Read { info: stored.info, parts })
    }

    pub(crate) fn tell_read(&mut self, mut messages: Vec<Read>, out: &mut Vec<Output>) {
        if self.turn.is_none() {
            return;
        }
        messages.sort_by(|one, other| one.info.id.cmp(&other.info.id));
        // Calls whose subagents were read: they end when their session goes on.
        let mut spawning: Vec<PartUpdated> = Vec::new();
        self.stored = true;
        for Read { info, parts } in messages {
            let (ended, open) = spawning.into_iter().partition(|part| part.head.session == info.session);
            spawning = open;
            self.tell_parts(ended, out);
            self.message(info, out);
            for part in parts {
                match running(&part) {
                    Some(begun) => {
                        self.part(begun, out);
                        spawning.push(part);
                    }
                    None => self.part(part, out),
                }
            }
        }
        self.tell_parts(spawning, out);
        self.stored = false;
    }

    fn tell_parts(&mut self, parts: Vec<PartUpdated>, out: &mut Vec<Output>) {
        parts.into_iter().for_each(|part| self.part(part, out));
    }
}

/// The same call while its subagent worked.
fn running(part: &PartUpdated) -> Option<PartUpdated> {
    let PartBody::Tool(tool) = &part.body else { return None };
    tool.began()?;
    let mut tool = tool.clone();
    tool.state.status = ToolStatus::Running;
    Some(PartUpdated { head: part.head.clone(), body: PartBody::Tool(tool) })
}

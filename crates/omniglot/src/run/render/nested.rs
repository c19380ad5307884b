//! The work of subagents, indented under the call that started them.
//!
//! Subagents may work side by side, so their messages are shown when they are whole.

use std::collections::HashMap;

use omniglot_schema::{CallId, ContentPart};
use omniglot_timeline::view::{Call, Message};

use super::style::{Ink, clean};
use super::wrap::wrapped;
use super::{Renderer, THOUGHT};

/// The columns by which one level is indented.
const INDENT: usize = 2;

/// The depths of calls that subagents make.
#[derive(Debug, Default)]
pub(super) struct Depths(HashMap<CallId, usize>);

impl Depths {
    /// Returns the depth of what the subagent of a call does; 0 for the agent itself.
    pub(super) fn below(&self, within: Option<&CallId>) -> usize {
        within.map_or(0, |call| 1 + self.0.get(call).copied().unwrap_or_default())
    }

    pub(super) fn of_call(&mut self, call: &Call) -> usize {
        let depth = self.below(call.within.as_ref());
        if depth > 0 {
            self.0.insert(call.call_id.clone(), depth);
        }
        depth
    }

    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

/// Indents every line that is not empty.
pub(super) fn indented(text: &str, depth: usize) -> String {
    if depth == 0 {
        return text.to_owned();
    }
    let line = |line: &str| match line.trim().is_empty() {
        true => line.to_owned(),
        false => format!("{}{line}", " ".repeat(INDENT * depth)),
    };
    text.split_inclusive('\n').map(line).collect()
}

impl Renderer {
    /// Renders with the columns that are left at this depth.
    pub(super) fn at_depth(&mut self, depth: usize, render: impl FnOnce(&mut Self) -> String) -> String {
        let width = self.width;
        self.width = width.saturating_sub(INDENT * depth);
        let text = render(self);
        self.width = width;
        indented(&text, depth)
    }

    /// Renders a whole message of a subagent.
    pub(super) fn nested_message(&mut self, message: &Message) -> String {
        let depth = self.depths.below(message.within.as_ref());
        let width = self.wrap.width().map(|width| width.saturating_sub(INDENT * depth));
        let mut text = String::new();
        for part in &message.item.content {
            match part {
                ContentPart::Text { text: said } => {
                    text.push_str(&wrapped(clean(said).trim_end(), width));
                    text.push('\n');
                }
                ContentPart::Reasoning { text: thought, .. } => {
                    let thought = clean(thought);
                    let lines = thought.trim_end().lines().map(|line| format!("{THOUGHT}{line}\n"));
                    let thought = wrapped(lines.collect::<String>().trim_end(), width);
                    text.push_str(&self.style.paint(Ink::Dim, &thought));
                    text.push('\n');
                }
                _ => {}
            }
        }
        if text.trim().is_empty() { String::new() } else { self.block(&indented(&text, depth)) }
    }
}

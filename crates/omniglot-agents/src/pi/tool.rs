//! The tool calls of a session: arguments, output while it grows, and results (T5, T7, T14).

use std::collections::HashMap;

use omniglot_schema::{ContentPart, ToolKind};
use omniglot_timeline::{CallEnd, CallStart, ItemKey, Outcome, ToolResult};
use serde_json::value::RawValue;

use super::wire::{Block, CommandOutcome, ToolEnd, ToolOutput, ToolStart, ToolUpdate};
use super::{Pi, diff, dropped, tool_kinds};
use crate::about::About;
use crate::contract::{Draft, DropReason, Output, Unparsed};

#[derive(Debug, Default)]
pub(crate) struct Tools {
    /// By native id: the newest call of that name.
    calls: HashMap<String, Call>,
    /// How many were not in a message: keys stay unique when ids repeat.
    unannounced: u64,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) key: ItemKey,
    pub(crate) name: String,
    pub(crate) arguments: String,
    /// The output as it was shown last; of long output it is the end.
    shown: String,
    /// The content of the file before a write, where the gate has told it.
    pub(crate) before: Option<diff::Before>,
}

impl Call {
    pub(crate) fn about(&self) -> About {
        tool_kinds::about(&self.name, &self.arguments)
    }
}

impl Tools {
    /// The arguments of a call are final.
    pub(crate) fn called(
        &mut self,
        key: ItemKey,
        id: String,
        name: String,
        arguments: Option<&RawValue>,
        out: &mut Vec<Output>,
    ) {
        let arguments = arguments.map_or_else(|| "{}".to_owned(), |arguments| arguments.get().to_owned());
        let call = Call { key, name, arguments, shown: String::new(), before: None };
        let ready = call.about().call(call.name.clone(), call.arguments.clone());
        out.push(Draft::CallReady { key: call.key.clone(), call: Some(ready) }.into());
        self.calls.insert(id, call);
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut Call> {
        self.calls.get_mut(id)
    }
}

impl Pi {
    /// A call is about to run; our gate may still ask. One that no message has told begins here.
    pub(crate) fn tool_started(&mut self, start: ToolStart, out: &mut Vec<Output>) {
        let ToolStart { tool_call_id: id, tool_name: name, args } = start;
        if self.tools.calls.contains_key(&id) {
            return dropped(DropReason::Internal, out);
        }
        self.tools.unannounced += 1;
        let key = ItemKey(format!("call:{}:{id}", self.tools.unannounced));
        let call = About::of(tool_kinds::kind(&name)).call(name.clone(), "");
        let begun = CallStart { key: key.clone(), native_id: Some(id.clone()), parent: None, call };
        out.push(Draft::CallStarted(begun).into());
        self.tools.called(key, id, name, args.as_deref(), out);
    }

    pub(crate) fn tool_updated(&mut self, update: &ToolUpdate, out: &mut Vec<Output>) {
        let mut faults = Vec::new();
        let text = text_of(update.partial_result.blocks(&mut faults));
        out.extend(faults.into_iter().map(Output::unparsed));
        let Some(call) = self.tools.calls.get_mut(&update.tool_call_id) else {
            return dropped(DropReason::Superseded, out);
        };
        let delta = grown(&call.shown, &text).to_owned();
        call.shown = text;
        out.push(Draft::CallOutput { key: call.key.clone(), delta }.into());
    }

    pub(crate) fn tool_ended(&mut self, end: ToolEnd, out: &mut Vec<Output>) {
        if !self.tools.calls.contains_key(&end.tool_call_id) {
            let (tool_call_id, tool_name) = (end.tool_call_id.clone(), end.tool_name.clone());
            self.tool_started(ToolStart { tool_call_id, tool_name, args: None }, out);
        }
        let Some(call) = self.tools.calls.remove(&end.tool_call_id) else { return };
        let mut faults = Vec::new();
        let result = result_of(&call, &end, &mut faults);
        out.extend(faults.into_iter().map(Output::unparsed));
        let outcome = if end.is_error { Outcome::Failed } else { Outcome::Completed };
        out.push(Draft::CallEnded(CallEnd { key: call.key, outcome, result }).into());
    }
}

fn result_of(call: &Call, end: &ToolEnd, faults: &mut Vec<Unparsed>) -> ToolResult {
    let about = call.about();
    let mut text = Vec::new();
    let mut parts: Vec<ContentPart> = Vec::new();
    for block in end.result.blocks(faults) {
        match block {
            Block::Text { text: words } => text.push(words),
            Block::Image(image) => parts.push(image),
            Block::Thinking { .. } | Block::Call(_) | Block::Unknown => {}
        }
    }
    let output = text.join("\n");
    let exit_code =
        (about.kind == ToolKind::Execute).then(|| exit_code(&end.result, &output, end.is_error)).flatten();
    if !end.is_error {
        parts.extend(diff::of_call(call, end.result.details.as_deref()));
        parts.extend(about.files_read());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time in milliseconds")]
    let duration_ms = end.duration_ms.filter(|millis| *millis >= 0.0).map(|millis| millis as u64);
    ToolResult {
        output,
        is_error: Some(end.is_error),
        exit_code,
        duration_ms,
        parts,
        ..ToolResult::default()
    }
}

/// Newer versions tell the exit code; in older ones it stands in the last line, unless the command succeeded.
fn exit_code(result: &ToolOutput, output: &str, failed: bool) -> Option<i64> {
    let told = result.structured_content.as_deref();
    let told = told.and_then(|told| serde_json::from_str::<CommandOutcome>(told.get()).ok());
    told.and_then(|told| told.exit_code)
        .or_else(|| {
            let last = output.lines().next_back().unwrap_or_default();
            last.strip_prefix("Command exited with code ")?.trim().parse().ok()
        })
        .or_else(|| (!failed).then_some(0))
}

fn text_of(blocks: Vec<Block<'_>>) -> String {
    let text = |block| match block {
        Block::Text { text } => Some(text),
        Block::Thinking { .. } | Block::Call(_) | Block::Image(_) | Block::Unknown => None,
    };
    blocks.into_iter().filter_map(text).collect()
}

/// Returns what is new in `later`. It repeats all of `earlier`, or, of long output, begins somewhere within it.
fn grown<'a>(earlier: &str, later: &'a str) -> &'a str {
    if let Some(rest) = later.strip_prefix(earlier) {
        return rest;
    }
    let head = later.split_inclusive('\n').next().unwrap_or_default();
    let mut overlaps = earlier.match_indices(head).filter_map(|(at, _)| earlier.get(at..));
    overlaps.find_map(|overlap| later.strip_prefix(overlap)).unwrap_or(later)
}

#[cfg(test)]
mod tests {
    use super::grown;

    #[test]
    fn output_that_repeats_itself_is_told_once() {
        assert_eq!(grown("", "line 1\n"), "line 1\n");
        assert_eq!(grown("line 1\n", "line 1\nline 2\n"), "line 2\n");
        assert_eq!(grown("line 1\n", "line 1\n"), "");
    }

    #[test]
    fn output_that_slides_on_is_told_from_where_it_was() {
        assert_eq!(grown("1\n2\n3\n", "2\n3\n4\n"), "4\n");
        assert_eq!(grown("1\n2\n", "8\n9\n"), "8\n9\n");
        assert_eq!(grown("ä\nö\n", "ö\nü\n"), "ü\n");
    }
}

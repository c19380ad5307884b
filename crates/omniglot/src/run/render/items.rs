//! Items as text: messages, tool calls with their results, and what happened beside them.

use omniglot_schema::{ContentPart, FileAction, ItemId, ItemKind, ItemRole, StatusLabel, UniversalItem};
use omniglot_timeline::view::{Call, Message};

use super::style::{Ink, clean, one_line};
use super::{Last, Renderer, Voice, tool};

/// More than this of a detail is not read by anybody.
const LONG: usize = 400;

impl Renderer {
    pub(super) fn delta(&mut self, message: &Message, delta: &str) -> String {
        match voice(message) {
            Some(_) if message.within.is_some() => String::new(),
            Some(voice) => self.prose(&message.item.item_id, voice, delta),
            None => String::new(),
        }
    }

    pub(super) fn message_ended(&mut self, message: &Message) -> String {
        let item = &message.item;
        match item.kind {
            ItemKind::System => return self.system_said(&message.text),
            ItemKind::Unknown => return self.note("· something of a kind that is not known yet"),
            _ => {}
        }
        if voice(message).is_none() {
            let is_asked = self.everybody && message.within.is_none();
            return if is_asked { self.asked(item) } else { String::new() };
        }
        if message.within.is_some() {
            return self.nested_message(message);
        }
        let streamed = message.streamed > 0;
        let mut out = self.close_line(&item.item_id);
        for part in &item.content {
            out.push_str(&match part {
                ContentPart::Text { text } if !streamed => self.prose(&item.item_id, Voice::Says, text),
                ContentPart::Reasoning { text, .. } if !streamed => {
                    self.prose(&item.item_id, Voice::Thinks, text)
                }
                ContentPart::Image { path, .. } => self.note(&format!("[image {path}]")),
                ContentPart::Json { json } => self.block(&one_line(&json.to_string(), self.width)),
                ContentPart::FileRef { path, .. } => self.note(&format!("[file {path}]")),
                ContentPart::Text { .. }
                | ContentPart::Reasoning { .. }
                | ContentPart::ToolCall { .. }
                | ContentPart::ToolResult { .. }
                | ContentPart::Status { .. } => String::new(),
            });
        }
        out
    }

    /// Renders the user's message and its attachments.
    fn asked(&mut self, item: &UniversalItem) -> String {
        let mut out = String::new();
        for part in &item.content {
            out.push_str(&match part {
                ContentPart::Text { text } => {
                    let text = self.wrapped(&format!("› {}", clean(text.trim_end())));
                    let gap = if self.last == Last::Nothing { "" } else { "\n" };
                    let text = self.style.paint(Ink::Bold, &text);
                    gap.to_owned() + &self.block(&text)
                }
                ContentPart::Image { path, .. } => self.note(&format!("[image {path}]")),
                ContentPart::FileRef { path, .. } => self.note(&format!("[file {path}]")),
                _ => String::new(),
            });
        }
        out
    }

    /// Ends the line of a message that is complete, so that the cursor rests at the beginning of the next.
    fn close_line(&mut self, item: &ItemId) -> String {
        match &self.last {
            Last::Prose { item: current, .. } if current == item => self.end_prose(),
            _ => String::new(),
        }
    }

    pub(super) fn call_ready(&mut self, call: &Call) -> String {
        let depth = self.depths.of_call(call);
        let text =
            self.at_depth(depth, |this| this.style.paint(Ink::Cyan, &format!("● {}", this.label(call))));
        let text = self.block(&text);
        self.last = Last::Call(call.item.clone());
        text
    }

    fn label(&self, call: &Call) -> String {
        one_line(&self.relative(&tool::label(call)), self.width.saturating_sub(2))
    }

    pub(super) fn call_ended(&mut self, call: &Call) -> String {
        let Some(item) = &call.result else { return String::new() };
        let depth = self.depths.below(call.within.as_ref());
        let body = self.at_depth(depth, |this| this.result_body(item));
        self.under_its_call(call, depth, &body)
    }

    fn result_body(&mut self, item: &UniversalItem) -> String {
        let is_json = |part: &&ContentPart| matches!(part, ContentPart::Json { .. });
        let mut body: String =
            item.content.iter().filter(|part| !is_json(part)).map(|part| self.result_part(part)).collect();
        // What a tool returns to programs repeats what it says to people, if it says anything.
        if body.is_empty() {
            body = item.content.iter().filter(is_json).map(|part| self.result_part(part)).collect();
        }
        body.push_str(&tool::verdict(self.style, item));
        body
    }

    fn result_part(&mut self, part: &ContentPart) -> String {
        match part {
            ContentPart::ToolResult { .. } => {
                tool::output(self.style, &part.printed().unwrap_or_default(), self.width)
            }
            ContentPart::Text { text } => tool::output(self.style, text, self.width),
            ContentPart::FileRef { .. } => self.file(part),
            ContentPart::Json { json } => tool::output(self.style, &json.to_string(), self.width),
            ContentPart::Image { path, .. } => format!("  [image {path}]\n"),
            ContentPart::ToolCall { .. } | ContentPart::Reasoning { .. } | ContentPart::Status { .. } => {
                String::new()
            }
        }
    }

    /// Names the call again when something else was written since.
    fn under_its_call(&mut self, call: &Call, depth: usize, body: &str) -> String {
        if body.is_empty() {
            return String::new();
        }
        if call.name.is_empty() || self.last == Last::Call(call.item.clone()) {
            return self.block(body);
        }
        let head =
            self.at_depth(depth, |this| this.style.paint(Ink::Dim, &format!("↳ {}", this.label(call))));
        self.block(&format!("{head}\n{body}"))
    }

    /// Shows a file by its diff, else by its name. A diff that is too long is told by its address.
    pub(super) fn file(&mut self, part: &ContentPart) -> String {
        let ContentPart::FileRef { path, action, diff, diff_blob } = part else { return String::new() };
        let shown = diff.as_deref().and_then(|diff| self.diff_once(path, diff));
        let mut text = shown.unwrap_or_else(|| self.touched(path, *action));
        if let Some(blob) = diff_blob {
            text.push_str(&format!("  [its diff is too long to be shown: GET {blob}]\n"));
        }
        text
    }

    fn diff_once(&mut self, path: &str, diff: &str) -> Option<String> {
        let new = self.shown_diffs.insert((path.to_owned(), diff.to_owned()));
        new.then(|| {
            tool::diff(self.style, &self.relative(path), diff, self.wrap.width().unwrap_or(usize::MAX))
        })
    }

    fn touched(&self, path: &str, action: FileAction) -> String {
        tool::touched(self.style, &self.relative(path), action, self.width)
    }

    fn system_said(&mut self, text: &str) -> String {
        let text = tool::output(self.style, text, self.width);
        if text.is_empty() { text } else { self.block(&text) }
    }

    pub(super) fn happened(&mut self, item: &UniversalItem) -> String {
        let mut out = String::new();
        for part in &item.content {
            if let ContentPart::Status { label, detail, .. } = part
                && StatusLabel::of_label(label) != Some(StatusLabel::Step)
            {
                let what = label.rsplit('.').next().unwrap_or(label).replace('_', " ");
                let detail = detail.as_deref().map(|d| one_line(d, LONG)).unwrap_or_default();
                out.push_str(&match what.as_str() {
                    "warning" => self.warning(&detail),
                    _ if detail.is_empty() => self.note(&format!("· {what}")),
                    // It is a sentence that says so itself.
                    "reverted" => self.note(&format!("· {detail}")),
                    _ => self.note(&format!("· {what}: {detail}")),
                });
            }
        }
        out
    }
}

/// Returns how a message of the agent is told; `None` for words of others, which people know.
fn voice(message: &Message) -> Option<Voice> {
    let is_agent = message.item.kind == ItemKind::Message && message.item.role == Some(ItemRole::Assistant);
    is_agent.then_some(if message.reasoning { Voice::Thinks } else { Voice::Says })
}

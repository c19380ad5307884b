//! Items as text: messages, tool calls with their results, and what happened beside them.

use omniglot_schema::{
    CallId, ContentPart, DeltaPart, FileAction, ItemDeltaData, ItemId, ItemKind, ItemRole, StatusLabel,
    UniversalItem,
};

use super::style::{Ink, clean, one_line};
use super::{Last, Open, Renderer, Voice, tool};

/// More than this of a detail is not read by anybody.
const LONG: usize = 400;

impl Renderer {
    pub(super) fn item_started(&mut self, item: &UniversalItem) -> String {
        if item.kind == ItemKind::Message {
            self.open.insert(item.item_id.clone(), Open { voice: voice(item), streamed: false });
        }
        String::new()
    }

    pub(super) fn delta(&mut self, data: &ItemDeltaData) -> String {
        let part = data.part_type.unwrap_or(DeltaPart::Text);
        let Some(open) = self.open.get_mut(&data.item_id) else {
            return String::new();
        };
        if open.voice == Voice::Silent {
            return String::new();
        }
        open.voice = if part == DeltaPart::Reasoning { Voice::Thinks } else { open.voice };
        open.streamed = true;
        let voice = open.voice;
        self.prose(&data.item_id, voice, &data.delta)
    }

    pub(super) fn item_completed(&mut self, item: &UniversalItem) -> String {
        match item.kind {
            ItemKind::Message => self.message_completed(item),
            ItemKind::ToolCall => self.call_completed(item),
            ItemKind::ToolResult => self.result_completed(item),
            ItemKind::System => self.system_completed(item),
            ItemKind::Status => self.status_completed(item),
            ItemKind::Unknown => self.note("· something of a kind that is not known yet"),
        }
    }

    fn message_completed(&mut self, item: &UniversalItem) -> String {
        let open = self.open.remove(&item.item_id);
        let streamed = open.as_ref().is_some_and(|open| open.streamed);
        let speaker = open.map_or_else(|| voice(item), |open| open.voice);
        if speaker == Voice::Silent {
            return if self.everybody { self.asked(item) } else { String::new() };
        }
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

    /// What a person said, and what came with it.
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

    fn call_completed(&mut self, item: &UniversalItem) -> String {
        let mut out = String::new();
        for part in &item.content {
            if let ContentPart::ToolCall { name, arguments, call_id, title, kind, subject } = part {
                let (title, subject) = (title.as_deref(), subject.as_deref());
                let label = tool::ToolUse { name, arguments, title, kind: *kind, subject }.label();
                let label = one_line(&self.relative(&label), self.width.saturating_sub(2));
                out.push_str(&self.block(&self.style.paint(Ink::Cyan, &format!("● {label}"))));
                self.calls.insert(call_id.clone(), label);
                self.last = Last::Call(call_id.clone());
            }
        }
        out
    }

    fn result_completed(&mut self, item: &UniversalItem) -> String {
        let is_json = |part: &&ContentPart| matches!(part, ContentPart::Json { .. });
        let mut body: String =
            item.content.iter().filter(|part| !is_json(part)).map(|part| self.result_part(part)).collect();
        // What a tool returns to programs repeats what it says to people, if it says anything.
        if body.is_empty() {
            body = item.content.iter().filter(is_json).map(|part| self.result_part(part)).collect();
        }
        body.push_str(&tool::verdict(self.style, item));
        self.under_its_call(item.content.iter().find_map(call_of), &body)
    }

    fn result_part(&mut self, part: &ContentPart) -> String {
        match part {
            ContentPart::ToolResult { .. } => {
                tool::output(self.style, &part.printed().unwrap_or_default(), self.width)
            }
            ContentPart::Text { text } => tool::output(self.style, text, self.width),
            ContentPart::FileRef { path, action, diff } => {
                let shown = diff.as_deref().and_then(|diff| self.diff_once(path, diff));
                shown.unwrap_or_else(|| self.touched(path, *action))
            }
            ContentPart::Json { json } => tool::output(self.style, &json.to_string(), self.width),
            ContentPart::Image { path, .. } => format!("  [image {path}]\n"),
            ContentPart::ToolCall { .. } | ContentPart::Reasoning { .. } | ContentPart::Status { .. } => {
                String::new()
            }
        }
    }

    /// Names the call again when something else was written since.
    fn under_its_call(&mut self, call: Option<&CallId>, body: &str) -> String {
        let label = call.and_then(|call| self.calls.remove(call));
        if body.is_empty() {
            return String::new();
        }
        let adjacent = call.is_some_and(|call| self.last == Last::Call(call.clone()));
        match label {
            Some(label) if !adjacent => {
                let head = self.style.paint(Ink::Dim, &format!("↳ {label}"));
                self.block(&format!("{head}\n{body}"))
            }
            _ => self.block(body),
        }
    }

    pub(super) fn diff_once(&mut self, path: &str, diff: &str) -> Option<String> {
        let new = self.shown_diffs.insert((path.to_owned(), diff.to_owned()));
        new.then(|| {
            tool::diff(self.style, &self.relative(path), diff, self.wrap.width().unwrap_or(usize::MAX))
        })
    }

    pub(super) fn touched(&self, path: &str, action: FileAction) -> String {
        tool::touched(self.style, &self.relative(path), action, self.width)
    }

    fn system_completed(&mut self, item: &UniversalItem) -> String {
        let text: String = item.content.iter().filter_map(text_of).collect();
        let text = tool::output(self.style, &text, self.width);
        if text.is_empty() { text } else { self.block(&text) }
    }

    fn status_completed(&mut self, item: &UniversalItem) -> String {
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
                    _ => self.note(&format!("· {what}: {detail}")),
                });
            }
        }
        out
    }
}

fn voice(item: &UniversalItem) -> Voice {
    match item.role {
        Some(ItemRole::Assistant) if item.content.iter().any(is_reasoning) => Voice::Thinks,
        Some(ItemRole::Assistant) => Voice::Says,
        Some(ItemRole::User | ItemRole::System | ItemRole::Tool) | None => Voice::Silent,
    }
}

fn call_of(part: &ContentPart) -> Option<&CallId> {
    match part {
        ContentPart::ToolResult { call_id, .. } => Some(call_id),
        _ => None,
    }
}

fn is_reasoning(part: &ContentPart) -> bool {
    matches!(part, ContentPart::Reasoning { .. })
}

fn text_of(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::Text { text } => Some(text),
        _ => None,
    }
}

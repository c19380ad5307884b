//! What an agent says about something that has ended (T9): a status item with all that was said. Nothing reopens.

use omniglot_schema::{
    ContentPart, EventData, ItemEventData, ItemId, ItemKind, ItemStatus, StatusLabel, UniversalItem,
};
use serde::Serialize;

use super::bodies::text_of;
use super::{Emitted, Stamp, Timeline};
use crate::draft::{Body, DropReason, ItemKey, ItemStart, ToolCall, ToolResult};

/// What a body tells when it has no place of its own any more.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// For a person to read.
    words: String,
    /// Files, pictures and structured values.
    parts: Vec<ContentPart>,
}

/// What a result says beside its output.
#[derive(Serialize)]
struct Facts {
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
}

impl Timeline {
    /// An item begins after the end of its turn.
    pub(super) fn begun_late(&mut self, start: ItemStart, stamp: Stamp, out: &mut Vec<Emitted>) {
        self.told_late(&start.key, start.body, stamp, out);
    }

    /// The content of an item comes after its end, or after that of its turn. What comes of a call that begins
    /// so late is late, too.
    pub(super) fn told_late(&mut self, key: &ItemKey, body: Body, stamp: Stamp, out: &mut Vec<Emitted>) {
        if matches!(body, Body::ToolCall { .. }) && self.ended_item(key).is_none() {
            self.owed.insert(key.clone(), ItemId(self.mint("itm")));
        }
        let call = if let Body::ToolResult(result) = &body { Some(&result.call) } else { None };
        let of_call = |call| self.owed.get(call).or_else(|| self.ended_item(call));
        let parent = self.ended_item(key).or_else(|| of_call(call?)).cloned();
        self.late(parent, Told::of(body), stamp, out);
    }

    pub(super) fn late(
        &mut self,
        parent_id: Option<ItemId>,
        told: Told,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let Told { words, parts } = told;
        if words.is_empty() && parts.is_empty() {
            return self.dropped(DropReason::Superseded);
        }
        let label = format!("{}.{}", self.identity.agent, StatusLabel::Late.as_str());
        let status = ContentPart::Status { label, detail: Some(words).filter(|words| !words.is_empty()) };
        let item = UniversalItem {
            item_id: ItemId(self.mint("itm")),
            native_item_id: None,
            parent_id,
            kind: ItemKind::Status,
            role: None,
            status: ItemStatus::InProgress,
            content: std::iter::once(status).chain(parts).collect(),
        };
        self.emit(EventData::ItemStarted(ItemEventData { item: item.clone() }), stamp, out);
        let item = UniversalItem { status: ItemStatus::Completed, ..item };
        self.emit(EventData::ItemCompleted(ItemEventData { item }), stamp, out);
    }
}

impl Told {
    pub(super) fn words(words: String) -> Self {
        Self { words, parts: vec![] }
    }

    fn of(body: Body) -> Self {
        match body {
            Body::Message { parts, .. } | Body::System { parts } | Body::Unknown { parts } => {
                let (texts, parts): (Vec<_>, Vec<_>) =
                    parts.into_iter().partition(|part| matches!(part, ContentPart::Text { .. }));
                Self { words: texts.into_iter().filter_map(text_of).collect(), parts }
            }
            Body::Reasoning { text, .. } => Self::words(text),
            Body::ToolCall(ToolCall { name, arguments, .. }) => Self::words(format!("{name} {arguments}")),
            Body::ToolResult(result) => Self::of_result(result),
            Body::Status { detail, .. } => Self::words(detail.unwrap_or_default()),
        }
    }

    /// Its facts stand twice: before the output for whoever reads, and as values.
    fn of_result(result: ToolResult) -> Self {
        let ToolResult { output, is_error, exit_code, duration_ms, parts, .. } = result;
        let ended = is_error.map(|failed| if failed { "failed" } else { "completed" }.to_owned());
        let code = exit_code.map(|code| format!("exit code {code}"));
        let time = duration_ms.map(|millis| format!("{millis} ms"));
        let facts: Vec<String> = [ended, code, time].into_iter().flatten().collect();
        let lines = [facts.join(", "), output];
        let words: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        let values = serde_json::to_value(Facts { is_error, exit_code, duration_ms }).ok();
        let values = values.filter(|_| !facts.is_empty()).map(|json| ContentPart::Json { json });
        Self { words: words.join("\n"), parts: values.into_iter().chain(parts).collect() }
    }
}

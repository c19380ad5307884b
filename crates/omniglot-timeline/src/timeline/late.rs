//! Late output (T9): what an agent says about something that has ended is a status item. Nothing reopens.
//!
//! Late text is one item however many deltas bring it: the item starts with the first words, grows by
//! `item.delta` and completes once (T5). The alternative, to hold the text back until it is whole, would keep it
//! from everybody: many agents never end what a cancel has cut, and then nothing tells that no more will come.
//!
//! ```text
//! not heard of ── words ──▶ growing ── the agent ends the item ─────────────────────▶ completed
//!                              └────── a turn begins or ends, the process is gone ──▶ completed, by the daemon
//! ```
//!
//! So a late item may be open while no turn is; it is the only one that may. The fold holds it, with its text:
//! after a restart of the daemon nobody reads the events between two turns again.
//! A final text that goes on where the late text stopped gives the rest as a delta; one that contradicts it fails
//! the late item and is told as another (T6). The final arguments or output of a tool take the place of the late
//! text, which was a preview (T7).

use omniglot_schema::{
    ContentPart, EventData, ItemDeltaData, ItemEventData, ItemId, ItemKind, ItemStatus, StatusLabel,
    UniversalItem,
};
use serde::Serialize;

use super::bodies::{Content, is_streamed, text_of};
use super::fates::{LateItem, Slot};
use super::{Emitted, Stamp, Timeline};
use crate::draft::{Body, DropReason, ToolCall, ToolResult};

/// The content of a body that comes too late for an item of its own.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// For a person to read.
    words: String,
    /// Files, pictures and structured values.
    parts: Vec<ContentPart>,
}

/// The facts of a result beside its output.
#[derive(Serialize)]
struct ResultFacts {
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
}

impl Timeline {
    /// An item begins after the end of its turn.
    pub(super) fn begun_late(&mut self, at: Slot<'_>, body: Content, stamp: Stamp, out: &mut Vec<Emitted>) {
        if !grows(&body) {
            return self.told_late(at, body, stamp, out);
        }
        let parent = self.fates.late_parent(at).cloned();
        if matches!(body, Content::Call(_)) && self.fates.ended(at).is_none() {
            // What comes of a call that begins too late is late, too.
            self.fates.keep(at.key);
        }
        let told = Told::of(body);
        let item =
            if told.is_empty() { None } else { Some(self.open_late(parent.clone(), told, stamp, out)) };
        if item.is_none() {
            self.dropped(DropReason::Superseded);
        }
        self.fates.set_late(at, parent, item);
    }

    /// Words for an item that has ended, or that began after the end of its turn.
    pub(super) fn late_delta(&mut self, at: Slot<'_>, delta: String, stamp: Stamp, out: &mut Vec<Emitted>) {
        if self.fates.is_full(at) {
            return self.dropped(DropReason::TooLong);
        }
        let known = self.fates.late(at);
        let item = match known.and_then(|late| late.item.clone()) {
            Some(item) => item,
            None => {
                let ended = || self.fates.late_parent(at);
                let parent = known.map_or_else(ended, |late| late.parent.as_ref()).cloned();
                let item = self.open_late(parent.clone(), Told::default(), stamp, out);
                self.fates.set_late(at, parent, Some(item.clone()));
                item
            }
        };
        let told = self.fold.late.get(&item).and_then(detail_of).map_or(0, str::len);
        let most = self.bounds.late_bytes();
        if told + delta.len() > most {
            return self.end_full_late(at, &item, most, stamp, out);
        }
        self.extend_late(item, delta, stamp, out);
    }

    /// Fails a late item that says too much; more of it is dropped from now on.
    fn end_full_late(
        &mut self,
        at: Slot<'_>,
        item: &ItemId,
        most: usize,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        self.dropped(DropReason::TooLong);
        self.fates.end_late(at);
        self.fates.fill(at);
        self.complete_late(item, ItemStatus::Failed, None, stamp.synthetic(), out);
        let detail = format!("late text is kept up to {most} bytes; the rest was dropped");
        self.whole_item(
            Body::Status { label: StatusLabel::Warning, detail: Some(detail) },
            None,
            Some(item.clone()),
            stamp.synthetic(),
            out,
        );
    }

    /// The agent ends an item that was heard of too late.
    pub(super) fn ended_late(
        &mut self,
        at: Slot<'_>,
        body: Option<Content>,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let cut = self.fates.take_cut(at);
        // The agent has ended it before: what it says of its content is no news.
        let is_repeated = self.fates.ended(at).is_some() && cut.is_none();
        let Some(LateItem { parent, item }) = self.fates.end_late(at) else { return };
        let body = body.filter(|_| !is_repeated);
        let Some(id) = item else {
            return match body {
                Some(body) => self.late_whole(parent, Told::of(body), stamp, out),
                None => self.dropped(DropReason::Superseded),
            };
        };
        match body {
            None => self.complete_late(&id, ItemStatus::Completed, None, stamp, out),
            Some(body) => self.settle_late(&id, parent, &cut.unwrap_or_default(), body, stamp, out),
        }
    }

    /// Completes a late item with the final content; `before` is the text that was told in time.
    fn settle_late(
        &mut self,
        id: &ItemId,
        parent: Option<ItemId>,
        before: &str,
        body: Content,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        let is_text = is_streamed(&body);
        let told = Told::of(body);
        match told.words.is_empty() {
            true => self.release_held(id, stamp, out),
            // The final text has it.
            false => self.forget_held(id),
        }
        let (before, told) =
            (self.masked(before.to_owned()), Told { words: self.masked(told.words), ..told });
        let late = self.fold.late.get(id).and_then(detail_of).unwrap_or_default().to_owned();
        let rest =
            told.words.strip_prefix(before.as_str()).and_then(|words| words.strip_prefix(late.as_str()));
        match rest.map(str::to_owned) {
            _ if !is_text && !told.is_empty() => {
                self.complete_late(id, ItemStatus::Completed, Some(told), stamp, out);
            }
            Some(rest) => {
                let words = [late.as_str(), &rest].concat();
                if !rest.is_empty() {
                    self.extend_late(id.clone(), rest, stamp.synthetic(), out);
                }
                let told = Told { words, ..told };
                self.complete_late(id, ItemStatus::Completed, Some(told), stamp, out);
            }
            None if told.words.is_empty() => {
                let told = Told { words: late, ..told };
                self.complete_late(id, ItemStatus::Completed, Some(told), stamp, out);
            }
            None => {
                self.complete_late(id, ItemStatus::Failed, None, stamp.synthetic(), out);
                self.stats.rewritten += 1;
                self.late_whole(parent, told, stamp, out);
            }
        }
    }

    /// Completes every late item: the agent has not ended it by now.
    pub(super) fn close_late(&mut self, stamp: Stamp, out: &mut Vec<Emitted>) {
        self.fates.end_all_late();
        // A late item of an adapter's own ends with the other items of its turn.
        let is_ours = |id: &&ItemId| self.fates.open_item_mut(id).is_none();
        for id in self.fold.late.keys().filter(is_ours).cloned().collect::<Vec<_>>() {
            self.complete_late(&id, ItemStatus::Completed, None, stamp, out);
        }
    }

    /// The content of an item comes whole, after its end or after that of its turn.
    pub(super) fn told_late(&mut self, at: Slot<'_>, body: Content, stamp: Stamp, out: &mut Vec<Emitted>) {
        if matches!(body, Content::Call(_)) && self.fates.ended(at).is_none() {
            self.begun_late(at, body, stamp, out);
            return self.ended_late(at, None, stamp, out);
        }
        let parent = self.fates.late_parent(at).cloned();
        self.late_whole(parent, Told::of(body), stamp, out);
    }

    fn late_whole(&mut self, parent: Option<ItemId>, told: Told, stamp: Stamp, out: &mut Vec<Emitted>) {
        if told.is_empty() {
            return self.dropped(DropReason::Superseded);
        }
        let id = self.open_late(parent, told, stamp, out);
        self.complete_late(&id, ItemStatus::Completed, None, stamp, out);
    }

    fn open_late(
        &mut self,
        parent_id: Option<ItemId>,
        told: Told,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) -> ItemId {
        let item_id = ItemId(self.mint("itm"));
        let item = UniversalItem {
            item_id: item_id.clone(),
            native_item_id: None,
            parent_id,
            kind: ItemKind::Status,
            role: None,
            status: ItemStatus::InProgress,
            content: self.late_content(told),
        };
        self.emit(EventData::ItemStarted(ItemEventData { item, metadata: None }), stamp, out);
        item_id
    }

    fn extend_late(&mut self, item_id: ItemId, delta: String, stamp: Stamp, out: &mut Vec<Emitted>) {
        let data = ItemDeltaData { item_id, native_item_id: None, delta, part_type: None };
        self.emit(EventData::ItemDelta(data), stamp, out);
    }

    /// `told` is all that there is of it; `None` means what was started and streamed.
    fn complete_late(
        &mut self,
        id: &ItemId,
        status: ItemStatus,
        told: Option<Told>,
        stamp: Stamp,
        out: &mut Vec<Emitted>,
    ) {
        self.release_held(id, stamp, out);
        let Some(item) = self.fold.late.get(id).cloned() else { return };
        let content = told.map_or_else(|| item.content.clone(), |told| self.late_content(told));
        let item = UniversalItem { status, content, ..item };
        self.emit(EventData::ItemCompleted(ItemEventData { item, metadata: None }), stamp, out);
    }

    fn late_content(&self, Told { words, parts }: Told) -> Vec<ContentPart> {
        let label = format!("{}.{}", self.identity.agent, StatusLabel::Late.as_str());
        let status =
            ContentPart::Status { label, detail: Some(words).filter(|words| !words.is_empty()), usage: None };
        std::iter::once(status).chain(parts).collect()
    }
}

/// Whether the agent may tell more of it, and says when it is done.
fn grows(body: &Content) -> bool {
    use omniglot_schema::ItemRole::Assistant;
    match body {
        Content::Plain(Body::Message { role, .. }) => *role == Assistant,
        Content::Plain(Body::Reasoning { .. }) | Content::Call(_) | Content::Result(_) => true,
        Content::Plain(
            Body::System { .. } | Body::Status { .. } | Body::Step { .. } | Body::Unknown { .. },
        ) => false,
    }
}

fn detail_of(item: &UniversalItem) -> Option<&str> {
    match item.content.first() {
        Some(ContentPart::Status { detail, .. }) => detail.as_deref(),
        _ => None,
    }
}

impl Told {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.parts.is_empty()
    }

    fn words(words: String) -> Self {
        Self { words, parts: vec![] }
    }

    fn of(body: Content) -> Self {
        match body {
            Content::Plain(
                Body::Message { parts, .. } | Body::System { parts } | Body::Unknown { parts },
            ) => {
                let (texts, parts): (Vec<_>, Vec<_>) =
                    parts.into_iter().partition(|part| matches!(part, ContentPart::Text { .. }));
                Self { words: texts.into_iter().filter_map(text_of).collect(), parts }
            }
            Content::Plain(Body::Reasoning { text, .. }) => Self::words(text),
            Content::Call(ToolCall { name, arguments, .. }) => Self::words(format!("{name} {arguments}")),
            Content::Result(result) => Self::of_result(result),
            Content::Plain(Body::Status { detail, .. }) => Self::words(detail.unwrap_or_default()),
            // A boundary that comes late bounds nothing any more.
            Content::Plain(Body::Step { .. }) => Self::default(),
        }
    }

    /// Its facts stand twice: before the output for whoever reads, and as values.
    fn of_result(result: ToolResult) -> Self {
        let ToolResult { output, stderr, is_error, exit_code, duration_ms, parts, .. } = result;
        let ended = is_error.map(|failed| if failed { "failed" } else { "completed" }.to_owned());
        let code = exit_code.map(|code| format!("exit code {code}"));
        let time = duration_ms.map(|millis| format!("{millis} ms"));
        let facts: Vec<String> = [ended, code, time].into_iter().flatten().collect();
        let lines = [facts.join(", "), output, stderr.unwrap_or_default()];
        let words: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        let values = serde_json::to_value(ResultFacts { is_error, exit_code, duration_ms }).ok();
        let values = values.filter(|_| !facts.is_empty()).map(|json| ContentPart::Json { json });
        Self { words: words.join("\n"), parts: values.into_iter().chain(parts).collect() }
    }
}

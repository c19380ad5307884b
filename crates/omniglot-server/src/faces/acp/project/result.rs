//! The result of a tool: its output, the files it changed, pictures; each where ACP has a place for it.

use std::borrow::Cow;

use agent_client_protocol_schema::v1::{
    ContentBlock, TextContent, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdateFields,
    ToolKind,
};
use omniglot_schema::{ContentPart, FileAction, ItemStatus, UniversalItem};
use serde::Serialize;

use super::blocks::{self, Blobs};
use super::{ResultForms, diff};

/// `_meta["omniglot/result"]`
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
}

pub(super) fn outcome(item: &UniversalItem) -> Option<Outcome> {
    let outcome = item.content.iter().find_map(|part| match part {
        ContentPart::ToolResult { is_error, exit_code, duration_ms, .. } => {
            Some(Outcome { is_error: *is_error, exit_code: *exit_code, duration_ms: *duration_ms })
        }
        _ => None,
    });
    outcome.filter(|outcome| {
        outcome.is_error.is_some() || outcome.exit_code.is_some() || outcome.duration_ms.is_some()
    })
}

/// The properties of the call that the client knows.
pub(super) struct Known {
    pub(super) kind: ToolKind,
    pub(super) locations: Vec<ToolCallLocation>,
}

pub(super) fn fields(
    item: &UniversalItem,
    Known { kind, locations }: Known,
    forms: ResultForms,
    blobs: &Blobs,
) -> ToolCallUpdateFields {
    let failed = item.status == ItemStatus::Failed;
    let mut shown = Shown { kind, ..Shown::default() };
    item.content.iter().for_each(|part| shown.add(item, part, blobs));
    if forms == ResultForms::One {
        shown.drop_repetitions(failed);
    }
    let locations = shown.locations(locations);
    ToolCallUpdateFields::new()
        .status(if failed { ToolCallStatus::Failed } else { ToolCallStatus::Completed })
        .kind((kind != shown.kind).then_some(shown.kind))
        .raw_output(shown.raw.clone().map(serde_json::Value::String))
        .locations(locations)
        .content(shown.content(failed))
}

/// A result's parts, sorted by where ACP has a place for them.
#[derive(Debug, Default)]
struct Shown {
    kind: ToolKind,
    output: Option<String>,
    /// The output once more, as it is.
    raw: Option<String>,
    diffs: Vec<ToolCallContent>,
    /// Structured data, which says the same as the output where there is one.
    data: Vec<ToolCallContent>,
    others: Vec<ToolCallContent>,
    paths: Vec<String>,
}

impl Shown {
    fn add(&mut self, item: &UniversalItem, part: &ContentPart, blobs: &Blobs) {
        match part {
            ContentPart::ToolResult { .. } => {
                self.output = part.printed().map(Cow::into_owned).filter(|output| !output.is_empty());
                self.raw.clone_from(&self.output);
            }
            ContentPart::Json { .. } => {
                self.data.extend(blocks::block(&item.item_id, part, blobs).map(ToolCallContent::from));
            }
            ContentPart::FileRef { path, action, .. } => self.file(path, *action, edits(part)),
            other => {
                self.others.extend(blocks::block(&item.item_id, other, blobs).map(ToolCallContent::from))
            }
        }
    }

    fn file(&mut self, path: &str, action: FileAction, edits: Vec<ToolCallContent>) {
        self.paths.push(path.to_owned());
        if self.kind == ToolKind::Other {
            self.kind = match action {
                FileAction::Read => ToolKind::Read,
                FileAction::Write | FileAction::Patch => ToolKind::Edit,
            };
        }
        self.diffs.extend(edits);
    }

    /// Where the call worked, if its subject did not say so.
    fn locations(&self, mut all: Vec<ToolCallLocation>) -> Option<Vec<ToolCallLocation>> {
        let known = all.len();
        for path in &self.paths {
            if !all.iter().any(|there| there.path.as_os_str() == path.as_str()) {
                all.push(ToolCallLocation::new(path));
            }
        }
        (all.len() > known).then_some(all)
    }

    /// Leaves each thing in one form: where the content has the output or a diff, it is neither told raw nor as data.
    fn drop_repetitions(&mut self, failed: bool) {
        if self.said(failed).is_some() || !self.diffs.is_empty() {
            self.raw = None;
            self.data.clear();
        }
    }

    /// An edit that worked is shown by its diff alone.
    fn said(&self, failed: bool) -> Option<&str> {
        self.output.as_deref().filter(|_| failed || self.diffs.is_empty())
    }

    fn content(self, failed: bool) -> Option<Vec<ToolCallContent>> {
        let said = self.said(failed).map(|text| output(text, self.kind));
        let parts = [self.diffs, self.data, self.others];
        let all: Vec<_> = said.into_iter().chain(parts.into_iter().flatten()).collect();
        (!all.is_empty()).then_some(all)
    }
}

/// A unified diff as ACP shows edits; one that cannot be read is shown as it is, one that is too long by its address.
pub(crate) fn edits(part: &ContentPart) -> Vec<ToolCallContent> {
    let ContentPart::FileRef { path, diff, diff_blob, .. } = part else { return vec![] };
    if let Some(blob) = diff_blob {
        let text = format!("The diff of {path} is too long to be shown here. The daemon has it at {blob}");
        return vec![ToolCallContent::from(ContentBlock::Text(TextContent::new(text)))];
    }
    let Some(unified) = diff else { return vec![] };
    let hunks: Vec<_> = diff::hunks(path, unified).into_iter().map(ToolCallContent::Diff).collect();
    if hunks.is_empty() && !unified.is_empty() {
        return vec![fenced(unified)];
    }
    hunks
}

/// Clients read text as Markdown, which the output of commands and the content of files is not.
pub(super) fn output(text: &str, kind: ToolKind) -> ToolCallContent {
    match kind {
        ToolKind::Execute | ToolKind::Read | ToolKind::Search => fenced(text),
        _ => ToolCallContent::from(ContentBlock::Text(TextContent::new(text))),
    }
}

fn fenced(text: &str) -> ToolCallContent {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    ToolCallContent::from(ContentBlock::Text(TextContent::new(format!("{fence}\n{text}{end}{fence}"))))
}

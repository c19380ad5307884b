//! Events beside the conversation: status items, frames that were not understood, resumption.
//!
//! ACP has few words for it, so it rides as `_meta` on an update that says nothing else; what a person should
//! read is said aloud.

use agent_client_protocol_schema::v1::{
    CompactionStatus, CompactionUpdate, Notice, NoticeSeverity, SessionInfoUpdate, SessionUpdate,
};
use omniglot_schema::{
    AgentUnparsedData, ContentPart, ErrorData, ItemStatus, SessionStartedData, StatusLabel, UniversalItem,
};
use serde::Serialize;

use super::speech::{self, Speaker};
use super::{Audience, Out};
use crate::faces::acp::wire::meta::{self, Notes};

/// `_meta["sandbox-agent/status"]`
#[derive(Debug, Serialize)]
struct Status<'a> {
    r#type: &'static str,
    label: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
}

/// `_meta["sandbox-agent/unparsed"]`
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Unparsed<'a> {
    error: &'a str,
    location: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_hash: Option<&'a str>,
}

pub(super) fn happened(item: &UniversalItem, audience: Audience, out: &mut Out<'_>) {
    for part in &item.content {
        if let ContentPart::Status { label, detail, .. } = part {
            tell(item, label, detail.as_deref(), audience, out);
        }
    }
}

fn tell(item: &UniversalItem, label: &str, detail: Option<&str>, audience: Audience, out: &mut Out<'_>) {
    let notes = speech::notes_of(item).with(meta::STATUS, Some(Status { r#type: "status", label, detail }));
    let what = StatusLabel::of_label(label);
    if what == Some(StatusLabel::Step) {
        // ACP tells tokens of turns only.
        return;
    }
    let aloud = severity(what).zip(detail);
    out.update(match (what, aloud) {
        (Some(StatusLabel::Compaction), _) if audience.compaction => compaction(item, detail, notes),
        (_, Some((severity, detail))) if audience.notices => {
            let notice = Notice::new(severity, label).description(detail.to_owned());
            SessionUpdate::Notice(notice.meta(notes.into_meta()))
        }
        // Without notices, thought is the one text that is no part of the answer.
        (_, Some((_, detail))) => speech::chunk(Speaker::Thought, &item.item_id, detail.into(), notes),
        (_, None) => silent(notes),
    });
}

/// How grave it is, for what a person should know of.
fn severity(what: Option<StatusLabel>) -> Option<NoticeSeverity> {
    match what? {
        StatusLabel::Warning | StatusLabel::MemoryLost => Some(NoticeSeverity::Warning),
        StatusLabel::ExtensionError => Some(NoticeSeverity::Error),
        StatusLabel::Compaction
        | StatusLabel::Retry
        | StatusLabel::Removed
        | StatusLabel::ModeChanged
        | StatusLabel::Hook
        | StatusLabel::Late
        | StatusLabel::ExtensionUi
        | StatusLabel::Step
        | StatusLabel::Reverted => None,
    }
}

fn compaction(item: &UniversalItem, detail: Option<&str>, notes: Notes) -> SessionUpdate {
    let failed = item.status == ItemStatus::Failed;
    let status = if failed { CompactionStatus::Failed } else { CompactionStatus::Completed };
    let update = CompactionUpdate::new(item.item_id.as_str().to_owned(), status).meta(notes.into_meta());
    let error = detail.filter(|_| failed).map(str::to_owned);
    SessionUpdate::CompactionUpdate(if failed { update.error(error) } else { update })
}

pub(super) fn unparsed(data: &AgentUnparsedData, out: &mut Out<'_>) {
    let unparsed =
        Unparsed { error: &data.error, location: &data.location, raw_hash: data.raw_hash.as_deref() };
    out.update(silent(Notes::default().with(meta::UNPARSED, Some(unparsed))));
}

/// The first start is what the answer of `session/new` tells; later ones say how much is remembered.
pub(super) fn session_started(data: &SessionStartedData, out: &mut Out<'_>) {
    let metadata = data.metadata.as_ref().filter(|metadata| metadata.resumed == Some(true));
    if let Some(metadata) = metadata {
        out.update(silent(Notes::default().with(meta::STARTED, Some(metadata))));
    }
}

pub(super) fn failed_outside_a_turn(data: &ErrorData, out: &mut Out<'_>) {
    let status = Status { r#type: "error", label: "error", detail: Some(&data.message) };
    out.update(silent(Notes::default().with(meta::STATUS, Some(status))));
}

/// An update that changes nothing, for what only `_meta` can say.
pub(super) fn silent(notes: Notes) -> SessionUpdate {
    SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().meta(notes.into_meta()))
}

//! Compaction as the protocol tells it: an activity while it runs, a status item, and its summary.
//!
//! Some agents tell it as a tool call, which their quirks name; here it becomes the same.

use std::collections::HashSet;

use agent_client_protocol_schema::v1::{CompactionStatus, ContentBlock, ToolCallStatus};
use omniglot_schema::{Activity, CommandInfo, ContentPart, StatePatch, StatusLabel};
use omniglot_timeline::{Body, ItemEnd, ItemKey, ItemStart, Outcome};

use super::Acp;
use super::output::{Piece, piece};
use super::update::{Chunk, CompactionFields, ToolFields};
use crate::contract::{Draft, DropReason, Output, Unparsed};
use crate::fault::unparsed;

/// ACP has no method for it; agents that can compact list a command.
pub fn compact_prompt(commands: &[CommandInfo]) -> Option<String> {
    let listed = |name: &str| commands.iter().any(|command| command.name == name);
    ["compact", "compress"].into_iter().find(|name| listed(name)).map(|name| format!("/{name}"))
}

#[derive(Debug, Default)]
pub(crate) struct Compactions {
    /// The calls that are compactions, by their native id.
    pub(crate) calls: HashSet<String>,
    running: HashSet<String>,
    /// Those whose summary is being told.
    summaries: HashSet<String>,
}

impl Acp {
    /// No compaction outlives its turn, whatever the agent leaves unsaid.
    pub(crate) fn compactions_end(&mut self, out: &mut Vec<Output>) {
        if !std::mem::take(&mut self.compactions.running).is_empty() {
            self.state(StatePatch { activity: Some(None), ..StatePatch::default() }, out);
        }
    }

    pub(crate) fn compaction(
        &mut self,
        compaction: CompactionFields,
        faults: &mut Vec<Unparsed>,
        out: &mut Vec<Output>,
    ) {
        let CompactionFields { id, status, summary, error } = compaction;
        let key = ItemKey(format!("compaction:{id}"));
        let running = status == CompactionStatus::InProgress;
        let activity = Some(running.then_some(Activity::Compacting));
        self.state(StatePatch { activity, ..StatePatch::default() }, out);
        if running {
            self.compactions.running.insert(id.clone());
            self.texts.interrupt(out);
            let body = compaction_status(None);
            out.push(Draft::ItemStarted(ItemStart { key, native_id: Some(id), parent: None, body }).into());
            return;
        }
        self.compactions.running.remove(&id);
        let (outcome, detail) = match status {
            CompactionStatus::Completed => (Outcome::Completed, None),
            CompactionStatus::Cancelled => (Outcome::Failed, Some("cancelled".to_owned())),
            CompactionStatus::InProgress | CompactionStatus::Failed | CompactionStatus::Other(_) | _ => {
                (Outcome::Failed, error)
            }
        };
        self.summarised(&id, summary, faults, out);
        out.push(
            Draft::ItemCompleted(ItemEnd { key, outcome, body: Some(compaction_status(detail)) }).into(),
        );
    }

    /// A call that is a compaction. Its status may come more than once.
    pub(crate) fn compaction_called(&mut self, call: ToolFields, out: &mut Vec<Output>) {
        self.compactions.calls.insert(call.id.clone());
        let status = match call.status {
            Some(ToolCallStatus::InProgress) => CompactionStatus::InProgress,
            Some(ToolCallStatus::Completed) => CompactionStatus::Completed,
            Some(ToolCallStatus::Failed) => CompactionStatus::Failed,
            // Not begun yet, or more about one that has ended.
            _ => return out.push(Output::dropped(DropReason::Superseded)),
        };
        let fields = CompactionFields { id: call.id, status, summary: vec![], error: None };
        self.compaction(fields, &mut Vec::new(), out);
    }

    /// The summary is text that the agent puts into the conversation: a system item.
    fn summarised(
        &mut self,
        id: &str,
        summary: Vec<ContentBlock>,
        faults: &mut Vec<Unparsed>,
        out: &mut Vec<Output>,
    ) {
        let mut parts = Vec::new();
        for block in summary {
            match piece(block) {
                Ok(Piece::Text(text)) => parts.push(ContentPart::Text { text }),
                Ok(Piece::Part(part)) => parts.push(part),
                Err(fault) => faults.push(fault),
            }
        }
        let body = (!parts.is_empty()).then_some(Body::System { parts });
        let streamed = self.compactions.summaries.remove(id);
        if body.is_some() || streamed {
            let key = ItemKey(format!("summary:{id}"));
            out.push(Draft::ItemCompleted(ItemEnd { key, outcome: Outcome::Completed, body }).into());
        }
    }

    pub(crate) fn compaction_summary(
        &mut self,
        id: &str,
        text: &Chunk<'_>,
        faults: &mut Vec<Unparsed>,
        out: &mut Vec<Output>,
    ) {
        let delta = match text.content().and_then(piece) {
            Ok(Piece::Text(text)) => text,
            Ok(Piece::Part(_)) => return faults.push(unparsed("compaction_summary_chunk", "not text")),
            Err(fault) => return faults.push(fault),
        };
        let key = ItemKey(format!("summary:{id}"));
        if self.compactions.summaries.insert(id.to_owned()) {
            let body = Body::System { parts: vec![] };
            let start = ItemStart { key: key.clone(), native_id: Some(id.to_owned()), parent: None, body };
            out.push(Draft::ItemStarted(start).into());
        }
        out.push(Draft::ItemDelta { key, delta }.into());
    }
}

fn compaction_status(detail: Option<String>) -> Body {
    Body::Status { label: StatusLabel::Compaction, detail }
}

//! Compaction as the protocol tells it: an activity while it runs, a status item, and its summary.
//!
//! Agents that tell it in other ways (a tool call, plain text) are taken at their word.

use agent_client_protocol_schema::v1::{CompactionStatus, ContentBlock};
use omniglot_schema::{Activity, CommandInfo, ContentPart, StatePatch, StatusLabel};
use omniglot_timeline::{Body, ItemEnd, ItemKey, ItemStart, Outcome};

use super::Acp;
use super::output::{Piece, piece};
use super::update::{Chunk, CompactionFields};
use super::wire::unparsed;
use crate::contract::{Draft, Output, Unparsed};

/// ACP has no method for it; agents that can compact list a command.
pub fn compact_prompt(commands: &[CommandInfo]) -> Option<String> {
    let listed = |name: &str| commands.iter().any(|command| command.name == name);
    ["compact", "compress"].into_iter().find(|name| listed(name)).map(|name| format!("/{name}"))
}

impl Acp {
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
            self.texts.interrupt(out);
            let body = compaction_status(None);
            out.push(Draft::ItemStarted(ItemStart { key, native_id: Some(id), parent: None, body }).into());
            return;
        }
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
        let streamed = self.summaries.remove(id);
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
        if self.summaries.insert(id.to_owned()) {
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

//! The fields of an event that hold ids which the daemon has made.

use crate::event::EventData;
use crate::item::{ContentPart, UniversalItem};
use crate::request::RequestMetadata;

impl EventData {
    /// Calls `visit` with every id of an item, call, turn or request. Ids of messages and of agents are left out.
    pub fn visit_ids(&mut self, visit: &mut dyn FnMut(&mut String)) {
        match self {
            Self::TurnStarted(data) => visit(&mut data.turn_id.0),
            Self::TurnEnded(data) => visit(&mut data.turn_id.0),
            Self::ItemStarted(data) | Self::ItemCompleted(data) => item(&mut data.item, visit),
            Self::ItemDelta(data) => visit(&mut data.item_id.0),
            Self::PermissionRequested(data) | Self::PermissionResolved(data) => {
                visit(&mut data.permission_id.0);
                request(data.metadata.as_mut(), visit);
            }
            Self::QuestionRequested(data) | Self::QuestionResolved(data) => {
                visit(&mut data.question_id.0);
                request(data.metadata.as_mut(), visit);
            }
            Self::SessionUpdated(patch) => {
                let team = patch.team.iter_mut().flatten();
                team.flat_map(|team| &mut team.members)
                    .filter_map(|m| m.parent_item.as_mut())
                    .for_each(visit);
            }
            Self::SessionStarted(_) | Self::SessionEnded(_) | Self::Error(_) | Self::AgentUnparsed(_) => {}
        }
    }
}

fn item(item: &mut UniversalItem, visit: &mut dyn FnMut(&mut String)) {
    visit(&mut item.item_id.0);
    if let Some(parent) = &mut item.parent_id {
        visit(&mut parent.0);
    }
    for part in &mut item.content {
        if let ContentPart::ToolCall { call_id, .. } | ContentPart::ToolResult { call_id, .. } = part {
            visit(&mut call_id.0);
        }
    }
}

fn request(metadata: Option<&mut RequestMetadata>, visit: &mut dyn FnMut(&mut String)) {
    if let Some(item) = metadata.and_then(|metadata| metadata.item_id.as_mut()) {
        visit(&mut item.0);
    }
}

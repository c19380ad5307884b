//! The fields of an event that may name a blob: the images and diffs of its item or request, and the long lists of
//! its patch.

use crate::event::EventData;
use crate::item::ContentPart;
use crate::listed::{BlobRef, Listed};
use crate::state::StatePatch;

impl EventData {
    /// Calls `visit` with every path that may be a blob's; a returned path replaces it.
    pub fn visit_blob_paths(&mut self, visit: &mut dyn FnMut(&str) -> Option<String>) {
        match self {
            Self::ItemStarted(data) | Self::ItemCompleted(data) => {
                data.item.content.iter_mut().for_each(|part| part_path(part, visit));
            }
            Self::PermissionRequested(data) | Self::PermissionResolved(data) => {
                let files = data.metadata.iter_mut().flat_map(|metadata| &mut metadata.files);
                files.for_each(|part| part_path(part, visit));
            }
            Self::SessionUpdated(patch) => lists(patch, visit),
            Self::SessionStarted(_)
            | Self::SessionEnded(_)
            | Self::TurnStarted(_)
            | Self::TurnEnded(_)
            | Self::ItemDelta(_)
            | Self::Error(_)
            | Self::QuestionRequested(_)
            | Self::QuestionResolved(_)
            | Self::AgentUnparsed(_) => {}
        }
    }
}

fn part_path(part: &mut ContentPart, visit: &mut dyn FnMut(&str) -> Option<String>) {
    if let ContentPart::Image { path, .. } | ContentPart::FileRef { diff_blob: Some(path), .. } = part
        && let Some(other) = visit(path)
    {
        *path = other;
    }
}

fn lists(patch: &mut StatePatch, visit: &mut dyn FnMut(&str) -> Option<String>) {
    list(&mut patch.todos, visit);
    list(&mut patch.commands, visit);
    list(&mut patch.modes, visit);
    list(&mut patch.models, visit);
    list(&mut patch.queue, visit);
    list(&mut patch.subagents, visit);
}

fn list<T>(list: &mut Option<Option<Listed<T>>>, visit: &mut dyn FnMut(&str) -> Option<String>) {
    if let Some(Some(Listed::Blob(BlobRef { path }))) = list
        && let Some(other) = visit(path)
    {
        *path = other.into();
    }
}

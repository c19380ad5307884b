//! Gives the events of an imported session their new name: in the envelope, and in the paths of its blobs.
//!
//! Text of people and agents stays unchanged.

use omniglot_schema::{SessionId, UniversalEvent};

pub(super) fn rename(event: &mut UniversalEvent, id: &SessionId) {
    let old = std::mem::replace(&mut event.session_id, id.clone());
    if old != *id {
        let (old, new) = (blobs_of(&old), blobs_of(id));
        event.data.visit_blob_paths(&mut |path| path.strip_prefix(&old).map(|name| format!("{new}{name}")));
    }
}

fn blobs_of(session: &SessionId) -> String {
    format!("/v1/sessions/{session}/blobs/")
}

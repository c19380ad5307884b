//! The sessions whose frames a stream shows: all of them, unless the caller's token is limited.
//!
//! A stream of a limited token ends when labels change, so what was found out once stays true for its life.

use std::collections::HashMap;

use omniglot_runtime::{Hub, RuntimeError};
use omniglot_store::SessionNo;

use super::ring::{Frame, TokenName};

pub(crate) struct SeenSessions {
    hub: Hub,
    /// `None` when the caller sees every session.
    known: Option<HashMap<SessionNo, bool>>,
}

impl SeenSessions {
    pub(crate) async fn of(hub: Hub) -> Result<Self, RuntimeError> {
        let seen = hub.seen().await?;
        let known = seen.map(|seen| seen.into_iter().map(|session| (session, true)).collect());
        Ok(Self { hub, known })
    }

    /// Whether the caller may see this frame. One about no session is about the server.
    pub(crate) async fn shows(&mut self, frame: &Frame) -> bool {
        if frame.only_for.as_ref().is_some_and(|token| *token != TokenName::of(self.hub.caller())) {
            return false;
        }
        let (Some(known), Some(session)) = (&mut self.known, frame.session) else { return true };
        if let Some(seen) = known.get(&session) {
            return *seen;
        }
        let seen = matches!(self.hub.record_numbered(session).await, Ok(Some(_)));
        known.insert(session, seen);
        seen
    }
}

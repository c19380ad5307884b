//! The name of the thread: the title that a person gave to the session, and the command `/rename`.
//!
//! Codex trims a name and refuses an empty one.

use omniglot_schema::{StatePatch, StatusLabel, StopReason};
use omniglot_timeline::TurnEnd;
use serde_json::value::RawValue;

use super::wire::SetName;
use super::{Codex, OutboundRequest, dropped};
use crate::contract::{Draft, Output};
use crate::rpc::{RpcError, RpcId};

impl Codex {
    /// Returns the request that names the thread, unless the name is empty or no thread is open.
    pub(crate) fn rename(&mut self, title: &str) -> Option<(RpcId, Output)> {
        let thread_id = self.thread.id.clone()?;
        let name = Some(title.trim().to_owned()).filter(|name| !name.is_empty())?;
        Some(self.calls.request("thread/name/set", &SetName { thread_id, name }))
    }

    /// `/rename` is a turn or a part of the running one, and its title is a person's. A title that came otherwise is
    /// in the state already.
    pub(crate) fn name_sent(
        &mut self,
        id: RpcId,
        method: &str,
        params: &RawValue,
        out: &mut Vec<Output>,
    ) -> OutboundRequest {
        if !self.turns.commanded.contains_key(&id) {
            return OutboundRequest::Name;
        }
        let asked = self.turn_sent(id, method, params, out);
        let named: Option<SetName> = serde_json::from_str(params.get()).ok();
        let title = named.map(|named| Some(named.name));
        out.push(Draft::State(Box::new(StatePatch { title, ..StatePatch::default() })).into());
        let is_turn = matches!(asked, OutboundRequest::Turn);
        if is_turn { OutboundRequest::Rename } else { OutboundRequest::Name }
    }

    pub(crate) fn name_answered(&mut self, result: Result<&RawValue, RpcError>, out: &mut Vec<Output>) {
        match result {
            Ok(_) => out.push(dropped()),
            Err(error) => {
                let detail = format!("Codex refused the title: {}", error.shown());
                self.status(StatusLabel::Warning, Some(detail), out);
            }
        }
    }

    pub(crate) fn rename_answered(
        &mut self,
        id: &RpcId,
        result: Result<&RawValue, RpcError>,
        out: &mut Vec<Output>,
    ) {
        match result {
            Ok(_) => self.end_turn(TurnEnd::new(StopReason::EndTurn), out),
            Err(_) => self.turn_answered(id, result, out),
        }
    }
}

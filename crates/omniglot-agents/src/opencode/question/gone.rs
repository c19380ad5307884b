//! Requests that nobody here answers any more: their turn is stopped, or somebody else has answered them while
//! the event stream was cut. How, OpenCode keeps nowhere; what came of the call tells it.

use std::collections::HashSet;

use omniglot_schema::{PermissionStatus, ResolvedBy};
use omniglot_timeline::ItemKey;

use super::Kind;
use crate::contract::{Draft, Output, RequestKey};
use crate::opencode::OpenCode;
use crate::opencode::plan::HANDS_IN;
use crate::opencode::tool::Call;

impl OpenCode {
    /// The turn is stopped: nobody will answer.
    pub(crate) fn cancel_requests(&mut self, out: &mut Vec<Output>) {
        for (id, request) in std::mem::take(&mut self.requests.open) {
            self.resolve(id, request.kind, None, ResolvedBy::Cancel, out);
        }
    }

    /// Which requests of this kind the server still has; the others are gone.
    pub(crate) fn only_open(&mut self, kind: Kind, listed: &HashSet<String>) {
        let open =
            self.requests.open.iter().filter(|(id, request)| request.kind == kind && !listed.contains(*id));
        self.requests.gone.extend(open.map(|(id, _)| id.clone()));
    }

    /// Resolves requests whose answer was missed, by the result of their call.
    pub(crate) fn resolve_all_gone(&mut self, out: &mut Vec<Output>) {
        for id in self.requests.gone.iter().cloned().collect::<Vec<_>>() {
            self.resolve_if_known(id, out);
        }
    }

    /// A call has ended that may have waited for an answer that nobody heard.
    pub(crate) fn resolve_gone(&mut self, call: &ItemKey, out: &mut Vec<Output>) {
        let of_call = |id: &&String| {
            self.requests.open.get(*id).is_some_and(|request| request.call.as_ref() == Some(call))
        };
        for id in self.requests.gone.iter().filter(of_call).cloned().collect::<Vec<_>>() {
            self.resolve_if_known(id, out);
        }
    }

    fn resolve_if_known(&mut self, id: String, out: &mut Vec<Output>) {
        let Some(request) = self.requests.open.get(&id) else { return };
        let kind = request.kind;
        let call = request.call.as_ref().and_then(|key| self.calls.values().find(|call| call.key == *key));
        let accepted = match (kind, call) {
            (_, None) => None,
            (_, Some(call)) if call.has_failed() => None,
            (Kind::Permission, Some(_)) => Some(vec![]),
            // Its answers come with its end.
            (Kind::Question, Some(call)) if !call.is_done() => return,
            (Kind::Question, Some(call)) => call.answers.clone().or_else(|| approval(call)),
        };
        self.requests.gone.remove(&id);
        self.requests.open.shift_remove(&id);
        self.resolve(id, kind, accepted, ResolvedBy::Agent, out);
    }

    /// `accepted` holds the answers; to a permission there are none.
    fn resolve(
        &self,
        id: String,
        kind: Kind,
        accepted: Option<Vec<Vec<String>>>,
        by: ResolvedBy,
        out: &mut Vec<Output>,
    ) {
        let key = RequestKey(id);
        out.push(match kind {
            Kind::Permission => {
                let status =
                    if accepted.is_some() { PermissionStatus::Accept } else { PermissionStatus::Reject };
                Draft::PermissionResolved { key, status, by, message: None }.into()
            }
            Kind::Question => Draft::QuestionResolved { key, answers: accepted, by }.into(),
        });
    }
}

/// A plan is handed in by a question, and accepted in one way.
fn approval(call: &Call) -> Option<Vec<Vec<String>>> {
    (call.name == HANDS_IN).then(|| vec![vec!["Yes".to_owned()]])
}

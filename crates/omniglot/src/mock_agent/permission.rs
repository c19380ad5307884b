//! Asks the client whether a tool may run, and remembers an "always".
//!
//! Leaves waiting for the answer to `turn`, and what to do with it to `scripts`.

use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, Error, PermissionOption, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, ToolCallUpdate,
};

use super::scripts;
use super::session::Mode;
use super::turn::{Halt, Turn};

/// The client's decision on a tool call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Allowed,
    Rejected,
}

impl Turn<'_> {
    /// Asks whether a tool may run, unless the mode or an earlier "always" has answered already.
    pub(super) fn ask(&mut self, tool: &'static str, call: ToolCallUpdate) -> Result<Verdict, Halt> {
        let state = self.state()?;
        let free = match state.record.mode {
            Mode::Bypass => true,
            Mode::AcceptEdits => tool == scripts::edit::TOOL,
            Mode::Default | Mode::Plan => false,
        };
        if free || state.grants.contains(tool) {
            return Ok(Verdict::Allowed);
        }
        let request = RequestPermissionRequest::new(self.session.clone(), call, permission_options());
        let answer: Result<RequestPermissionResponse, Error> =
            self.call_client(CLIENT_METHOD_NAMES.session_request_permission, &request)?;
        self.judge(tool, answer)
    }

    fn judge(
        &mut self,
        tool: &'static str,
        answer: Result<RequestPermissionResponse, Error>,
    ) -> Result<Verdict, Halt> {
        match answer.map(|response| response.outcome) {
            // A client answers this only when it cancels the turn; its cancel may still be on the way.
            Ok(RequestPermissionOutcome::Cancelled) => Err(Halt::Cancelled),
            Ok(RequestPermissionOutcome::Selected(choice)) if &*choice.option_id.0 == ALLOW_ONCE => {
                Ok(Verdict::Allowed)
            }
            Ok(RequestPermissionOutcome::Selected(choice)) if &*choice.option_id.0 == ALLOW_ALWAYS => {
                self.state()?.grants.insert(tool);
                Ok(Verdict::Allowed)
            }
            // A client that does not know the method, or chooses an unknown option, has not allowed it.
            Ok(_) | Err(_) => Ok(Verdict::Rejected),
        }
    }
}

fn permission_options() -> Vec<PermissionOption> {
    vec![
        PermissionOption::new(ALLOW_ONCE, "Yes", PermissionOptionKind::AllowOnce),
        PermissionOption::new(ALLOW_ALWAYS, "Yes, always in this session", PermissionOptionKind::AllowAlways),
        PermissionOption::new("reject", "No", PermissionOptionKind::RejectOnce),
    ]
}

const ALLOW_ONCE: &str = "allow";
const ALLOW_ALWAYS: &str = "allow-always";

//! The gate: our extension asks before every tool that may change something, and the permission mode decides
//! whether a person is asked (T10, T11).

use omniglot_schema::{PermissionReply, PermissionStatus, ToolKind};
use omniglot_timeline::PermissionAsk;
use serde::Deserialize;

use super::outgoing::{Outgoing, Sent};
use super::requests::Details;
use super::tool::Call;
use super::wire::Dialog;
use super::{Pi, diff, dropped, mcp, send};
use crate::about::arguments;
use crate::contract::{Draft, DropReason, Output, RequestKey};
use crate::conversation::requests::options;
use crate::grant;

/// The key of the gate's own status.
pub(crate) const GATE_STATUS: &str = "omniglot-gate";
/// The beginning of the gate's questions; a JSON object follows.
const GATE_TITLE: &str = "omniglot-gate ";
const READY: &str = "ready";
const ALLOW: &str = "allow";
/// The reason that the model gets when the person gives none.
const REJECTED: &str = "The user rejected this.";
const PLANNING: &str = "The session only plans now: nothing may be changed.";

/// The call that the gate asks about.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GateAsk {
    tool_call_id: String,
    tool_name: String,
}

/// The content of a file that a call is about to write.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileBefore {
    tool_call_id: String,
    before: Option<String>,
}

/// Returns the call that the gate asks about, if this is the title of a dialog of the gate.
pub(crate) fn asked(title: &str) -> Option<GateAsk> {
    serde_json::from_str(title.strip_prefix(GATE_TITLE)?).ok()
}

pub(crate) fn answer(reply: PermissionReply, message: Option<&str>) -> Outgoing {
    Outgoing::value(match reply {
        PermissionReply::Once | PermissionReply::Always => ALLOW.to_owned(),
        PermissionReply::Reject => message.filter(|words| !words.is_empty()).unwrap_or(REJECTED).to_owned(),
    })
}

/// Returns the status of an answer as it was sent.
pub(crate) fn status(answer: &Outgoing) -> PermissionStatus {
    let allowed =
        matches!(answer, Outgoing::ExtensionUiResponse { value: Some(value), .. } if value == ALLOW);
    if allowed { PermissionStatus::Accept } else { PermissionStatus::Reject }
}

impl Pi {
    pub(crate) fn gate_says(&mut self, dialog: &Dialog, out: &mut Vec<Output>) {
        let words = dialog.status_text.as_deref().unwrap_or_default();
        if words == READY {
            self.session.gate_is_ready = true;
        } else if let Ok(FileBefore { tool_call_id, before }) = serde_json::from_str(words)
            && let Some(call) = self.tools.get_mut(&tool_call_id)
        {
            call.before = Some(before);
        } else if let Ok(registered) = serde_json::from_str::<mcp::Registered>(words) {
            self.servers_registered(registered, out);
        }
        dropped(DropReason::Internal, out);
    }

    pub(crate) fn gate_asks(&mut self, id: String, ask: &GateAsk, out: &mut Vec<Output>) {
        let call = self.tools.get_mut(&ask.tool_call_id);
        let is_edit = call.as_ref().is_some_and(|call| call.about().kind == ToolKind::Edit);
        let decided = match self.settings.permission_mode.as_deref() {
            Some("bypass") => Some(ALLOW),
            Some("acceptEdits") if is_edit => Some(ALLOW),
            Some("plan") => Some(PLANNING),
            _ => None,
        };
        if let Some(value) = decided {
            send(&Sent { id: Some(id), body: Outgoing::value(value.to_owned()) }, out);
            return dropped(DropReason::Internal, out);
        }
        let ask = permission(call.as_deref(), &ask.tool_name, &id);
        let key = self.requests.add(id, Details::Permission);
        out.push(Draft::PermissionRequested(PermissionAsk { key, ..ask }).into());
    }
}

/// An `always` covers the same command with the same further arguments, or the same file; of other tools the same
/// arguments.
fn permission(call: Option<&Call>, tool: &str, id: &str) -> PermissionAsk {
    let about = call.map(Call::about);
    let subject = about.as_ref().map(|about| &about.subject);
    let named = subject.and_then(|subject| {
        subject.command.clone().or_else(|| subject.paths.first().map(|file| file.path.clone()))
    });
    let whole = call.map(|call| call.arguments.clone());
    let pattern = match subject.and_then(|subject| subject.command.clone()) {
        Some(command) => {
            let input = arguments(whole.as_deref().unwrap_or_default());
            Some(grant::pattern(command, &input, None, &[]))
        }
        None => named.clone().or(whole),
    };
    PermissionAsk {
        key: RequestKey(String::new()),
        native_id: Some(id.into()),
        action: named.map_or_else(|| tool.to_owned(), |named| format!("{tool}: {named}")),
        call: call.map(|call| call.key.clone()),
        tool: Some(tool.to_owned()),
        pattern,
        options: options([
            ("once", "Allow once"),
            ("always", "Allow the same in this session"),
            ("reject", "Reject"),
        ]),
        files: call.map(diff::asked).unwrap_or_default(),
        detail: None,
        kind: about.as_ref().map(|about| about.kind),
        subject: about.and_then(|about| about.subject.boxed()),
    }
}

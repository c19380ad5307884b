//! Approvals: what the server wants to do, what a person may say to it, and what was said (T10, T11).
//!
//! The action is the command, the files or the rights themselves. The model's reason is a detail: whoever sees the
//! action alone must not be shown a sentence in its place.

use omniglot_schema::{ContentPart, PermissionReply, PermissionStatus, ResolvedBy, ToolKind};
use omniglot_timeline::{ItemKey, PermissionAsk};
use serde_json::Value;
use serde_json::value::RawValue;

use super::requests::{AskingTool, Details, Kind, OpenRequest, action};
use super::tool::unnamed;
use super::wire::{
    CommandApproval, Decision, DecisionAnswer, Elicitation, ElicitationAnswer, FileApproval,
    PermissionsAnswer, PermissionsApproval, PersistMeta,
};
use super::{Codex, dropped, tool_kinds};
use crate::about::About;
use crate::contract::{Draft, Output};
use crate::conversation::requests::options;
use crate::form::Content;
use crate::grant;
use crate::rpc::{self, RpcId, send};

impl Codex {
    pub(crate) fn ask_command(&mut self, id: RpcId, ask: CommandApproval, out: &mut Vec<Output>) {
        let asked = self.tools.asked(&ask.thread_id, &ask.item_id);
        let mut about = tool_kinds::command_line(ask.command.clone());
        if ask.network_approval_context.is_some() || ask.additional_permissions.is_some() {
            // More is asked for than to run the command.
            about.kind = ToolKind::Other;
        }
        let circumstances = [
            ("cwd", ask.cwd.clone().map(Value::from)),
            ("additional_permissions", ask.additional_permissions.clone()),
        ];
        let circumstances =
            circumstances.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let (circumstances, directory) = (circumstances.collect(), self.thread.cwd.to_str());
        let CommandApproval { reason, command, network_approval_context: network, .. } = ask;
        let (action, pattern, detail) = match (network.map(|context| context.to_string()), command) {
            (Some(network), command) => {
                let lines: Vec<String> = reason.into_iter().chain(command).collect();
                let detail = (!lines.is_empty()).then(|| lines.join("\n"));
                (format!("use the network: {network}"), Some(network), detail)
            }
            (None, Some(command)) => {
                let pattern = grant::pattern(command.clone(), &circumstances, directory, &[]);
                (command, Some(pattern), reason)
            }
            (None, None) => ("run a command".to_owned(), None, reason),
        };
        let tool = asked.as_ref().map_or_else(|| "shell".to_owned(), |asked| asked.name.clone());
        let call = asked.map(|asked| asked.call);
        let wanted = Wanted { action, detail, tool, pattern, call, files: vec![], about };
        self.ask(id, Kind::Approval, None, wanted, out);
    }

    /// In the mode that accepts edits nobody is asked.
    pub(crate) fn ask_patch(&mut self, id: RpcId, ask: FileApproval, out: &mut Vec<Output>) {
        if self.thread.settings.permission.is_some_and(|mode| mode.takes_patches) {
            out.push(send(rpc::answer(&id, &DecisionAnswer { decision: Decision::Accept })));
            return out.push(dropped());
        }
        let asked = self.tools.asked(&ask.thread_id, &ask.item_id);
        let files = asked.as_ref().map(|asked| asked.files.clone()).unwrap_or_default();
        let paths: Vec<&str> = files.iter().filter_map(path_of).collect();
        let pattern = (!paths.is_empty()).then(|| paths.join(", "));
        let action = format!("change {}", pattern.as_deref().unwrap_or("files"));
        let call = asked.map(|asked| asked.call);
        let (about, tool) = (About::of(tool_kinds::kind("apply_patch")), "apply_patch".to_owned());
        let wanted = Wanted { action, detail: ask.reason, tool, pattern, call, files, about };
        self.ask(id, Kind::Approval, None, wanted, out);
    }

    pub(crate) fn ask_permissions(&mut self, id: RpcId, ask: PermissionsApproval, out: &mut Vec<Output>) {
        let call = unnamed::permissions(&ask);
        let about = call.about.clone();
        let asking = self.asking_tool(ask.thread_id, ask.item_id, call, out);
        let pattern = ask.permissions.to_string();
        let action = format!("more permissions: {pattern}");
        let tool = "request_permissions".to_owned();
        let call = asking.as_ref().map(|asking| asking.call.clone());
        let (detail, pattern) = (ask.reason, Some(pattern));
        let wanted = Wanted { action, detail, tool, pattern, call, files: vec![], about };
        self.ask(id, Kind::Permissions(ask.permissions), asking, wanted, out);
    }

    pub(crate) fn ask_mcp_tool(&mut self, id: RpcId, ask: Elicitation, out: &mut Vec<Output>) {
        let asked = self.tools.asked_by_server(ask.thread_id.as_deref(), &ask.server_name);
        let tool =
            asked.as_ref().map_or_else(|| format!("mcp__{}", ask.server_name), |asked| asked.name.clone());
        let action = format!("run {tool}");
        let persists = ask.meta.unwrap_or_default().persists();
        let (pattern, call) = (Some(tool.clone()), asked.map(|asked| asked.call));
        let about = tool_kinds::mcp(&ask.server_name);
        let wanted = Wanted { action, detail: ask.message, tool, pattern, call, files: vec![], about };
        self.ask(id, Kind::McpTool { persists }, None, wanted, out);
    }

    fn ask(
        &mut self,
        id: RpcId,
        kind: Kind,
        asking: Option<AskingTool>,
        wanted: Wanted,
        out: &mut Vec<Output>,
    ) {
        let native_id = serde_json::to_value(&id).ok();
        let key = self.requests.add(id, Details { kind, tool: asking });
        let Wanted { action, detail, tool, pattern, call, files, about } = wanted;
        let ask = PermissionAsk {
            key,
            native_id,
            action,
            call,
            tool: Some(tool),
            pattern,
            // Codex takes these, whatever it lists. A rule for all sessions of the user is not offered.
            options: options([
                ("accept", "Allow once"),
                ("acceptForSession", "Allow for this session"),
                ("decline", "Reject"),
            ]),
            files,
            detail,
            kind: Some(about.kind),
            subject: about.subject.boxed(),
        };
        out.push(Draft::PermissionRequested(ask).into());
    }
}

impl OpenRequest {
    pub(crate) fn permit(&self, reply: PermissionReply) -> Output {
        match &self.details.kind {
            Kind::Permissions(asked) => {
                let granted = match reply {
                    PermissionReply::Reject => Value::Object(serde_json::Map::new()),
                    PermissionReply::Once | PermissionReply::Always => asked.clone(),
                };
                let scope = if reply == PermissionReply::Always { "session" } else { "turn" };
                self.send(&PermissionsAnswer { permissions: granted, scope: scope.to_owned() })
            }
            Kind::McpTool { persists } => self.send(&match reply {
                PermissionReply::Reject => action("decline"),
                PermissionReply::Once | PermissionReply::Always => ElicitationAnswer {
                    content: Some(Content::new()),
                    meta: (reply == PermissionReply::Always && *persists)
                        .then(|| PersistMeta { persist: Some("session".to_owned()) }),
                    ..action("accept")
                },
            }),
            Kind::Approval | Kind::Questions(_) | Kind::Form(_) => self.send(&DecisionAnswer {
                decision: match reply {
                    PermissionReply::Once => Decision::Accept,
                    PermissionReply::Always => Decision::AcceptForSession,
                    PermissionReply::Reject => Decision::Decline,
                },
            }),
        }
    }

    /// Returns the decision in an answer of ours; in a recording the wire is all there is.
    pub(crate) fn verdict(&self, raw: &RawValue) -> (PermissionStatus, ResolvedBy) {
        use PermissionStatus::{Accept, AcceptForSession, Reject};
        let accepted = |lasts: bool| if lasts { AcceptForSession } else { Accept };
        let person = |status| (status, ResolvedBy::Person);
        match &self.details.kind {
            Kind::Permissions(_) => match serde_json::from_str::<PermissionsAnswer>(raw.get()) {
                Ok(answer) if answer.permissions.as_object().is_some_and(|granted| !granted.is_empty()) => {
                    person(accepted(answer.scope == "session"))
                }
                _ => person(Reject),
            },
            Kind::McpTool { .. } => match serde_json::from_str::<ElicitationAnswer>(raw.get()) {
                Ok(answer) if answer.action == "accept" => {
                    person(accepted(answer.meta.and_then(|meta| meta.persist).is_some()))
                }
                Ok(answer) if answer.action == "cancel" => (Reject, ResolvedBy::Cancel),
                _ => person(Reject),
            },
            Kind::Approval | Kind::Questions(_) | Kind::Form(_) => {
                match serde_json::from_str::<DecisionAnswer>(raw.get()).map(|answer| answer.decision) {
                    Ok(Decision::Accept) => person(Accept),
                    Ok(
                        Decision::AcceptForSession
                        | Decision::AcceptWithExecpolicyAmendment(_)
                        | Decision::ApplyNetworkPolicyAmendment(_),
                    ) => person(AcceptForSession),
                    Ok(Decision::Cancel) => (Reject, ResolvedBy::Cancel),
                    Ok(Decision::Decline) | Err(_) => person(Reject),
                }
            }
        }
    }
}

/// The action that a permission is requested for.
struct Wanted {
    action: String,
    /// Why, in the model's words.
    detail: Option<String>,
    tool: String,
    pattern: Option<String>,
    call: Option<ItemKey>,
    files: Vec<ContentPart>,
    about: About,
}

fn path_of(part: &ContentPart) -> Option<&str> {
    if let ContentPart::FileRef { path, .. } = part { Some(path) } else { None }
}

//! What the server asks a person, and our answers (T10): approvals here, questions in `question`.
//!
//! A request is resolved when its answer was really sent, or when the server says that it needs none.

use omniglot_schema::{ContentPart, PermissionOption, PermissionReply, PermissionStatus, ResolvedBy};
use omniglot_timeline::PermissionAsk;
use serde_json::Value;
use serde_json::value::RawValue;

use super::wire::{
    Ask, CommandApproval, Decision, DecisionAnswer, Elicitation, ElicitationAnswer, FileApproval,
    PermissionsAnswer, PermissionsApproval, PersistMeta, UserQuestion,
};
use super::{Codex, dropped};
use crate::contract::{Draft, DropReason, Output, RequestKey};
use crate::fault::unparsed;
use crate::form::{Content, Form};
use crate::rpc::{self, Asks, RpcError, RpcId, send};

/// The requests that wait for an answer of ours.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    open: Asks<OpenRequest>,
}

#[derive(Debug)]
pub(crate) struct OpenRequest {
    pub(crate) id: RpcId,
    pub(crate) kind: Kind,
    /// What the person said, until the answer is really sent.
    reply: Option<(PermissionReply, Option<String>)>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// Of a command or a patch.
    Approval,
    /// More rights; what was asked for is what is granted.
    Permissions(Value),
    /// Of a tool of an MCP server, asked as a form without fields.
    McpTool {
        persists: bool,
    },
    Questions(Vec<UserQuestion>),
    Form(Form),
}

impl Requests {
    pub(crate) fn add(&mut self, id: RpcId, kind: Kind) -> RequestKey {
        self.open.add(OpenRequest { id, kind, reply: None })
    }

    pub(crate) fn is_open(&self, key: &RequestKey) -> bool {
        self.open.get(key).is_some()
    }

    /// The answer to give, or nothing if the request is no longer open.
    pub(crate) fn reply(
        &mut self,
        key: &RequestKey,
        reply: PermissionReply,
        message: Option<String>,
    ) -> Option<Output> {
        let open = self.open.get_mut(key)?;
        open.reply = Some((reply, message));
        Some(open.permit(reply))
    }

    pub(crate) fn answer(&self, key: &RequestKey, answers: Option<&[Vec<String>]>) -> Option<Output> {
        Some(self.open.get(key)?.answer(answers))
    }

    /// Whether its turn would go on with whatever is answered.
    pub(crate) fn would_go_on(&self, key: &RequestKey) -> bool {
        self.open.get(key).is_some_and(|open| !matches!(open.kind, Kind::Approval))
    }

    /// The request was resolved over the server's head. Its turn is being cancelled, so this cancels, too; the
    /// interrupt itself closes a question, for which there is no such answer.
    pub(crate) fn withdraw(&self, key: &RequestKey) -> Option<Output> {
        let open = self.open.get(key)?;
        match &open.kind {
            Kind::Approval => Some(open.send(&DecisionAnswer { decision: Decision::Cancel })),
            Kind::Permissions(_) => Some(open.permit(PermissionReply::Reject)),
            Kind::McpTool { .. } | Kind::Form(_) => Some(open.send(&action("cancel"))),
            Kind::Questions(_) => None,
        }
    }
}

impl rpc::Ask for OpenRequest {
    fn id(&self) -> &RpcId {
        &self.id
    }
}

impl OpenRequest {
    pub(crate) fn send(&self, result: &impl serde::Serialize) -> Output {
        send(rpc::answer(&self.id, result))
    }

    fn permit(&self, reply: PermissionReply) -> Output {
        match &self.kind {
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

    /// What an answer of ours says; in a recording the wire is all there is.
    fn verdict(&self, raw: &RawValue) -> (PermissionStatus, ResolvedBy) {
        use PermissionStatus::{Accept, AcceptForSession, Reject};
        let always = matches!(self.reply, Some((PermissionReply::Always, _)));
        let accepted = |lasts: bool| if lasts || always { AcceptForSession } else { Accept };
        let person = |status| (status, ResolvedBy::Person);
        match &self.kind {
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
                    Ok(Decision::Accept) => person(accepted(false)),
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

pub(crate) fn action(action: &str) -> ElicitationAnswer {
    ElicitationAnswer { action: action.to_owned(), content: None, meta: None }
}

impl Codex {
    pub(crate) fn requested(&mut self, id: RpcId, method: &str, params: &RawValue, out: &mut Vec<Output>) {
        match Ask::parse(method, params) {
            Ok(Ask::Command(ask)) => self.ask_command(id, ask, out),
            Ok(Ask::FileChange(ask)) => self.ask_patch(id, ask, out),
            Ok(Ask::Permissions(ask)) => self.ask_permissions(id, ask, out),
            Ok(Ask::UserInput(ask)) => self.ask_questions(id, ask.questions, out),
            Ok(Ask::Elicitation(ask)) if is_approval(&ask) => self.ask_mcp_tool(id, ask, out),
            Ok(Ask::Elicitation(ask)) => self.ask_form(id, ask, out),
            Ok(Ask::Unserved) => {
                out.push(send(rpc::refusal(&id, &RpcError::not_served(method))));
                out.push(Output::Unparsed(unparsed(method, "a request that we do not serve")));
            }
            Err(fault) => {
                out.push(send(rpc::refusal(&id, &RpcError::not_served(method))));
                out.push(Output::Unparsed(fault));
            }
        }
    }

    fn ask_command(&mut self, id: RpcId, ask: CommandApproval, out: &mut Vec<Output>) {
        let asked = self.tools.asked(&ask.thread_id, &ask.item_id);
        let network = ask.network_approval_context.map(|context| context.to_string());
        let pattern = network.or(ask.command);
        let action = ask.reason.or_else(|| pattern.clone()).unwrap_or_else(|| "run a command".to_owned());
        let tool = asked.as_ref().map_or_else(|| "shell".to_owned(), |asked| asked.name.clone());
        let call = asked.map(|asked| asked.call);
        let wanted = Wanted { action, tool, pattern, call, files: vec![] };
        self.ask(id, Kind::Approval, wanted, out);
    }

    /// In the mode that accepts edits nobody is asked.
    fn ask_patch(&mut self, id: RpcId, ask: FileApproval, out: &mut Vec<Output>) {
        if self.thread.settings.permission.is_some_and(|mode| mode.takes_patches) {
            out.push(send(rpc::answer(&id, &DecisionAnswer { decision: Decision::Accept })));
            return out.push(dropped());
        }
        let asked = self.tools.asked(&ask.thread_id, &ask.item_id);
        let files = asked.as_ref().map(|asked| asked.files.clone()).unwrap_or_default();
        let paths: Vec<&str> = files.iter().filter_map(path_of).collect();
        let pattern = (!paths.is_empty()).then(|| paths.join(", "));
        let change = || format!("change {}", pattern.as_deref().unwrap_or("files"));
        let action = ask.reason.unwrap_or_else(change);
        let call = asked.map(|asked| asked.call);
        let wanted = Wanted { action, tool: "apply_patch".to_owned(), pattern, call, files };
        self.ask(id, Kind::Approval, wanted, out);
    }

    fn ask_permissions(&mut self, id: RpcId, ask: PermissionsApproval, out: &mut Vec<Output>) {
        let pattern = ask.permissions.to_string();
        let action = ask.reason.unwrap_or_else(|| format!("more permissions: {pattern}"));
        let tool = "request_permissions".to_owned();
        let wanted = Wanted { action, tool, pattern: Some(pattern), call: None, files: vec![] };
        self.ask(id, Kind::Permissions(ask.permissions), wanted, out);
    }

    fn ask_mcp_tool(&mut self, id: RpcId, ask: Elicitation, out: &mut Vec<Output>) {
        let asked = self.tools.asked_by_server(ask.thread_id.as_deref(), &ask.server_name);
        let tool =
            asked.as_ref().map_or_else(|| format!("mcp__{}", ask.server_name), |asked| asked.name.clone());
        let action = ask.message.unwrap_or_else(|| format!("run {tool}"));
        let persists = ask.meta.unwrap_or_default().persists();
        let (pattern, call) = (Some(tool.clone()), asked.map(|asked| asked.call));
        self.ask(id, Kind::McpTool { persists }, Wanted { action, tool, pattern, call, files: vec![] }, out);
    }

    fn ask(&mut self, id: RpcId, kind: Kind, wanted: Wanted, out: &mut Vec<Output>) {
        let native_id = serde_json::to_value(&id).ok();
        let key = self.requests.add(id, kind);
        let Wanted { action, tool, pattern, call, files } = wanted;
        let options = options();
        let tool = Some(tool);
        let ask = PermissionAsk { key, native_id, action, call, tool, pattern, options, files, detail: None };
        out.push(Draft::PermissionRequested(ask).into());
    }

    /// One of our answers went out: its request is resolved.
    pub(crate) fn answer_sent(
        &mut self,
        id: &RpcId,
        result: Result<&RawValue, RpcError>,
        out: &mut Vec<Output>,
    ) {
        let Some((key, open)) = self.requests.open.take(id) else { return };
        if matches!(open.kind, Kind::Questions(_) | Kind::Form(_)) {
            return out.push(open.answered(key, result));
        }
        let (status, by) = match result {
            Ok(raw) => open.verdict(raw),
            Err(_) => (PermissionStatus::Reject, ResolvedBy::Person),
        };
        if by == ResolvedBy::Cancel {
            // To cancel an approval is to interrupt its turn.
            self.turns.cancel_sent();
        }
        let message = open.reply.and_then(|(_, message)| message);
        out.push(Draft::PermissionResolved { key, status, by, message }.into());
    }

    /// The server needs no answer any more. It says so of every request, also after our answer.
    pub(crate) fn request_resolved(&mut self, id: &RpcId, out: &mut Vec<Output>) {
        let by = if self.turns.is_cancelled() { ResolvedBy::Cancel } else { ResolvedBy::Agent };
        let Some((key, open)) = self.requests.open.take(id) else {
            return out.push(Output::Dropped { reason: DropReason::Echo });
        };
        out.push(match open.kind {
            Kind::Questions(_) | Kind::Form(_) => Draft::QuestionResolved { key, answers: None, by }.into(),
            Kind::Approval | Kind::Permissions(_) | Kind::McpTool { .. } => {
                let status = PermissionStatus::Reject;
                Draft::PermissionResolved { key, status, by, message: None }.into()
            }
        });
    }
}

/// What a permission is asked for.
struct Wanted {
    action: String,
    tool: String,
    pattern: Option<String>,
    call: Option<omniglot_timeline::ItemKey>,
    files: Vec<ContentPart>,
}

fn is_approval(ask: &Elicitation) -> bool {
    ask.meta.as_ref().is_some_and(|meta| meta.codex_approval_kind.as_deref() == Some("mcp_tool_call"))
}

fn path_of(part: &ContentPart) -> Option<&str> {
    if let ContentPart::FileRef { path, .. } = part { Some(path) } else { None }
}

/// What Codex takes as an answer, whatever it lists. A rule for all sessions of the user is not offered.
fn options() -> Vec<PermissionOption> {
    let option = |id: &str, name: &str, kind: &str| PermissionOption {
        id: id.to_owned(),
        name: name.to_owned(),
        kind: kind.to_owned(),
    };
    vec![
        option("accept", "Allow once", "allow_once"),
        option("acceptForSession", "Allow for this session", "allow_always"),
        option("decline", "Reject", "reject_once"),
    ]
}

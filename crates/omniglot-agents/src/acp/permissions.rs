//! Permission requests of the agent, and our answers to them (T10).
//!
//! Which option an answer picks is left to `choices`, and what an `always` covers to `tool::grant`.

mod choices;

use agent_client_protocol_schema::v1::{
    PermissionOption as WireOption, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionResponse, SelectedPermissionOutcome,
};
use omniglot_schema::{PermissionReply, PermissionStatus, ResolvedBy, StatusLabel};
use omniglot_timeline::PermissionAsk;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Acp;
use super::tool::Mention;
use super::update::ToolFields;
use super::wire::entries;
use crate::contract::{Draft, Output, RequestKey, StreamOutput, Unparsed, decode};
use crate::rpc::{self, InboundRequest, InboundRequests, RpcError, RpcId, send};
use choices::Choices;

/// The requests that wait for an answer of ours.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    open: InboundRequests<OpenRequest>,
}

#[derive(Debug)]
struct OpenRequest {
    id: RpcId,
    choices: Choices,
    /// The Timeline can remember an `always`.
    grantable: bool,
    /// The person's reply, until the answer is sent.
    reply: Option<(PermissionReply, Option<String>)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    #[serde(borrow)]
    tool_call: &'a RawValue,
    #[serde(borrow)]
    options: &'a RawValue,
}

impl Requests {
    fn add(&mut self, id: RpcId, choices: Choices, grantable: bool) -> RequestKey {
        self.open.add(OpenRequest { id, choices, grantable, reply: None })
    }

    pub(crate) fn is_open(&self, id: &RpcId) -> bool {
        self.open.is_open(id)
    }

    /// The answer to give, or nothing if the request is no longer open.
    fn reply(
        &mut self,
        key: &RequestKey,
        reply: PermissionReply,
        message: Option<String>,
    ) -> Option<(RpcId, RequestPermissionOutcome)> {
        let open = self.open.get_mut(key)?;
        open.reply = Some((reply, message));
        let outcome = match open.choices.pick(reply) {
            Some(option) => {
                let id = option.option_id.clone();
                RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id))
            }
            None => RequestPermissionOutcome::Cancelled,
        };
        Some((open.id.clone(), outcome))
    }

    pub(crate) fn withdraw(&self, key: &RequestKey) -> Option<Output> {
        let open = self.open.get(key)?;
        Some(answer(&open.id, RequestPermissionOutcome::Cancelled))
    }

    /// An answer went to the agent: the request is resolved.
    pub(crate) fn answered(
        &mut self,
        id: &RpcId,
        result: Result<&RawValue, RpcError>,
        out: &mut Vec<Output>,
    ) {
        let Some((key, open)) = self.open.take(id) else { return };
        let chosen =
            result.ok().and_then(|raw| serde_json::from_str::<RequestPermissionResponse>(raw.get()).ok());
        let (status, by) = match chosen.map(|response| response.outcome) {
            Some(RequestPermissionOutcome::Selected(selected)) => {
                (open.status_of(&selected), ResolvedBy::Person)
            }
            // Without an option to say no, a person's `reject` goes out as `cancelled`, too.
            _ if open.reply.is_some() => (PermissionStatus::Reject, ResolvedBy::Person),
            _ => (PermissionStatus::Reject, ResolvedBy::Cancel),
        };
        let message = open.reply.and_then(|(_, message)| message);
        out.push(Draft::PermissionResolved { key, status, by, message }.into());
    }

    /// The agent no longer wants an answer, but the protocol still asks for one.
    pub(crate) fn cancelled(&mut self, id: &RpcId, by: ResolvedBy, out: &mut Vec<Output>) -> bool {
        let Some((key, open)) = self.open.take(id) else { return false };
        out.push(answer(&open.id, RequestPermissionOutcome::Cancelled));
        let status = PermissionStatus::Reject;
        out.push(Draft::PermissionResolved { key, status, by, message: None }.into());
        true
    }
}

impl InboundRequest for OpenRequest {
    fn id(&self) -> &RpcId {
        &self.id
    }
}

impl OpenRequest {
    fn status_of(&self, selected: &SelectedPermissionOutcome) -> PermissionStatus {
        // Told `once` for want of a lasting option, a person's `always` is still a grant if we can keep it.
        let always = self.grantable && matches!(self.reply, Some((PermissionReply::Always, _)));
        match self.choices.by_id(&selected.option_id).map(|option| option.kind) {
            Some(PermissionOptionKind::AllowOnce) if always => PermissionStatus::AcceptForSession,
            Some(PermissionOptionKind::AllowOnce) => PermissionStatus::Accept,
            Some(PermissionOptionKind::AllowAlways) => PermissionStatus::AcceptForSession,
            _ => PermissionStatus::Reject,
        }
    }
}

fn answer(id: &RpcId, outcome: RequestPermissionOutcome) -> Output {
    send(rpc::answer(id, &RequestPermissionResponse::new(outcome)))
}

impl Acp {
    /// `session/request_permission`: often the first that is heard of a call.
    pub(crate) fn permission_requested(&mut self, id: RpcId, params: &RawValue, out: &mut Vec<Output>) {
        let mut faults = Vec::new();
        match read(params, &mut faults) {
            Ok((call, options)) => self.ask(id, call, options, out),
            Err(fault) => {
                let error = RpcError::new(RpcError::INVALID_PARAMS, fault.error.clone());
                out.push(send(rpc::refusal(&id, &error)));
                faults.push(fault);
            }
        }
        out.extend(faults.into_iter().map(Output::unparsed));
    }

    fn ask(&mut self, id: RpcId, call: ToolFields, options: Vec<WireOption>, out: &mut Vec<Output>) {
        self.session.replaying = false;
        self.texts.interrupt(out);
        let call_id = call.id.clone();
        let mut said = Vec::new();
        self.tools.mention(call, Mention::Request, self.agent.quirks, &mut said);
        if !self.turns.is_running() {
            // An item before the turn that the request opens would be late. The Timeline makes the call.
            said.retain(|output| !matches!(output, Output::Stream(StreamOutput::Draft(_))));
        }
        out.append(&mut said);
        let Some(asked) = self.tools.asked(&call_id) else { return };
        let native_id = serde_json::to_value(&id).ok();
        let choices = Choices::new(options, &asked, self.agent.quirks);
        let options = choices.shown();
        // A grant is told to the agent as `once`, which it must offer.
        let pattern = asked.pattern.filter(|_| choices.pick(PermissionReply::Once).is_some());
        let key = self.requests.add(id, choices, pattern.is_some());
        let action = asked.title.unwrap_or_else(|| asked.name.clone());
        let (call, tool) = (Some(asked.call), Some(asked.name));
        let (files, detail) = (asked.files, asked.detail);
        let (kind, subject) = (Some(asked.about.kind), asked.about.subject.boxed());
        let ask = PermissionAsk {
            key,
            native_id,
            action,
            call,
            tool,
            pattern,
            options,
            files,
            detail,
            kind,
            subject,
        };
        out.push(Draft::PermissionRequested(ask).into());
    }

    pub(crate) fn reply_permission(
        &mut self,
        key: &RequestKey,
        reply: PermissionReply,
        message: Option<String>,
        out: &mut Vec<Output>,
    ) {
        let Some((id, outcome)) = self.requests.reply(key, reply, message) else { return };
        if outcome == RequestPermissionOutcome::Cancelled && reply != PermissionReply::Reject {
            let why = "the agent offers no option for this reply, so its request was rejected";
            self.status(StatusLabel::Warning, Some(why.to_owned()), out);
        }
        out.push(answer(&id, outcome));
    }
}

fn read(params: &RawValue, faults: &mut Vec<Unparsed>) -> Result<(ToolFields, Vec<WireOption>), Unparsed> {
    let location = "session/request_permission";
    let params: Params<'_> = decode(location, params)?;
    let call = ToolFields::parse(&format!("{location}.toolCall"), params.tool_call, faults)?;
    let options = entries(&format!("{location}.options"), Some(params.options), faults).unwrap_or_default();
    Ok((call, options))
}

#[cfg(test)]
mod tests {
    use omniglot_schema::{EventData, SessionId};
    use omniglot_timeline::Identity;
    use omniglot_timeline::check::{Allow, check};

    use super::*;
    use crate::replay::{events, show};

    const ASKED_BETWEEN_TURNS: &str = r#"
{"t":0,"ch":"stdin","data":{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}}
{"t":1,"ch":"stdout","data":{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}}
{"t":2,"ch":"stdout","data":{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c","title":"Write note","kind":"edit","status":"pending"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}}
{"t":3,"ch":"stdin","data":{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}}
"#;

    const OPENED: &str = r#"
{"t":0,"ch":"stdin","data":{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}}
{"t":1,"ch":"stdout","data":{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}}
{"t":2,"ch":"stdin","data":{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"go"}]}}}
"#;

    /// A call of an MCP tool as codex-acp 0.16 asks for it, allowed for the session.
    fn mcp_call(id: &str, server: &str, tool: &str) -> String {
        let call = r#"
{"t":3,"ch":"stdout","data":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"ID","title":"Tool: SERVER/TOOL","status":"in_progress","rawInput":{"server":"SERVER","tool":"TOOL","arguments":{}}}}}}
{"t":3,"ch":"stdout","data":{"jsonrpc":"2.0","id":"ID","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"ID","status":"pending","title":"Approve MCP tool call","content":[{"type":"content","content":{"type":"text","text":"Allow SERVER to run TOOL?"}}],"rawInput":{"server_name":"SERVER"}},"options":[{"optionId":"approved","name":"Allow","kind":"allow_once"},{"optionId":"approved-for-session","name":"Allow for this session","kind":"allow_always"},{"optionId":"cancel","name":"Cancel","kind":"reject_once"}]}}}
{"t":4,"ch":"stdin","data":{"jsonrpc":"2.0","id":"ID","result":{"outcome":{"outcome":"selected","optionId":"approved-for-session"}}}}
{"t":5,"ch":"stdout","data":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"ID","status":"completed","rawOutput":"done"}}}}
"#;
        call.replace("ID", id).replace("SERVER", server).replace("TOOL", tool)
    }

    #[test]
    fn an_always_for_one_tool_of_a_server_covers_no_other_tool() {
        let calls = [("a", "tiny", "add"), ("b", "tiny", "add"), ("c", "prod", "delete_all")];
        let calls = calls.map(|(id, server, tool)| mcp_call(id, server, tool)).concat();
        let identity = Identity { session_id: SessionId::parse("s").unwrap(), agent: "codex-acp".into() };
        let mut codex = Acp::with(Some(&super::super::quirks::CODEX_ACP));
        let events = events(&mut codex, &format!("{OPENED}{calls}"), identity).unwrap();
        let asked = events.iter().filter_map(|event| {
            if let EventData::PermissionRequested(data) = &event.data { data.metadata.as_ref() } else { None }
        });
        let asked: Vec<_> = asked.map(|ask| (ask.tool.as_deref(), ask.detail.as_deref())).collect();
        let tiny = (Some("tiny/add"), Some("Allow tiny to run add?"));
        assert_eq!(asked, [tiny, (Some("prod/delete_all"), Some("Allow prod to run delete_all?"))]);
        assert!(!show::events(&events).contains("\"output\":\"Allow"), "{}", show::events(&events));
    }

    #[test]
    fn a_request_between_turns_opens_a_turn_and_nothing_is_late() {
        let identity = Identity { session_id: SessionId::parse("s").unwrap(), agent: "a".into() };
        let events = events(&mut Acp::new(), ASKED_BETWEEN_TURNS, identity).unwrap();
        let report = check(&events, Allow::default());
        assert!(report.is_lawful(), "{report}");
        let kinds: Vec<&str> = events.iter().map(|event| event.kind().as_str()).collect();
        insta::assert_snapshot!(kinds.join("\n"), @r"
        session.started
        turn.started
        item.started
        item.completed
        permission.requested
        permission.resolved
        item.started
        item.completed
        turn.ended
        ");
        assert!(!show::events(&events).contains(".late"), "{}", show::events(&events));
    }
}

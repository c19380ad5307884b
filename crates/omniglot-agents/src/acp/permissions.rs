//! Permission requests of the agent, and our answers to them (T10).
//!
//! Which option an answer picks is left to `choices`, and what an `always` covers to `tool::grant`.

mod choices;

use agent_client_protocol_schema::v1::{
    PermissionOption as WireOption, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionResponse, SelectedPermissionOutcome,
};
use omniglot_schema::{PermissionReply, PermissionStatus, ResolvedBy};
use omniglot_timeline::{CallEnd, ItemKey, Outcome, PermissionAsk, ToolResult};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Acp;
use super::requests::Details;
use super::tool::Mention;
use super::update::ToolFields;
use super::wire::entries;
use crate::contract::{Draft, Output, StreamOutput, Unparsed, decode};
use crate::conversation::requests::Reply;
use crate::rpc::{self, RpcError, RpcId, send};
use choices::Choices;

/// A permission that is asked for.
#[derive(Debug)]
pub(crate) struct Permission {
    choices: Choices,
    /// The Timeline can remember an `always`.
    pub(crate) grantable: bool,
    call: ItemKey,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    #[serde(borrow)]
    tool_call: &'a RawValue,
    #[serde(borrow)]
    options: &'a RawValue,
}

impl Permission {
    pub(crate) fn answer(&self, id: &RpcId, reply: PermissionReply) -> Output {
        match self.choices.pick(reply) {
            Some(option) => {
                let selected = SelectedPermissionOutcome::new(option.option_id.clone());
                answer(id, RequestPermissionOutcome::Selected(selected))
            }
            None => cancellation(id),
        }
    }

    /// Returns the status of an answer that was sent, and who has given it.
    pub(crate) fn resolved(
        &self,
        result: Result<&RawValue, RpcError>,
        reply: Option<&Reply>,
    ) -> (PermissionStatus, ResolvedBy) {
        let chosen =
            result.ok().and_then(|raw| serde_json::from_str::<RequestPermissionResponse>(raw.get()).ok());
        match (chosen.map(|response| response.outcome), reply) {
            (Some(RequestPermissionOutcome::Selected(selected)), _) => {
                (self.status_of(&selected), ResolvedBy::Person)
            }
            // Without an option to say no, a person's `reject` goes out as `cancelled`, too.
            (_, Some(Reply::Permission(..))) => (PermissionStatus::Reject, ResolvedBy::Person),
            _ => (PermissionStatus::Reject, ResolvedBy::Cancel),
        }
    }

    /// Returns the result of the call that was rejected, for an agent that does not tell it.
    pub(crate) fn rejected_call(&self) -> Draft {
        let result = ToolResult { output: "rejected".to_owned(), ..ToolResult::default() };
        Draft::CallEnded(CallEnd { key: self.call.clone(), outcome: Outcome::Failed, result })
    }

    fn status_of(&self, selected: &SelectedPermissionOutcome) -> PermissionStatus {
        match self.choices.by_id(&selected.option_id).map(|option| option.kind) {
            Some(PermissionOptionKind::AllowOnce) => PermissionStatus::Accept,
            Some(PermissionOptionKind::AllowAlways) => PermissionStatus::AcceptForSession,
            _ => PermissionStatus::Reject,
        }
    }
}

/// The answer without a choice, which says no.
pub(crate) fn cancellation(id: &RpcId) -> Output {
    answer(id, RequestPermissionOutcome::Cancelled)
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
        let permission = Permission { choices, grantable: pattern.is_some(), call: asked.call.clone() };
        let key = self.requests.add(id, Details::Permission(permission));
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
        let codex = &crate::acp::quirks::codex_acp::ADAPTER;
        let events = events(codex, &format!("{OPENED}{calls}"), identity).unwrap();
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
        let events = events(&crate::acp::PLAIN, ASKED_BETWEEN_TURNS, identity).unwrap();
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

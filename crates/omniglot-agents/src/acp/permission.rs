//! Permission requests of the agent, and our answers to them (T10).
//!
//! Options are chosen by kind, never by id or place: those differ per agent and version.

use agent_client_protocol_schema::v1::{
    PermissionOption as WireOption, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionResponse, SelectedPermissionOutcome,
};
use omniglot_schema::{PermissionOption, PermissionReply, PermissionStatus, ResolvedBy};
use omniglot_timeline::PermissionAsk;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Acp;
use super::tool::Mention;
use super::update::ToolFields;
use super::wire::entries;
use crate::contract::{Draft, Output, RequestKey, Unparsed, decode};
use crate::rpc::{self, Ask, Asks, RpcError, RpcId, send};

/// The requests that wait for an answer of ours.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    open: Asks<OpenRequest>,
}

#[derive(Debug)]
struct OpenRequest {
    id: RpcId,
    options: Vec<WireOption>,
    /// What the person said, until the answer is really sent.
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
    fn add(&mut self, id: RpcId, options: Vec<WireOption>) -> RequestKey {
        self.open.add(OpenRequest { id, options, reply: None })
    }

    pub(crate) fn is_open(&self, id: &RpcId) -> bool {
        self.open.is_open(id)
    }

    /// The answer to give, or nothing if the request is no longer open.
    pub(crate) fn reply(
        &mut self,
        key: &RequestKey,
        reply: PermissionReply,
        message: Option<String>,
    ) -> Option<Output> {
        let open = self.open.get_mut(key)?;
        let outcome = choose(&open.options, reply);
        open.reply = Some((reply, message));
        Some(answer(&open.id, outcome))
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

impl Ask for OpenRequest {
    fn id(&self) -> &RpcId {
        &self.id
    }
}

impl OpenRequest {
    fn status_of(&self, selected: &SelectedPermissionOutcome) -> PermissionStatus {
        // Told `once` for want of a lasting option, a person's `always` is still a grant; we keep it.
        let always = matches!(self.reply, Some((PermissionReply::Always, _)));
        let option = self.options.iter().find(|option| option.option_id == selected.option_id);
        match option.map(|option| option.kind) {
            Some(PermissionOptionKind::AllowOnce) if always => PermissionStatus::AcceptForSession,
            Some(PermissionOptionKind::AllowOnce) => PermissionStatus::Accept,
            Some(PermissionOptionKind::AllowAlways) => PermissionStatus::AcceptForSession,
            _ => PermissionStatus::Reject,
        }
    }
}

/// The first option of the best kind; without any, `cancelled` is the only way to say no.
fn choose(options: &[WireOption], reply: PermissionReply) -> RequestPermissionOutcome {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    let wanted = match reply {
        PermissionReply::Once => [AllowOnce, AllowAlways],
        PermissionReply::Always => [AllowAlways, AllowOnce],
        PermissionReply::Reject => [RejectOnce, RejectAlways],
    };
    let option = wanted.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind));
    match option {
        Some(option) => {
            RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
        }
        None => RequestPermissionOutcome::Cancelled,
    }
}

fn answer(id: &RpcId, outcome: RequestPermissionOutcome) -> Output {
    send(rpc::answer(id, &RequestPermissionResponse::new(outcome)))
}

fn shown(option: &WireOption) -> PermissionOption {
    let kind = match option.kind {
        PermissionOptionKind::AllowOnce => "allow_once",
        PermissionOptionKind::AllowAlways => "allow_always",
        PermissionOptionKind::RejectOnce => "reject_once",
        PermissionOptionKind::RejectAlways => "reject_always",
        _ => "other",
    };
    PermissionOption { id: option.option_id.0.to_string(), name: option.name.clone(), kind: kind.to_owned() }
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
        out.extend(faults.into_iter().map(Output::Unparsed));
    }

    fn ask(&mut self, id: RpcId, call: ToolFields, options: Vec<WireOption>, out: &mut Vec<Output>) {
        self.session.replaying = false;
        self.texts.interrupt(out);
        let call_id = call.id.clone();
        let mut said = Vec::new();
        self.tools.mention(call, Mention::Request, self.agent.quirks, &mut said);
        if !self.turns.is_running() {
            // An item before the turn that the request opens would be late. The Timeline makes the call.
            said.retain(|output| !matches!(output, Output::Draft(_)));
        }
        out.append(&mut said);
        let Some(asked) = self.tools.asked(&call_id) else { return };
        let native_id = serde_json::to_value(&id).ok();
        let shown = options.iter().map(shown).collect();
        let key = self.requests.add(id, options);
        out.push(
            Draft::PermissionRequested(PermissionAsk {
                key,
                native_id,
                action: asked.title.clone().unwrap_or_else(|| asked.name.clone()),
                call: Some(asked.call),
                tool: Some(asked.name),
                pattern: asked.title,
                options: shown,
                files: asked.files,
            })
            .into(),
        );
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
    use omniglot_schema::SessionId;
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

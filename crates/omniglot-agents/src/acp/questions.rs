//! Elicitation: questions of the agent as a form, and our answers to them (T10, T12).
//!
//! `form` reads the fields and makes values of answers. Forms alone are served: a
//! page to be opened somewhere else is not ours to open.

#[cfg(test)]
mod tests;

use agent_client_protocol_schema::v1::{
    CreateElicitationResponse, ElicitationAcceptAction, ElicitationAction,
};
use omniglot_schema::ResolvedBy;
use omniglot_timeline::{ItemKey, QuestionAsk};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Acp;
use super::requests::Details;
use super::tool::Mention;
use super::update::ToolFields;
use crate::contract::{Draft, Output, TransportOutput, Unparsed, decode};
use crate::fault::unparsed;
use crate::form::Form;
use crate::rpc::{self, RpcError, RpcId, send};

const METHOD: &str = "elicitation/create";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default, borrow)]
    requested_schema: Option<&'a RawValue>,
}

/// Returns the answer to a form. Without answers it is declined.
pub(crate) fn reply(id: &RpcId, form: &Form, answers: Option<&[Vec<String>]>) -> Output {
    let Some(content) = answers.and_then(|answers| form.write(answers)) else {
        return answer(id, ElicitationAction::Decline);
    };
    let accept =
        |content| answer(id, ElicitationAction::Accept(ElicitationAcceptAction::new().content(content)));
    let shown = form.hidden(&content).map(accept);
    match (accept(content), shown) {
        (
            Output::Transport(TransportOutput::Send(message)),
            Some(Output::Transport(TransportOutput::Send(shown))),
        ) => Output::send_secret(message, shown),
        (output, _) => output,
    }
}

pub(crate) fn cancellation(id: &RpcId) -> Output {
    answer(id, ElicitationAction::Cancel)
}

/// Returns the answers that were sent, and who has given them.
pub(crate) fn resolved(
    form: &Form,
    result: Result<&RawValue, RpcError>,
) -> (Option<Vec<Vec<String>>>, ResolvedBy) {
    let response =
        result.ok().and_then(|raw| serde_json::from_str::<CreateElicitationResponse>(raw.get()).ok());
    match response.map(|response| response.action) {
        Some(ElicitationAction::Accept(accepted)) => {
            (Some(form.read(&accepted.content.unwrap_or_default())), ResolvedBy::Person)
        }
        Some(ElicitationAction::Decline) => (None, ResolvedBy::Person),
        _ => (None, ResolvedBy::Cancel),
    }
}

fn answer(id: &RpcId, action: ElicitationAction) -> Output {
    send(rpc::answer(id, &CreateElicitationResponse::new(action)))
}

impl Acp {
    /// `elicitation/create`: nobody waits for what we cannot ask (T18).
    pub(crate) fn elicitation_requested(&mut self, id: RpcId, params: &RawValue, out: &mut Vec<Output>) {
        let params: Params<'_> = match decode(METHOD, params) {
            Ok(params) => params,
            Err(fault) => return refuse(&id, fault, out),
        };
        if let Some(mode) = params.mode.as_deref().filter(|mode| *mode != "form") {
            return refuse(&id, unparsed(METHOD, format!("a mode that we do not offer: {mode}")), out);
        }
        match self.form(&params) {
            Ok(form) => self.ask_form(id, params.tool_call_id, form, out),
            Err(fault) => {
                out.push(answer(&id, ElicitationAction::Decline));
                out.push(Output::unparsed(fault));
            }
        }
    }

    fn form(&self, params: &Params<'_>) -> Result<Form, Unparsed> {
        if !self.session.started {
            return Err(unparsed(METHOD, "a question before there is a session that it could be asked in"));
        }
        if params.session_id.is_some() && params.session_id != self.session.id {
            return Err(unparsed(METHOD, "a question of another session"));
        }
        let schema = params.requested_schema.ok_or_else(|| unparsed(METHOD, "a form without a schema"))?;
        Form::parse(params.message.as_deref().unwrap_or_default(), schema)
    }

    fn ask_form(&mut self, id: RpcId, call: Option<String>, form: Form, out: &mut Vec<Output>) {
        self.session.replaying = false;
        self.texts.interrupt(out);
        let call = call.and_then(|call| self.asking_call(call, out));
        let native_id = serde_json::to_value(&id).ok();
        let questions = form.questions();
        let key = self.requests.add(id, Details::Form(form));
        out.push(Draft::QuestionRequested(QuestionAsk { key, native_id, call, questions }).into());
    }

    /// The call that asks, whose arguments are final now. One that was never announced gets no result
    /// either (codex-acp 2.6), so the Timeline makes both.
    fn asking_call(&mut self, id: String, out: &mut Vec<Output>) -> Option<ItemKey> {
        let call = ToolFields { id: id.clone(), ..ToolFields::default() };
        if !self.turns.is_running() || self.tools.is_new(&call, Mention::Request) {
            return None;
        }
        self.tools.mention(call, Mention::Request, self.agent.quirks, out);
        self.tools.asked(&id).map(|asked| asked.call)
    }
}

fn refuse(id: &RpcId, fault: Unparsed, out: &mut Vec<Output>) {
    let error = RpcError::new(RpcError::INVALID_PARAMS, fault.error.clone());
    out.push(send(rpc::refusal(id, &error)));
    out.push(Output::unparsed(fault));
}

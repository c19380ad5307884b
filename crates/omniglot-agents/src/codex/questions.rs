//! Questions of the server: those of Codex's own tool, and the forms of MCP servers (T12).

use omniglot_schema::{QuestionInfo, QuestionOption, ResolvedBy};
use omniglot_timeline::QuestionAsk;
use serde_json::value::RawValue;

use super::Codex;
use super::requests::{Details, Kind, OpenRequest, action};
use super::tool::unnamed;
use super::wire::{
    self, Elicitation, ElicitationAnswer, QuestionAnswer, UserInputAnswer, UserInputRequest, UserQuestion,
};
use crate::contract::{Draft, Output, Unparsed};
use crate::fault::unparsed;
use crate::form::Form;
use crate::rpc::{self, RpcError, RpcId, send};

/// The prefix that Codex puts before an answer beside the options.
const NOTE: &str = "user_note: ";

impl Codex {
    pub(crate) fn ask_questions(&mut self, id: RpcId, ask: UserInputRequest, out: &mut Vec<Output>) {
        let UserInputRequest { thread_id, item_id, questions } = ask;
        let asking = self.asking_tool(thread_id, item_id, unnamed::questions(&questions), out);
        let call = asking.as_ref().map(|asking| asking.call.clone());
        let infos = questions.iter().map(info).collect();
        let native_id = serde_json::to_value(&id).ok();
        let key = self.requests.add(id, Details { kind: Kind::Questions(questions), tool: asking });
        out.push(Draft::QuestionRequested(QuestionAsk { key, native_id, call, questions: infos }).into());
    }

    pub(crate) fn ask_form(&mut self, id: RpcId, ask: Elicitation, out: &mut Vec<Output>) {
        match read_form(&ask) {
            Ok(form) => {
                let asked = self.tools.asked_by_server(ask.thread_id.as_deref(), &ask.server_name);
                let (call, questions) = (asked.map(|asked| asked.call), form.questions());
                let native_id = serde_json::to_value(&id).ok();
                let key = self.requests.add(id, Details { kind: Kind::Form(form), tool: None });
                out.push(Draft::QuestionRequested(QuestionAsk { key, native_id, call, questions }).into());
            }
            Err(fault) => {
                out.push(send(rpc::answer(&id, &action("decline"))));
                out.push(Output::unparsed(fault));
            }
        }
    }
}

impl OpenRequest {
    /// There is no word for a refusal: an empty answer is as near as it gets.
    pub(crate) fn answer(&self, answers: Option<&[Vec<String>]>) -> Output {
        match &self.details.kind {
            Kind::Questions(questions) => {
                let given = answers.unwrap_or_default();
                let answer = |(question, chosen): (&UserQuestion, &Vec<String>)| {
                    let answers = chosen.iter().map(|answer| question.to_wire(answer)).collect();
                    (question.id.clone(), QuestionAnswer { answers })
                };
                self.send(&UserInputAnswer { answers: questions.iter().zip(given).map(answer).collect() })
            }
            Kind::Form(form) => self.send(&match answers.and_then(|answers| form.write(answers)) {
                Some(content) => ElicitationAnswer { content: Some(content), ..action("accept") },
                None => action("decline"),
            }),
            Kind::Approval | Kind::Permissions(_) | Kind::McpTool { .. } => self.send(&action("decline")),
        }
    }

    /// Returns the answers, read from the wire, as in a recording.
    pub(crate) fn answered(
        &self,
        result: Result<&RawValue, RpcError>,
    ) -> (Option<Vec<Vec<String>>>, ResolvedBy) {
        let text = result.map_or("null", RawValue::get);
        match &self.details.kind {
            Kind::Form(form) => match serde_json::from_str::<ElicitationAnswer>(text) {
                Ok(ElicitationAnswer { action, content, .. }) if action == "accept" => {
                    (Some(form.read(&content.unwrap_or_default())), ResolvedBy::Person)
                }
                Ok(ElicitationAnswer { action, .. }) if action == "decline" => (None, ResolvedBy::Person),
                Ok(_) | Err(_) => (None, ResolvedBy::Cancel),
            },
            Kind::Questions(questions) => {
                let answer: UserInputAnswer = serde_json::from_str(text).unwrap_or_default();
                let given = |question: &UserQuestion| question.given_in(&answer);
                let answers = questions.iter().map(given).collect();
                ((!answer.answers.is_empty()).then_some(answers), ResolvedBy::Person)
            }
            Kind::Approval | Kind::Permissions(_) | Kind::McpTool { .. } => (None, ResolvedBy::Person),
        }
    }
}

/// Returns the chosen answers in words, for the event.
pub(crate) fn in_words(answers: &[Vec<String>]) -> String {
    answers.iter().map(|chosen| chosen.join(", ")).collect::<Vec<_>>().join("; ")
}

/// A page to be opened is asked for with a yes or no: whoever answers opens it.
fn read_form(ask: &Elicitation) -> Result<Form, Unparsed> {
    let message = ask.message.as_deref().unwrap_or_default();
    match (ask.mode.as_str(), &ask.requested_schema) {
        ("url", _) => {
            let page = ask.url.as_deref().unwrap_or_default();
            Ok(Form::confirm(format!("{message}\n{page}").trim()))
        }
        ("form" | "openai/form" | "openaiForm", Some(schema)) => Form::parse(message, schema),
        (mode, _) => {
            let reason = format!("a mode that we do not offer: {mode}");
            Err(unparsed("mcpServer/elicitation/request", reason))
        }
    }
}

fn info(question: &UserQuestion) -> QuestionInfo {
    let option = |option: &wire::UserOption| QuestionOption {
        label: option.label.clone(),
        description: option.description.clone(),
    };
    let options: Vec<QuestionOption> = question.options.iter().flatten().map(option).collect();
    QuestionInfo {
        prompt: question.question.clone(),
        header: question.header.clone(),
        multi_select: false,
        free_text: question.is_other || options.is_empty(),
        options,
        ..QuestionInfo::default()
    }
}

impl UserQuestion {
    fn to_wire(&self, answer: &str) -> String {
        let listed = self.options.iter().flatten().any(|option| option.label == answer);
        if listed { answer.to_owned() } else { format!("{NOTE}{answer}") }
    }

    fn given_in(&self, answer: &UserInputAnswer) -> Vec<String> {
        let given = answer.answers.get(&self.id).map(|given| given.answers.as_slice()).unwrap_or_default();
        given.iter().map(|answer| answer.strip_prefix(NOTE).unwrap_or(answer).to_owned()).collect()
    }
}

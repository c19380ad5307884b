//! Questions of the CLI: its question tool, the end of plan mode, and the forms of MCP servers (T12).

use omniglot_schema::{QuestionInfo, QuestionOption};
use omniglot_timeline::{ItemKey, QuestionAsk};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Claude;
use super::requests::Details;
use super::wire::CanUseTool;
use super::wire::control::{Allow, Answer, Deny, Elicit, ElicitAnswer, success};
use crate::contract::{Draft, Output, Unparsed};
use crate::fault::unparsed;
use crate::form::Form;

#[derive(Debug)]
pub(crate) enum Question {
    /// `AskUserQuestion`: the answers go back inside of its input.
    Tool {
        input: Map<String, Value>,
        questions: Vec<QuestionInfo>,
    },
    /// `ExitPlanMode`: may the agent leave plan mode?
    Plan {
        input: Map<String, Value>,
        plan: Option<String>,
    },
    Form(Form),
}

#[derive(Deserialize)]
struct ToolInput {
    questions: Vec<WireQuestion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireQuestion {
    question: String,
    #[serde(default)]
    header: Option<String>,
    #[serde(default)]
    options: Vec<QuestionOption>,
    #[serde(default)]
    multi_select: bool,
}

impl Claude {
    pub(crate) fn ask_questions(
        &mut self,
        id: String,
        ask: CanUseTool,
        call: Option<ItemKey>,
        out: &mut Vec<Output>,
    ) {
        let questions = match serde_json::from_value::<ToolInput>(Value::Object(ask.input.clone())) {
            Ok(ToolInput { questions }) if !questions.is_empty() => questions,
            // Not the questions that we know: a person may still say yes or no to the tool.
            _ => return self.ask_permission(id, ask, call, out),
        };
        let info = |question: WireQuestion| QuestionInfo {
            prompt: question.question,
            header: question.header,
            options: question.options,
            multi_select: question.multi_select,
            free_text: true,
            ..QuestionInfo::default()
        };
        let questions: Vec<QuestionInfo> = questions.into_iter().map(info).collect();
        self.ask(id, Question::Tool { input: ask.input, questions }, call, out);
    }

    pub(crate) fn ask_for_plan(
        &mut self,
        id: String,
        ask: CanUseTool,
        call: Option<ItemKey>,
        out: &mut Vec<Output>,
    ) {
        let plan = ask.input.get("plan").and_then(Value::as_str).map(str::to_owned);
        // The CLI tells what stands in its file of the plan; a model may hand in the plan without writing it.
        let plan = plan.or_else(|| self.tools.plan_of(ask.tool_use_id.as_deref()?));
        self.ask(id, Question::Plan { input: ask.input, plan }, call, out);
    }

    /// A form of an MCP server. Nobody waits for what we cannot ask (T18).
    pub(crate) fn elicited(&mut self, id: String, elicit: &Elicit<'_>, out: &mut Vec<Output>) {
        match form(elicit) {
            Ok(form) => {
                self.turn_for_request(out);
                self.ask(id, Question::Form(form), None, out);
            }
            Err(fault) => {
                let decline = ElicitAnswer { action: "decline".to_owned(), content: None };
                Self::send(success(&id, decline), out);
                out.push(Output::unparsed(fault));
            }
        }
    }

    fn ask(&mut self, id: String, question: Question, call: Option<ItemKey>, out: &mut Vec<Output>) {
        let native_id = Some(id.clone().into());
        let questions = question.infos();
        let key = self.requests.add(id, Details::Question(question));
        out.push(Draft::QuestionRequested(QuestionAsk { key, native_id, call, questions }).into());
    }
}

fn form(elicit: &Elicit<'_>) -> Result<Form, Unparsed> {
    let from = elicit.mcp_server_name.as_deref();
    let message = match (&elicit.url, from) {
        (Some(url), _) => format!("{}\n{url}", elicit.message),
        (None, Some(server)) if elicit.message.is_empty() => format!("{server} asks"),
        (None, _) => elicit.message.clone(),
    };
    match (elicit.mode.as_deref(), elicit.requested_schema) {
        (Some("url"), _) | (None | Some("form"), None) => Ok(Form::confirm(&message)),
        (None | Some("form"), Some(schema)) => Form::parse(&message, schema),
        (Some(mode), _) => Err(unparsed("control_request.elicitation", format!("unknown mode {mode}"))),
    }
}

impl Question {
    fn infos(&self) -> Vec<QuestionInfo> {
        match self {
            Self::Tool { questions, .. } => questions.clone(),
            Self::Plan { plan, .. } => vec![QuestionInfo {
                prompt: "Approve the plan?".to_owned(),
                options: vec![option(APPROVE), option(KEEP_PLANNING)],
                free_text: true,
                detail: plan.clone(),
                ..QuestionInfo::default()
            }],
            Self::Form(form) => form.questions(),
        }
    }

    pub(crate) fn answer(
        &self,
        id: &str,
        answers: Option<&[Vec<String>]>,
    ) -> Result<Box<RawValue>, Unparsed> {
        let Some(answers) = answers else { return self.decline(id, "The user did not answer.") };
        match self {
            Self::Tool { input, questions } => {
                let mut updated_input = input.clone();
                let said = questions.iter().zip(answers).filter(|(_, chosen)| !chosen.is_empty());
                let said = said.map(|(question, chosen)| (question.prompt.clone(), chosen.join(", ").into()));
                updated_input.insert("answers".to_owned(), Value::Object(said.collect()));
                allow(id, &updated_input)
            }
            Self::Plan { input, .. } => match answers.first().and_then(|chosen| chosen.first()) {
                Some(word) if word == APPROVE => {
                    // A plan in the answer is told to the model as edited by the user.
                    let mut updated_input = input.clone();
                    updated_input.remove("plan");
                    allow(id, &updated_input)
                }
                Some(word) if word != KEEP_PLANNING => self.decline(id, word),
                _ => self.decline(id, "The user wants you to keep planning."),
            },
            Self::Form(form) => match form.write(answers) {
                Some(content) => {
                    success(id, ElicitAnswer { action: "accept".to_owned(), content: Some(content) })
                }
                None => self.decline(id, ""),
            },
        }
    }

    fn decline(&self, id: &str, words: &str) -> Result<Box<RawValue>, Unparsed> {
        match self {
            Self::Tool { .. } | Self::Plan { .. } => {
                success(id, Deny { behavior: "deny", message: words, interrupt: false })
            }
            Self::Form(_) => success(id, ElicitAnswer { action: "decline".to_owned(), content: None }),
        }
    }

    pub(crate) fn withdrawal(&self, id: &str) -> Result<Box<RawValue>, Unparsed> {
        match self {
            Self::Tool { .. } | Self::Plan { .. } => super::permissions::interrupt(id),
            Self::Form(_) => success(id, ElicitAnswer { action: "cancel".to_owned(), content: None }),
        }
    }

    /// The answers that a recorded answer says; `None` means that there was none.
    pub(crate) fn read(&self, answer: Option<&RawValue>) -> Option<Vec<Vec<String>>> {
        let raw = answer?.get();
        match self {
            Self::Tool { questions, .. } => {
                let input = serde_json::from_str::<Answer>(raw).ok()?.updated_input?;
                let answers = input.get("answers")?.as_object()?;
                let said = |question: &QuestionInfo| match answers.get(&question.prompt) {
                    Some(Value::String(text)) => chosen(question, text),
                    _ => vec![],
                };
                Some(questions.iter().map(said).collect())
            }
            Self::Plan { .. } => {
                let answer = serde_json::from_str::<Answer>(raw).ok()?;
                (answer.behavior == "allow").then(|| vec![vec![APPROVE.to_owned()]])
            }
            Self::Form(form) => {
                let answer = serde_json::from_str::<ElicitAnswer>(raw).ok()?;
                (answer.action == "accept").then(|| form.read(&answer.content.unwrap_or_default()))
            }
        }
    }
}

fn allow(id: &str, updated_input: &Map<String, Value>) -> Result<Box<RawValue>, Unparsed> {
    success(id, Allow { behavior: "allow", updated_input, updated_permissions: vec![] })
}

/// Several labels are joined with commas, which a single label may hold as well.
fn chosen(question: &QuestionInfo, text: &str) -> Vec<String> {
    let is_label = |text: &str| question.options.iter().any(|option| option.label == text);
    if question.multi_select && !is_label(text) && text.split(", ").all(is_label) {
        return text.split(", ").map(str::to_owned).collect();
    }
    vec![text.to_owned()]
}

fn option(label: &str) -> QuestionOption {
    QuestionOption { label: label.to_owned(), description: None }
}

const APPROVE: &str = "Approve";
const KEEP_PLANNING: &str = "Keep planning";

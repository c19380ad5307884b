//! Questions of extensions: choices, confirmations and texts, and the answers to them (T12).

use omniglot_schema::{QuestionInfo, QuestionOption};
use omniglot_timeline::QuestionAsk;

use super::Pi;
use super::outgoing::Outgoing;
use super::requests::Details;
use super::wire::Dialog;
use crate::contract::{Draft, Output};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    Choice,
    Confirmation,
    Text,
}

const YES: &str = "Yes";
const NO: &str = "No";

impl Pi {
    pub(crate) fn ask_question(&mut self, dialog: Dialog, out: &mut Vec<Output>) {
        let Dialog { id, method, title, message, options, placeholder, prefill, timeout, .. } = dialog;
        let question = match method.as_str() {
            "select" => Question::Choice,
            "confirm" => Question::Confirmation,
            _ => Question::Text,
        };
        let options = match question {
            Question::Choice => options,
            Question::Confirmation => vec![YES.to_owned(), NO.to_owned()],
            Question::Text => vec![],
        };
        let option = |label| QuestionOption { label, description: None };
        let info = QuestionInfo {
            prompt: title,
            options: options.into_iter().map(option).collect(),
            free_text: question == Question::Text,
            detail: message.or(prefill).or(placeholder),
            ..QuestionInfo::default()
        };
        let native_id = Some(id.clone().into());
        let timer = self.start_timer(timeout, out);
        let key = self.requests.add(id, Details::Question(question, timer));
        let ask = QuestionAsk { key, native_id, call: None, questions: vec![info] };
        out.push(Draft::QuestionRequested(ask).into());
    }
}

impl Question {
    pub(crate) fn answer(self, answers: Option<&[Vec<String>]>) -> Outgoing {
        let Some(first) = answers.and_then(<[_]>::first) else { return Outgoing::dismissed() };
        match self {
            Self::Confirmation => Outgoing::confirmed(first.iter().any(|answer| answer == YES)),
            Self::Choice | Self::Text => Outgoing::value(first.join("\n")),
        }
    }

    /// Reads an answer that was sent.
    pub(crate) fn read(answer: &Outgoing) -> Option<Vec<Vec<String>>> {
        let Outgoing::ExtensionUiResponse { value, confirmed, .. } = answer else { return None };
        let confirmed = confirmed.map(|confirmed| if confirmed { YES } else { NO }.to_owned());
        Some(vec![vec![value.clone().or(confirmed)?]])
    }
}

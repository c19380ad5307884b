//! Questions of the server, and the answers to them (T10, T12).

use omniglot_schema::{QuestionInfo, QuestionOption, ResolvedBy};
use omniglot_timeline::QuestionAsk;

use super::outbound::OutboundRequest;
use super::plan::HANDS_IN;
use super::requests::{Details, Kind};
use super::translate::Whose;
use super::wire::{self, QuestionAsked};
use super::{OpenCode, dropped};
use crate::contract::{Draft, DropReason, Output};

impl OpenCode {
    pub(crate) fn question_asked(&mut self, asked: QuestionAsked, out: &mut Vec<Output>) {
        if self.whose(&asked.session) == Whose::Other {
            return;
        }
        if !self.once.insert(asked.id.clone()) {
            return out.push(dropped(DropReason::Duplicate));
        }
        let call = asked.tool.as_ref().and_then(|tool| self.call_named(&tool.call));
        let is_about_plan = call.as_ref().is_some_and(|call| call.name == HANDS_IN);
        let call = call.map(|call| call.key.clone());
        let key = self.requests.add(asked.id.clone(), Details::new(Kind::Question, call.clone()));
        let mut questions: Vec<QuestionInfo> = asked.questions.into_iter().map(shown).collect();
        if is_about_plan {
            self.show_plan(&mut questions, out);
        }
        let ask = QuestionAsk { key, native_id: Some(asked.id.into()), call, questions };
        out.push(Draft::QuestionRequested(ask).into());
    }

    /// The server has taken our reply: the request is resolved.
    pub(crate) fn question_answered(
        &mut self,
        id: &str,
        answers: Option<Vec<Vec<String>>>,
        out: &mut Vec<Output>,
    ) {
        if let Some(open) = self.requests.take(id) {
            out.push(open.question(answers, open.answered_by()).into());
        }
    }

    /// As [`permission_replied`](Self::permission_replied).
    pub(crate) fn question_replied(
        &mut self,
        id: &str,
        answers: Option<Vec<Vec<String>>>,
        out: &mut Vec<Output>,
    ) {
        let reply = OutboundRequest::QuestionReply { id: id.to_owned(), answers: answers.clone() };
        let by = if self.outbound.purposes().any(|sent| *sent == reply) {
            ResolvedBy::Person
        } else {
            ResolvedBy::Agent
        };
        out.push(match self.requests.take(id) {
            Some(open) => open.question(answers, by).into(),
            None => dropped(DropReason::Echo),
        });
    }
}

fn shown(question: wire::Question) -> QuestionInfo {
    let option =
        |choice: wire::Choice| QuestionOption { label: choice.label, description: choice.description };
    QuestionInfo {
        prompt: question.question,
        header: question.header,
        options: question.options.into_iter().map(option).collect(),
        multi_select: question.multiple,
        free_text: question.custom != Some(false),
        ..QuestionInfo::default()
    }
}

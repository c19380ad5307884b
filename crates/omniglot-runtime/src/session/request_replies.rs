//! Replies to the agent's permissions and questions, checked against the request.
//!
//! The adapter sends a valid reply to the agent, and the Timeline resolves the request.

use omniglot_agents::{Command, RequestKey};
use omniglot_schema::{AnswerFormat, PendingRequest, PermissionEventData, PermissionReply, QuestionInfo};
use omniglot_timeline::Replier;

use super::Session;
use super::client_replies::not_taken;
use super::undelivered::Effect;
use crate::error::RuntimeError;

impl Session {
    pub(super) fn reply_permission(
        &mut self,
        id: &str,
        reply: PermissionReply,
        message: Option<String>,
        by: Option<Replier>,
    ) -> Result<Effect, RuntimeError> {
        let key = match self.timeline.fold().pending.get(id) {
            Some(PendingRequest::Permission(asked)) => {
                check_always(asked, reply)?;
                self.open_request(id)?
            }
            Some(PendingRequest::Question(_)) | None => return Err(not_found(id)),
        };
        self.timeline.rule(&key, None);
        self.timeline.name_reply(&key, by);
        self.send_client_reply(id, &key, &Command::ReplyPermission { key: key.clone(), reply, message });
        Ok(Effect::Replied)
    }

    pub(super) fn reply_question(
        &mut self,
        id: &str,
        answers: Option<Vec<Vec<String>>>,
        by: Option<Replier>,
    ) -> Result<Effect, RuntimeError> {
        let key = match self.timeline.fold().pending.get(id) {
            Some(PendingRequest::Question(asked)) => {
                let questions = asked.metadata.as_ref().map(|metadata| metadata.questions.as_slice());
                check(questions.unwrap_or_default(), answers.as_deref().unwrap_or_default())
                    .map_err(RuntimeError::InvalidRequest)?;
                self.open_request(id)?
            }
            Some(PendingRequest::Permission(_)) | None => return Err(not_found(id)),
        };
        self.timeline.name_reply(&key, by);
        self.send_client_reply(id, &key, &Command::ReplyQuestion { key: key.clone(), answers });
        Ok(Effect::Replied)
    }

    fn open_request(&self, id: &str) -> Result<RequestKey, RuntimeError> {
        if self.is_being_answered(id) {
            return Err(not_taken(id.to_owned(), "another reply to it is on its way to the agent"));
        }
        self.timeline.request_key(id).ok_or_else(|| not_found(id))
    }
}

/// Refuses `always` where a rule asks each time.
fn check_always(asked: &PermissionEventData, reply: PermissionReply) -> Result<(), RuntimeError> {
    let Some(metadata) = asked.metadata.as_ref().filter(|_| reply == PermissionReply::Always) else {
        return Ok(());
    };
    let offered = metadata.options.iter().any(|option| option.kind == "allow_always");
    match &metadata.rule {
        Some(rule) if !offered => Err(RuntimeError::InvalidRequest(format!(
            "the rule `{rule}` asks each time; answer `once` or `reject`"
        ))),
        _ => Ok(()),
    }
}

fn not_found(id: &str) -> RuntimeError {
    RuntimeError::RequestNotFound(id.to_owned())
}

/// Says what does not fit, naming the question and what it allows. Fewer answers than questions leave the
/// rest unanswered.
fn check(questions: &[QuestionInfo], answers: &[Vec<String>]) -> Result<(), String> {
    if answers.len() > questions.len() {
        return Err(format!("{} answers to {} questions", answers.len(), questions.len()));
    }
    questions.iter().zip(answers).try_for_each(|(question, chosen)| check_one(question, chosen))
}

fn check_one(question: &QuestionInfo, chosen: &[String]) -> Result<(), String> {
    let prompt = &question.prompt;
    if chosen.len() > 1 && !question.multi_select {
        return Err(format!("{prompt:?} takes one answer, not {}; {}", chosen.len(), allowed(question)));
    }
    let is_option = |answer: &&String| question.options.iter().any(|option| option.label == **answer);
    let mut beside = chosen.iter().filter(|answer| !is_option(answer));
    match beside.find(|answer| !question.free_text || !fits(question.format, answer)) {
        Some(answer) => Err(format!("{answer:?} is no answer to {prompt:?}; {}", allowed(question))),
        None => Ok(()),
    }
}

fn fits(format: Option<AnswerFormat>, answer: &str) -> bool {
    match format {
        None => true,
        Some(AnswerFormat::Integer) => answer.trim().parse::<i64>().is_ok(),
        Some(AnswerFormat::Number) => answer.trim().parse::<f64>().is_ok_and(f64::is_finite),
    }
}

fn allowed(question: &QuestionInfo) -> String {
    let labels: Vec<String> = question.options.iter().map(|option| format!("{:?}", option.label)).collect();
    let text = match question.format {
        None => "a text",
        Some(AnswerFormat::Integer) => "a whole number",
        Some(AnswerFormat::Number) => "a number",
    };
    match (labels.is_empty(), question.free_text) {
        (true, _) => format!("it takes {text}"),
        (false, true) => format!("its options: {}, or {text}", labels.join(", ")),
        (false, false) => format!("its options: {}", labels.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use omniglot_schema::QuestionOption;

    use super::*;

    fn question(options: &[&str]) -> QuestionInfo {
        let options = options
            .iter()
            .map(|label| QuestionOption { label: (*label).into(), description: None })
            .collect();
        QuestionInfo { prompt: "Which?".into(), options, ..QuestionInfo::default() }
    }

    fn said(question: QuestionInfo, chosen: &[&str]) -> Result<(), String> {
        check(&[question], &[chosen.iter().map(|label| (*label).to_owned()).collect()])
    }

    #[test]
    fn a_label_must_be_one_of_the_options_unless_free_text_is_allowed() {
        assert_eq!(said(question(&["a", "b"]), &["b"]), Ok(()));
        let refused = said(question(&["a", "b"]), &["c"]).unwrap_err();
        assert_eq!(refused, r#""c" is no answer to "Which?"; its options: "a", "b""#);
        assert_eq!(said(QuestionInfo { free_text: true, ..question(&["a"]) }, &["c"]), Ok(()));
    }

    #[test]
    fn several_answers_need_a_question_that_takes_several() {
        let refused = said(question(&["a", "b"]), &["a", "b"]).unwrap_err();
        assert_eq!(refused, r#""Which?" takes one answer, not 2; its options: "a", "b""#);
        assert_eq!(said(QuestionInfo { multi_select: true, ..question(&["a", "b"]) }, &["a", "b"]), Ok(()));
    }

    #[test]
    fn a_number_must_be_one() {
        let whole = QuestionInfo { free_text: true, format: Some(AnswerFormat::Integer), ..question(&[]) };
        assert_eq!(said(whole.clone(), &["7"]), Ok(()));
        let refused = said(whole, &["7.5"]).unwrap_err();
        assert_eq!(refused, r#""7.5" is no answer to "Which?"; it takes a whole number"#);
        let number = QuestionInfo { free_text: true, format: Some(AnswerFormat::Number), ..question(&[]) };
        assert_eq!(said(number.clone(), &["7.5"]), Ok(()));
        assert!(said(number, &["NaN"]).is_err());
    }

    #[test]
    fn fewer_answers_are_fine_and_more_are_not() {
        assert_eq!(check(&[question(&["a"])], &[]), Ok(()));
        assert_eq!(said(question(&["a"]), &[]), Ok(()));
        assert_eq!(check(&[question(&["a"])], &[vec![], vec![]]).unwrap_err(), "2 answers to 1 questions");
    }
}

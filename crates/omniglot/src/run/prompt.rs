//! Asks the person one question at a time, and interprets a typed line.
//!
//! Pure: `keyboard` reads the lines, `render` has displayed the request itself.

use std::collections::VecDeque;

use omniglot_schema::{
    AnswerFormat, PendingRequest, PermissionEventData, PermissionId, PermissionReply, QuestionEventData,
    QuestionId, QuestionInfo,
};

use super::render::questions_of;

/// The requests that wait for a person, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Asker {
    waiting: VecDeque<PendingRequest>,
    /// Answers to the first questions of the first request, when it has several.
    given: Vec<Vec<String>>,
}

/// The answer to send to the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Permission { id: PermissionId, reply: PermissionReply },
    Question { id: QuestionId, answers: Vec<Vec<String>> },
    RejectQuestion { id: QuestionId },
}

impl Answer {
    /// Returns the id of the answered request.
    pub(crate) fn id(&self) -> &str {
        match self {
            Self::Permission { id, .. } => id.as_str(),
            Self::Question { id, .. } | Self::RejectQuestion { id } => id.as_str(),
        }
    }
}

/// The result of a typed line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Reply(Answer),
    /// The next question of the same request.
    Next,
    /// The line was not understood; print this and ask again.
    Again(String),
    /// No request was open.
    Nothing,
}

impl Asker {
    pub(crate) fn add(&mut self, request: PendingRequest) {
        self.waiting.push_back(request);
    }

    /// Removes a request that another client, or the agent, has resolved.
    pub(crate) fn settled(&mut self, id: &str) {
        if self.waiting.front().is_some_and(|first| id_of(first) == id) {
            self.given.clear();
        }
        self.waiting.retain(|request| id_of(request) != id);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the text before the cursor.
    pub(crate) fn prompt(&self) -> Option<String> {
        Some(match self.waiting.front()? {
            PendingRequest::Permission(_) => "  [o]nce, [a]lways, [r]eject? ".to_owned(),
            PendingRequest::Question(data) => {
                let questions = questions_of(data);
                let question = questions.get(self.given.len())?;
                let place = if questions.len() > 1 {
                    format!(" {}/{}", self.given.len() + 1, questions.len())
                } else {
                    String::new()
                };
                format!("  answer{place} ({})? ", allowed(question))
            }
        })
    }

    /// Processes one line; `None` means the end of input, and rejects.
    pub(crate) fn line(&mut self, line: Option<&str>) -> Step {
        let step = match self.waiting.front() {
            None => return Step::Nothing,
            Some(PendingRequest::Permission(data)) => permission(data, line),
            Some(PendingRequest::Question(data)) => question(data, &mut self.given, line),
        };
        if matches!(step, Step::Reply(_)) {
            self.waiting.pop_front();
            self.given.clear();
        }
        step
    }
}

fn id_of(request: &PendingRequest) -> &str {
    match request {
        PendingRequest::Permission(data) => data.permission_id.as_str(),
        PendingRequest::Question(data) => data.question_id.as_str(),
    }
}

fn permission(data: &PermissionEventData, line: Option<&str>) -> Step {
    let reply = match line.map(|line| line.trim().to_lowercase()).as_deref() {
        Some("o" | "once" | "y" | "yes") => PermissionReply::Once,
        Some("a" | "always") => PermissionReply::Always,
        Some("r" | "reject" | "n" | "no") | None => PermissionReply::Reject,
        Some(_) => return Step::Again("type o, a or r".to_owned()),
    };
    Step::Reply(Answer::Permission { id: data.permission_id.clone(), reply })
}

fn question(data: &QuestionEventData, given: &mut Vec<Vec<String>>, line: Option<&str>) -> Step {
    let id = data.question_id.clone();
    let questions = questions_of(data);
    let (Some(line), Some(question)) = (line, questions.get(given.len())) else {
        return Step::Reply(Answer::RejectQuestion { id });
    };
    match choices(question, line.trim()) {
        Ok(chosen) => given.push(chosen),
        Err(hint) => return Step::Again(hint),
    }
    if given.len() < questions.len() {
        return Step::Next;
    }
    Step::Reply(Answer::Question { id, answers: given.clone() })
}

/// Returns the labels that a line chooses: numbers, labels, or free text where it is allowed.
fn choices(question: &QuestionInfo, line: &str) -> Result<Vec<String>, String> {
    if line.is_empty() {
        return Err(format!("give {}", allowed(question)));
    }
    let words: Vec<&str> =
        if question.multi_select { line.split(',').map(str::trim).collect() } else { vec![line] };
    let labels: Option<Vec<String>> = words.iter().map(|word| label(question, word)).collect();
    match labels {
        Some(labels) => Ok(labels),
        None if question.free_text && fits(question.format, line) => Ok(vec![line.to_owned()]),
        None => Err(format!("give {}", allowed(question))),
    }
}

fn label(question: &QuestionInfo, word: &str) -> Option<String> {
    let by_number = word.parse::<usize>().ok().and_then(|n| question.options.get(n.checked_sub(1)?));
    let by_name = || question.options.iter().find(|option| option.label.eq_ignore_ascii_case(word));
    by_number.or_else(by_name).map(|option| option.label.clone())
}

fn fits(format: Option<AnswerFormat>, line: &str) -> bool {
    match format {
        None => true,
        Some(AnswerFormat::Integer) => line.parse::<i64>().is_ok(),
        Some(AnswerFormat::Number) => line.parse::<f64>().is_ok_and(f64::is_finite),
    }
}

fn allowed(question: &QuestionInfo) -> String {
    let count = question.options.len();
    if count == 0 && question.format.is_some() {
        return "a number".to_owned();
    }
    match (count, question.multi_select, question.free_text) {
        (0, ..) => "some text".to_owned(),
        (_, false, false) => format!("1 to {count}"),
        (_, false, true) => format!("1 to {count}, or text"),
        (_, true, false) => format!("1 to {count}, several with commas"),
        (_, true, true) => format!("1 to {count}, several with commas, or text"),
    }
}

#[cfg(test)]
mod tests {
    use omniglot_schema::{PermissionStatus, QuestionOption, QuestionStatus, RequestMetadata};

    use super::*;

    fn permission(id: &str) -> PendingRequest {
        PendingRequest::Permission(PermissionEventData {
            permission_id: PermissionId(id.into()),
            action: "edit".into(),
            status: PermissionStatus::Requested,
            metadata: None,
        })
    }

    fn info(options: &[&str], multi_select: bool, free_text: bool) -> QuestionInfo {
        let options =
            options.iter().map(|l| QuestionOption { label: (*l).into(), description: None }).collect();
        QuestionInfo { prompt: "which?".into(), options, multi_select, free_text, ..QuestionInfo::default() }
    }

    fn asker(questions: Vec<QuestionInfo>) -> Asker {
        let mut asker = Asker::default();
        asker.add(PendingRequest::Question(QuestionEventData {
            question_id: QuestionId("q".into()),
            prompt: "which?".into(),
            options: vec![],
            status: QuestionStatus::Requested,
            response: None,
            metadata: Some(RequestMetadata { questions, ..RequestMetadata::default() }),
        }));
        asker
    }

    #[track_caller]
    fn answers(step: Step) -> Vec<Vec<String>> {
        match step {
            Step::Reply(Answer::Question { answers, .. }) => answers,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_letter_answers_a_permission() {
        let cases = [
            ("o", PermissionReply::Once),
            (" Always ", PermissionReply::Always),
            ("r", PermissionReply::Reject),
        ];
        for (line, reply) in cases {
            let mut asker = Asker::default();
            asker.add(permission("p"));
            let id = PermissionId("p".into());
            assert_eq!(asker.line(Some(line)), Step::Reply(Answer::Permission { id, reply }));
            assert!(asker.is_empty());
        }
    }

    #[test]
    fn an_unclear_answer_is_asked_again() {
        let mut asker = Asker::default();
        asker.add(permission("p"));
        assert!(matches!(asker.line(Some("")), Step::Again(_)));
        assert!(!asker.is_empty());
    }

    #[test]
    fn the_end_of_input_rejects() {
        let mut first = Asker::default();
        first.add(permission("p"));
        let id = PermissionId("p".into());
        assert_eq!(first.line(None), Step::Reply(Answer::Permission { id, reply: PermissionReply::Reject }));
        let id = QuestionId("q".into());
        assert_eq!(
            asker(vec![info(&["a"], false, false)]).line(None),
            Step::Reply(Answer::RejectQuestion { id })
        );
    }

    #[test]
    fn a_request_settled_elsewhere_is_no_longer_asked() {
        let mut asker = Asker::default();
        asker.add(permission("p1"));
        asker.add(permission("p2"));
        asker.settled("p1");
        let id = PermissionId("p2".into());
        assert_eq!(
            asker.line(Some("o")),
            Step::Reply(Answer::Permission { id, reply: PermissionReply::Once })
        );
        assert_eq!(asker.line(Some("o")), Step::Nothing);
    }

    #[test]
    fn options_are_chosen_by_number_or_name() {
        assert_eq!(answers(asker(vec![info(&["red", "blue"], false, false)]).line(Some("2"))), [["blue"]]);
        assert_eq!(answers(asker(vec![info(&["red", "blue"], false, false)]).line(Some("RED"))), [["red"]]);
        assert_eq!(
            answers(asker(vec![info(&["a", "b", "c"], true, false)]).line(Some("1, 3"))),
            [["a", "c"]]
        );
    }

    #[test]
    fn free_text_is_taken_only_where_allowed() {
        assert_eq!(answers(asker(vec![info(&["a"], false, true)]).line(Some("mine"))), [["mine"]]);
        assert!(matches!(asker(vec![info(&["a"], false, false)]).line(Some("mine")), Step::Again(_)));
        assert!(matches!(asker(vec![info(&["a"], false, false)]).line(Some("2")), Step::Again(_)));
    }

    #[test]
    fn a_number_is_asked_for_until_one_comes() {
        let count = QuestionInfo { format: Some(AnswerFormat::Integer), ..info(&[], false, true) };
        let mut asker = asker(vec![count]);
        assert_eq!(asker.line(Some("many")), Step::Again("give a number".to_owned()));
        assert_eq!(answers(asker.line(Some("3"))), [["3"]]);
    }

    #[test]
    fn several_questions_are_asked_one_after_the_other() {
        let mut asker = asker(vec![info(&["a"], false, false), info(&[], false, true)]);
        assert_eq!(asker.prompt().unwrap(), "  answer 1/2 (1 to 1)? ");
        assert_eq!(asker.line(Some("1")), Step::Next);
        assert_eq!(asker.prompt().unwrap(), "  answer 2/2 (some text)? ");
        assert_eq!(answers(asker.line(Some("x y"))), [["a"], ["x y"]]);
    }
}

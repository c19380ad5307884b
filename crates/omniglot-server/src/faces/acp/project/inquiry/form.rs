//! Questions as an elicitation form, one property each, and the filled form as answers.

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1::{
    CreateElicitationRequest, CreateElicitationResponse, ElicitationAction,
    ElicitationContentValue as Filled, ElicitationFormMode, ElicitationPropertySchema as Property,
    ElicitationSchema, ElicitationSessionScope, EnumOption, IntegerPropertySchema, MultiSelectPropertySchema,
    NumberPropertySchema, StringPropertySchema,
};
use omniglot_schema::{AnswerFormat, QuestionInfo, UniversalEvent};

use crate::faces::acp::project::Call;
use crate::faces::acp::wire::meta::Notes;

pub(super) fn request(
    event: &UniversalEvent,
    questions: &[QuestionInfo],
    call: Option<&Call>,
    notes: Notes,
) -> CreateElicitationRequest {
    let scope = ElicitationSessionScope::new(event.session_id.as_str().to_owned())
        .tool_call_id(call.map(|call| call.id.as_str().to_owned().into()));
    let mode = ElicitationFormMode::new(scope, schema(questions));
    CreateElicitationRequest::new(mode, message(questions)).meta(notes.into_meta())
}

fn message(questions: &[QuestionInfo]) -> String {
    match questions {
        [only] => match &only.detail {
            Some(detail) => format!("{}\n\n{detail}", only.prompt),
            None => only.prompt.clone(),
        },
        several => format!("The agent has {} questions.", several.len()),
    }
}

fn schema(questions: &[QuestionInfo]) -> ElicitationSchema {
    let mut schema = ElicitationSchema::new();
    for (place, question) in questions.iter().enumerate() {
        let has_other = question.free_text && !question.options.is_empty();
        schema = schema.property(name(place), property(question), !has_other);
        if has_other {
            let other = StringPropertySchema::new().title("Another answer");
            schema = schema.property(other_name(place), Property::String(other), false);
        }
    }
    schema
}

/// Names a property by its position: properties have no order but that of their names.
fn name(place: usize) -> String {
    format!("question_{:02}", place + 1)
}

fn other_name(place: usize) -> String {
    format!("{}_other", name(place))
}

fn property(question: &QuestionInfo) -> Property {
    let title = question.header.clone().unwrap_or_else(|| question.prompt.clone());
    let description = described(question);
    let options = || {
        question.options.iter().map(|option| {
            EnumOption::new(&option.label, &option.label).description(option.description.clone())
        })
    };
    match (question.options.is_empty(), question.format) {
        (false, _) if question.multi_select => Property::Array(
            MultiSelectPropertySchema::titled(options().collect()).title(title).description(description),
        ),
        (false, _) => Property::String(
            StringPropertySchema::new()
                .one_of(options().collect::<Vec<_>>())
                .title(title)
                .description(description),
        ),
        (true, Some(AnswerFormat::Integer)) => {
            Property::Integer(IntegerPropertySchema::new().title(title).description(description))
        }
        (true, Some(AnswerFormat::Number)) => {
            Property::Number(NumberPropertySchema::new().title(title).description(description))
        }
        (true, None) => Property::String(StringPropertySchema::new().title(title).description(description)),
    }
}

/// Returns the question where the title is a header, and the text that it is about.
fn described(question: &QuestionInfo) -> Option<String> {
    let prompt = question.header.as_ref().map(|_| question.prompt.clone());
    let texts: Vec<_> = prompt.into_iter().chain(question.detail.clone()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Reads the answers; `None` when the person declined to answer.
pub(super) fn answers(
    questions: &[QuestionInfo],
    response: CreateElicitationResponse,
) -> Option<Vec<Vec<String>>> {
    let ElicitationAction::Accept(accepted) = response.action else { return None };
    let content = accepted.content.unwrap_or_default();
    Some((0..questions.len()).map(|place| answer(&content, place)).collect())
}

fn answer(content: &BTreeMap<String, Filled>, place: usize) -> Vec<String> {
    let filled = [content.get(&name(place)), content.get(&other_name(place))];
    filled.into_iter().flatten().flat_map(words).filter(|word| !word.is_empty()).collect()
}

fn words(filled: &Filled) -> Vec<String> {
    match filled {
        Filled::String(text) => vec![text.clone()],
        Filled::Integer(number) => vec![number.to_string()],
        Filled::Number(number) => vec![number.to_string()],
        Filled::Boolean(value) => vec![value.to_string()],
        Filled::StringArray(texts) => texts.clone(),
        _ => vec![],
    }
}

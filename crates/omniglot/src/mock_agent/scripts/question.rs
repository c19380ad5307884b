//! Words that ask the person a question: a form of the client's elicitation.
//!
//! The answers are repeated as text, so that a test sees what really arrived.

use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, CreateElicitationRequest, CreateElicitationResponse, ElicitationAction,
    ElicitationContentValue as Value, ElicitationFormMode, ElicitationSchema, ElicitationSessionScope,
    EnumOption, Error, MultiSelectPropertySchema, StringPropertySchema, ToolCall, ToolCallStatus, ToolKind,
};
use serde_json::json;

use super::tools::ended;
use crate::mock_agent::turn::{Flow, Halt, Turn};

/// The result of an elicitation.
enum Elicited {
    Answers(String),
    Declined,
    Refused(Error),
}

/// Asks three questions by a tool call: one choice, several choices, free text.
pub(in crate::mock_agent) fn three(turn: &mut Turn<'_>, _: u64) -> Flow {
    let id = turn.next_call()?;
    let input = json!({ "fields": ["approach", "checks", "name"] });
    turn.start_call(
        ToolCall::new(id.clone(), "Ask about the work").name("ask").kind(ToolKind::Other).raw_input(input),
    )?;
    let scope = ElicitationSessionScope::new(turn.session.clone()).tool_call_id(id.clone());
    let heard = ask(turn, scope, three_fields(), "Before I start, please decide:")?;
    let (status, text) = match &heard {
        Elicited::Answers(answers) => (ToolCallStatus::Completed, answers.clone()),
        Elicited::Declined => (ToolCallStatus::Completed, "No answer.".to_owned()),
        Elicited::Refused(error) => (ToolCallStatus::Failed, error.message.clone()),
    };
    turn.change_call(&id, ended(status, text))?;
    tell(turn, heard)
}

/// Asks one question without a tool call, with a separate field for other answers, as claude-agent-acp does.
pub(in crate::mock_agent) fn one(turn: &mut Turn<'_>, _: u64) -> Flow {
    let colour = StringPropertySchema::new()
        .title("Colour".to_owned())
        .one_of(vec![EnumOption::new("Red", "Red"), EnumOption::new("Blue", "Blue")]);
    let other = StringPropertySchema::new().title("Other".to_owned());
    let schema = ElicitationSchema::new().property("question_0", colour, false).property(
        "question_0_custom",
        other,
        false,
    );
    let scope = ElicitationSessionScope::new(turn.session.clone());
    let heard = ask(turn, scope, schema, "Which colour shall it have?")?;
    tell(turn, heard)
}

fn three_fields() -> ElicitationSchema {
    let approach = StringPropertySchema::new().title("Approach".to_owned()).one_of(vec![
        EnumOption::new("quick", "Quick").description("The smallest change that works".to_owned()),
        EnumOption::new("thorough", "Thorough").description("With tests and documents".to_owned()),
    ]);
    let checks = MultiSelectPropertySchema::new(["fmt", "lint", "test"].map(str::to_owned).to_vec())
        .title("Checks".to_owned())
        .description("Which checks shall I run?".to_owned());
    let name = StringPropertySchema::new().description("What is the branch called?".to_owned());
    ElicitationSchema::new()
        .property("approach", approach, true)
        .property("checks", checks, false)
        .property("name", name, false)
}

fn ask(
    turn: &mut Turn<'_>,
    scope: ElicitationSessionScope,
    schema: ElicitationSchema,
    message: &str,
) -> Result<Elicited, Halt> {
    let request = CreateElicitationRequest::new(ElicitationFormMode::new(scope, schema), message);
    let answer: Result<CreateElicitationResponse, Error> =
        turn.call_client(CLIENT_METHOD_NAMES.elicitation_create, &request)?;
    match answer.map(|response| response.action) {
        Ok(ElicitationAction::Accept(accepted)) => {
            let content = accepted.content.unwrap_or_default();
            let fields: Vec<String> =
                content.iter().map(|(field, value)| format!("{field} = {}", text_of(value))).collect();
            Ok(Elicited::Answers(fields.join("; ")))
        }
        Ok(ElicitationAction::Decline) => Ok(Elicited::Declined),
        // A client answers this when it cancels the turn; its cancel may still be on the way.
        Ok(_) => Err(Halt::Cancelled),
        Err(error) => Ok(Elicited::Refused(error)),
    }
}

fn tell(turn: &mut Turn<'_>, heard: Elicited) -> Flow {
    let text = match heard {
        Elicited::Answers(answers) if answers.is_empty() => "You answered nothing.".to_owned(),
        Elicited::Answers(answers) => format!("You answered: {answers}."),
        Elicited::Declined => "You did not want to answer, so I decide myself.".to_owned(),
        Elicited::Refused(error) => {
            format!("The client answered with error {}: {}", i32::from(error.code), error.message)
        }
    };
    turn.say(&text)
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::StringArray(texts) => texts.join(", "),
        // No other form was requested; a test sees what arrived instead.
        other => format!("{other:?}"),
    }
}

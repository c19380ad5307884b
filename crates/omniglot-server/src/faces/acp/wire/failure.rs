//! Failures as JSON-RPC errors: failed turns, and commands that were refused.
//!
//! The code tells a client how to react; the error type of our other faces is in `_meta`.

use std::fmt;

use agent_client_protocol_schema::v1::{Error, ErrorCode};
use omniglot_schema::{AgentError, ErrorCode as TurnError, ErrorData, ErrorType, ProblemDetails};
use serde::Serialize;
use serde_json::{Map, Value};

use super::meta::{self, Notes};

/// Returns the answer to a prompt whose turn failed.
pub(crate) fn of_turn(failure: &ErrorData, notes: Notes) -> Error {
    let code = match failure.code {
        Some(TurnError::ProviderAuth) => ErrorCode::AuthRequired,
        _ => ErrorCode::InternalError,
    };
    let notes = notes.with(meta::ERROR_TYPE, Some(failure.code.unwrap_or(TurnError::Unknown)));
    Error::new(code.into(), failure.message.clone()).data(with_notes(failure.details.clone(), notes))
}

/// `data` of a refused command: the problem in the form of the REST face.
#[derive(Debug, Serialize)]
struct Refused<'a> {
    #[serde(flatten)]
    problem: &'a ProblemDetails,
    #[serde(rename = "_meta")]
    meta: Map<String, Value>,
}

/// Returns the error of a command that the daemon refused.
pub fn of_problem(problem: &ProblemDetails) -> Error {
    let word = problem.r#type.rsplit(':').next();
    let meta = Notes::default()
        .with(meta::ERROR_TYPE, word)
        .with(meta::AGENT, problem.agent.as_ref())
        .with(meta::SESSION_ID, problem.session_id.as_ref())
        .into_map();
    let message = problem.detail.as_deref().unwrap_or(&problem.title);
    // Most clients display only the message.
    let message = match &problem.hint {
        Some(hint) => format!("{message}; {hint}"),
        None => message.to_owned(),
    };
    let data = serde_json::to_value(Refused { problem, meta }).ok();
    Error::new(code(word.unwrap_or_default()).into(), message).data(data)
}

/// Adds the agent that an error is about, unless the error names one.
pub(crate) fn about_agent(error: Error, agent: &str) -> Error {
    let mut data = error.data.clone().unwrap_or_else(|| Value::Object(Map::new()));
    let Some(object) = data.as_object_mut() else { return error };
    let meta = object.entry("_meta").or_insert_with(|| Value::Object(Map::new()));
    if let Some(meta) = meta.as_object_mut() {
        meta.entry(meta::AGENT).or_insert_with(|| agent.into());
    }
    error.data(data)
}

/// Returns the error of parameters that do not fit.
pub(crate) fn unfit(why: impl fmt::Display) -> Error {
    of_problem(&ProblemDetails::new(ErrorType::InvalidRequest, why.to_string()))
}

/// Returns the error of a session whose agent requires a login first.
pub fn of_agent(refused: &AgentError) -> Error {
    let notes = Notes::default()
        .with(meta::ERROR_TYPE, Some(refused.r#type))
        .with(meta::AGENT, refused.agent.as_ref())
        .with(meta::SESSION_ID, refused.session_id.as_ref());
    Error::new(ErrorCode::AuthRequired.into(), refused.message.clone())
        .data(with_notes(refused.details.clone(), notes))
}

/// Joins the details of an error and its notes.
fn with_notes(details: Option<Value>, notes: Notes) -> Value {
    let mut data = match details {
        Some(Value::Object(details)) => details,
        Some(details) => Map::from_iter([("details".to_owned(), details)]),
        None => Map::new(),
    };
    data.insert("_meta".to_owned(), Value::Object(notes.into_map()));
    Value::Object(data)
}

fn code(word: &str) -> ErrorCode {
    let is = |kinds: &[ErrorType]| kinds.iter().any(|kind| kind.as_str() == word);
    if is(&[ErrorType::SessionNotFound, ErrorType::NotFound, ErrorType::Gone]) {
        ErrorCode::ResourceNotFound
    } else if is(&[ErrorType::InvalidRequest, ErrorType::UnsupportedAgent, ErrorType::ModeNotSupported]) {
        ErrorCode::InvalidParams
    } else if is(&[ErrorType::Conflict, ErrorType::SessionAlreadyExists]) {
        ErrorCode::InvalidRequest
    } else {
        ErrorCode::InternalError
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_command_names_its_agent_its_session_and_the_next_step() {
        let problem = ProblemDetails {
            agent: Some("pi".into()),
            session_id: Some("s".into()),
            hint: Some("install it".into()),
            ..ProblemDetails::new(ErrorType::AgentNotInstalled, "pi was not found")
        };
        insta::assert_json_snapshot!(of_problem(&problem), @r#"
        {
          "code": -32603,
          "message": "pi was not found; install it",
          "data": {
            "type": "urn:sandbox-agent:error:agent_not_installed",
            "title": "Agent Not Installed",
            "status": 404,
            "detail": "pi was not found",
            "agent": "pi",
            "session_id": "s",
            "hint": "install it",
            "_meta": {
              "sandbox-agent/errorType": "agent_not_installed",
              "sandbox-agent/agent": "pi",
              "sandbox-agent/sessionId": "s"
            }
          }
        }
        "#);
    }

    #[test]
    fn an_agent_that_wants_a_login_is_told_by_its_name() {
        let refused = AgentError {
            r#type: ErrorType::PermissionDenied,
            message: "log in first".into(),
            agent: Some("pi".into()),
            session_id: None,
            details: Some(serde_json::json!({ "methods": [] })),
        };
        let error = of_agent(&refused);
        assert_eq!(i32::from(error.code), -32000);
        let meta = serde_json::json!({ meta::ERROR_TYPE: "permission_denied", meta::AGENT: "pi" });
        assert_eq!(error.data, Some(serde_json::json!({ "methods": [], "_meta": meta })));
    }

    /// B16: the error names the agent, also where the problem does not.
    #[test]
    fn b16_an_error_names_its_agent_once() {
        let named = |error: Error| about_agent(error, "pi").data.unwrap()["_meta"][meta::AGENT].clone();
        assert_eq!(named(Error::internal_error()), "pi");
        assert_eq!(named(unfit("x")), "pi");
        let problem = ProblemDetails {
            agent: Some("amp".into()),
            ..ProblemDetails::new(ErrorType::AgentNotInstalled, "x")
        };
        assert_eq!(named(of_problem(&problem)), "amp");
        let plain = Error::method_not_found().data(Value::from("session/dance"));
        assert_eq!(about_agent(plain.clone(), "pi"), plain);
    }

    #[test]
    fn what_a_client_can_mend_is_told_by_the_code() {
        let code = |kind| i32::from(of_problem(&ProblemDetails::new(kind, "x")).code);
        assert_eq!(code(ErrorType::SessionNotFound), -32002);
        assert_eq!(code(ErrorType::ModeNotSupported), -32602);
        assert_eq!(code(ErrorType::Conflict), -32600);
        assert_eq!(code(ErrorType::Internal), -32603);
    }
}

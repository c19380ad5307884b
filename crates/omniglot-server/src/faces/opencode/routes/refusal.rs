//! Error responses in OpenCode's form: `name` and `data.message`, which its clients display, beside the
//! members of our own problems.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::WWW_AUTHENTICATE;
use http::{HeaderValue, StatusCode};
use omniglot_runtime::RuntimeError;
use omniglot_schema::{ErrorType, ProblemDetails, SessionId};
use serde::Serialize;

use crate::http::problem::Problem;

#[derive(Debug)]
pub(crate) struct Refusal(Problem);

/// The message of a refusal, beside the response that carries it.
#[derive(Debug, Clone)]
pub(crate) struct Message(pub(crate) String);

#[derive(Serialize)]
struct Body<'a> {
    name: &'static str,
    data: Data,
    #[serde(flatten)]
    problem: &'a ProblemDetails,
}

#[derive(Serialize)]
struct Data {
    message: String,
}

impl Refusal {
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self(Problem::invalid(detail))
    }

    pub(crate) fn no_session(id: &str) -> Self {
        Self(Problem::new(ErrorType::SessionNotFound, format!("no session {id}")))
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self(Problem::new(ErrorType::NotFound, detail))
    }

    pub(crate) fn session(self, id: &SessionId) -> Self {
        Self(self.0.session(id))
    }

    /// Converts the problem of a request that ends before a handler of this face.
    pub(crate) fn of(problem: Problem) -> Self {
        Self(problem)
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl From<RuntimeError> for Refusal {
    fn from(error: RuntimeError) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let details = self.0.details();
        let status = StatusCode::from_u16(details.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let message = message(details);
        let data = Data { message: message.clone() };
        let body = Body { name: name(status), data, problem: details };
        let mut response = (status, Json(body)).into_response();
        response.extensions_mut().insert(Message(message));
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Basic realm=\"omniglot\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// Returns the words for a person.
pub(crate) fn message(details: &ProblemDetails) -> String {
    let detail = details.detail.as_deref().unwrap_or(&details.title);
    match &details.hint {
        Some(hint) => format!("{detail}; {hint}"),
        None => detail.to_owned(),
    }
}

/// Returns the error names of OpenCode's own server.
fn name(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "NotFoundError",
        StatusCode::BAD_REQUEST => "BadRequest",
        _ => "UnknownError",
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn a_refusal_has_the_message_that_clients_show_and_our_problem_beside_it() {
        let refusal = Refusal::of(Problem::new(ErrorType::TokenInvalid, "a token is required").hint("look"));
        let response = refusal.into_response();
        assert_eq!(response.status(), 401);
        assert!(response.headers()[WWW_AUTHENTICATE].to_str().unwrap().starts_with("Basic"));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["data"]["message"], "a token is required; look");
        assert_eq!(body["status"], 401);
    }
}

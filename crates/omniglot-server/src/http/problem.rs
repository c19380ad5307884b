//! Errors as answers: the one place where a [`RuntimeError`] becomes `application/problem+json`.
//!
//! The cause of an internal error goes to the log and never to the client.

use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use omniglot_runtime::{ProcessError, RuntimeError};
use omniglot_schema::{ErrorType, ProblemDetails, SessionId};
use omniglot_store::StoreError;

/// An error response for the client.
#[derive(Debug)]
pub(crate) struct Problem {
    details: Box<ProblemDetails>,
    retry_after: Option<u32>,
}

impl Problem {
    pub(crate) fn new(kind: ErrorType, detail: impl Into<String>) -> Self {
        Self { details: Box::new(ProblemDetails::new(kind, detail)), retry_after: None }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(ErrorType::InvalidRequest, detail)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.details.hint = Some(hint.into());
        self
    }

    pub(crate) fn status(mut self, status: StatusCode) -> Self {
        self.details.status = status.as_u16();
        self
    }

    pub(crate) fn session(mut self, id: &SessionId) -> Self {
        self.details.session_id = Some(id.to_string());
        self
    }

    pub(crate) fn agent(mut self, agent: &str) -> Self {
        self.details.agent = Some(agent.to_owned());
        self
    }

    /// Adds a member.
    pub(crate) fn with(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.details.more.insert(name.to_owned(), value.into());
        self
    }

    /// The daemon cannot serve this request now; the client may retry.
    pub(crate) fn unavailable(detail: impl Into<String>) -> Self {
        let problem = Self::new(ErrorType::Overloaded, detail).status(StatusCode::SERVICE_UNAVAILABLE);
        Self { retry_after: Some(1), ..problem }
    }

    /// A limit is reached; the client may retry.
    pub(crate) fn overloaded(detail: impl Into<String>) -> Self {
        Self { retry_after: Some(1), ..Self::new(ErrorType::Overloaded, detail) }
    }

    pub(crate) fn details(&self) -> &ProblemDetails {
        &self.details
    }
}

/// Adds the session of a refused command to the problem.
pub(crate) trait InSession<T> {
    fn in_session(self, id: &SessionId) -> Result<T, Problem>;
}

impl<T, E: Into<Problem>> InSession<T> for Result<T, E> {
    fn in_session(self, id: &SessionId) -> Result<T, Problem> {
        self.map_err(|error| error.into().session(id))
    }
}

impl From<RuntimeError> for Problem {
    fn from(error: RuntimeError) -> Self {
        let hint = error.hint();
        let problem = convert(error);
        match hint {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    }
}

fn convert(error: RuntimeError) -> Problem {
    use RuntimeError as E;
    let problem = Problem::new(error.kind(), error.to_string());
    match &error {
        E::UnsupportedAgent { name: agent, .. }
        | E::AgentNotInstalled { agent, .. }
        | E::VersionNotInstalled { agent, .. }
        | E::InstallFailed { agent, .. }
        | E::AgentFailed { agent, .. }
        | E::AgentUnavailable { agent, .. }
        | E::AgentSilent { agent, .. } => problem.agent(agent),
        E::QueueFull(_)
        | E::Overloaded(_)
        | E::Process(ProcessError::TooMany(_) | ProcessError::InputFull(_)) => {
            Problem { retry_after: Some(1), ..problem }
        }
        E::Restore(restore) if !restore.paths().is_empty() => problem.with("paths", restore.paths()),
        E::Stopping | E::CommitOverdue { .. } => Problem::unavailable(error.to_string()),
        E::Store(store) => log_refused(store),
        _ => problem,
    }
}

fn log_refused(error: &StoreError) -> Problem {
    match error {
        StoreError::NoSession => Problem::new(ErrorType::SessionNotFound, "the session was deleted"),
        StoreError::Exists => Problem::new(ErrorType::SessionAlreadyExists, error.to_string())
            .hint("choose another id, or go on with that session"),
        StoreError::Closed => Problem::unavailable("the daemon is shutting down"),
        StoreError::Damaged { .. } | StoreError::DamagedFrame { .. } => {
            tracing::error!(%error, "the event log is damaged");
            Problem::new(ErrorType::Internal, error.to_string())
                .hint("what comes after it can be read with a higher offset")
        }
        StoreError::DamagedSession { .. }
        | StoreError::DamagedMessage { .. }
        | StoreError::DamagedReceipt { .. } => {
            tracing::error!(%error, "the event log is damaged");
            Problem::new(ErrorType::Internal, error.to_string())
                .hint("other sessions go on; `omniglot db check` names everything that is damaged")
        }
        _ => {
            tracing::error!(error = error as &dyn std::error::Error, "the event log refused a request");
            Problem::new(ErrorType::Internal, "the event log cannot be read or written").hint(
                "check the space and the permissions of the data directory; the daemon's log has the cause",
            )
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.details.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(&*self.details)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        // Browsers keep a 410 for ever by default, and would answer requests without that cursor with it, too.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn shown(error: RuntimeError) -> (u16, String, Option<String>) {
        let response = Problem::from(error).into_response();
        let header =
            |name| response.headers().get(name).map(|v: &HeaderValue| v.to_str().unwrap().to_owned());
        assert_eq!(header(CONTENT_TYPE).as_deref(), Some("application/problem+json"));
        assert_eq!(header(CACHE_CONTROL).as_deref(), Some("no-store"));
        (response.status().as_u16(), header(RETRY_AFTER).unwrap_or_default(), header(WWW_AUTHENTICATE))
    }

    #[test]
    fn a_full_queue_says_when_to_come_again() {
        assert_eq!(shown(RuntimeError::QueueFull(64)), (429, "1".into(), None));
        assert_eq!(shown(RuntimeError::Stopping), (503, "1".into(), None));
        let overdue = RuntimeError::CommitOverdue { seconds: 1, fault: None };
        assert_eq!(shown(overdue), (503, "1".into(), None));
        assert_eq!(shown(RuntimeError::Busy), (409, String::new(), None));
    }

    #[test]
    fn a_problem_names_agent_session_and_next_step() {
        let hint = Some("install it, or set `command` under [agents.pi] in omniglot.toml".to_owned());
        let error = RuntimeError::AgentNotInstalled { agent: "pi".into(), program: "pi".into(), hint };
        let result: Result<(), _> = Err(error);
        let problem = result.in_session(&SessionId::parse("s").unwrap()).unwrap_err();
        insta::assert_json_snapshot!(problem.details(), @r#"
        {
          "type": "urn:sandbox-agent:error:agent_not_installed",
          "title": "Agent Not Installed",
          "status": 404,
          "detail": "the program of agent pi was not found: pi",
          "agent": "pi",
          "session_id": "s",
          "hint": "install it, or set `command` under [agents.pi] in omniglot.toml"
        }
        "#);
    }

    #[test]
    fn the_cause_of_an_internal_error_is_not_told() {
        let cause = std::io::Error::other("/secret/path");
        let problem = Problem::from(RuntimeError::Store(StoreError::Io(cause)));
        let text = serde_json::to_string(problem.details()).unwrap();
        assert!(!text.contains("secret"), "{text}");
        assert_eq!(problem.details().status, 500);
    }
}

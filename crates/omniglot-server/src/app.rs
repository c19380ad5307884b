//! The state of every route, and how a command outlives its client.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use http::request::Parts;
use jiff::Timestamp;
use omniglot_runtime::{Caller, Hub, RuntimeError};
use omniglot_schema::{ErrorType, Scope};
use tokio_util::sync::CancellationToken;

use crate::hooks::Hooks;
use crate::http::metrics::HttpMetrics;
use crate::http::problem::Problem;

/// The daemon as the caller of one request may use it. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App {
    /// Shows the sessions that the caller sees.
    pub(crate) hub: Hub,
    pub(crate) limits: Limits,
    pub(crate) http: Arc<HttpMetrics>,
    pub(crate) hooks: Hooks,
    pub(crate) started: Timestamp,
    /// Ends every event stream when the server stops.
    pub(crate) stop: CancellationToken,
}

impl App {
    /// Refuses a part of a route that needs more than the route itself.
    pub(crate) fn need(&self, needed: Scope, what: &str) -> Result<(), Problem> {
        let caller = self.hub.caller();
        if caller.may(needed) { Ok(()) } else { Err(lacking(caller, needed, what)) }
    }

    /// Refuses what would show a limited caller more than its sessions.
    pub(crate) fn need_no_limit(&self, what: &str) -> Result<(), Problem> {
        match self.hub.caller().limit() {
            Some(limit) => Err(Problem::new(
                ErrorType::PermissionDenied,
                format!("{what} is not for a token that is limited to sessions with {limit}"),
            )),
            None => Ok(()),
        }
    }
}

/// The refusal of a caller whose token allows less than is needed.
pub(crate) fn lacking(caller: &Caller, needed: Scope, what: &str) -> Problem {
    let detail = format!("{what} needs the scope `{needed}`; this token has `{}`", caller.scope());
    let hint = format!("`omniglot tokens create NAME --scope {needed}` makes a token that may");
    Problem::new(ErrorType::PermissionDenied, detail).hint(hint)
}

/// The state that a router has. Handlers cannot read it: they extract its content in the name of their caller.
#[derive(Clone)]
pub(crate) struct Unscoped<F>(F);

/// State that has a form for each caller.
pub(crate) trait ForCaller: Clone {
    fn app(&self) -> &App;
    fn for_caller(&self, caller: Caller) -> Self;
}

impl<F: ForCaller> Unscoped<F> {
    pub(crate) fn new(state: F) -> Self {
        Self(state)
    }

    pub(crate) fn limits(&self) -> Limits {
        self.0.app().limits
    }

    /// The check before all routes has put the caller there.
    pub(crate) fn of_request(&self, parts: &Parts) -> Result<F, Problem> {
        match parts.extensions.get::<Caller>() {
            Some(caller) => Ok(self.0.for_caller(caller.clone())),
            None => Err(Problem::new(ErrorType::Internal, "the request came without its caller")),
        }
    }
}

impl ForCaller for App {
    fn app(&self) -> &App {
        self
    }

    fn for_caller(&self, caller: Caller) -> Self {
        Self { hub: self.hub.for_caller(caller), ..self.clone() }
    }
}

impl FromRequestParts<Unscoped<Self>> for App {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Unscoped<Self>) -> Result<Self, Problem> {
        state.of_request(parts)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) max_body: usize,
    pub(crate) stall: Duration,
    pub(crate) heartbeat: Duration,
    /// How many ACP clients are remembered.
    pub(crate) acp_clients: usize,
}

/// Carries a command out to its end, also when its client hangs up: dropping it half way could leave an
/// agent process without a session, or a committed message without a receipt.
pub(crate) async fn complete<T: Send + 'static>(
    command: impl Future<Output = Result<T, RuntimeError>> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::spawn(command).await {
        Ok(result) => Ok(result?),
        Err(error) => {
            tracing::error!(%error, "a command broke off");
            Err(Problem::new(ErrorType::Internal, "the command broke off; the daemon's log has the cause"))
        }
    }
}

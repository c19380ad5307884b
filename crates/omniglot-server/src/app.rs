//! The state of every route, and how a command outlives its client.

use std::time::Duration;

use jiff::Timestamp;
use omniglot_runtime::{Hub, RuntimeError};
use omniglot_schema::ErrorType;
use tokio_util::sync::CancellationToken;

use crate::http::problem::Problem;

/// The state of all routes. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) hub: Hub,
    pub(crate) limits: Limits,
    pub(crate) started: Timestamp,
    /// Ends every event stream when the server stops.
    pub(crate) stop: CancellationToken,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) max_body: usize,
    pub(crate) stall: Duration,
    pub(crate) heartbeat: Duration,
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

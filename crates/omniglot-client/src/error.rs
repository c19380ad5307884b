//! The errors between a client and the daemon.

use std::path::PathBuf;

use omniglot_schema::ProblemDetails;
use reqwest::StatusCode;

use crate::client::CONNECT_TIMEOUT;

/// The reason why a request could not be made or answered.
type Cause = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The daemon refused; the problem has the reason and a hint.
    #[error("{}", .0.detail.as_deref().unwrap_or(&.0.title))]
    Problem(Box<ProblemDetails>),
    /// No process listens, or the network is down. Nothing was sent.
    #[error("cannot reach the daemon")]
    Connect(#[source] Cause),
    /// The connection broke during the exchange.
    #[error("the connection to the daemon broke")]
    Transport(#[source] Cause),
    /// Not even a heartbeat or the answer to a health check arrived in time.
    #[error("the daemon has been silent for {0} s")]
    Silent(u64),
    #[error("the daemon's answer cannot be read")]
    Decode(#[from] serde_json::Error),
    /// An answer that is neither ours nor a problem: another program listens there.
    #[error("unexpected answer with status {0}")]
    Unexpected(StatusCode),
    #[error("`{0}` is not the address of a daemon")]
    Url(String),
    #[error("the authorities in {} cannot be used: {reason}", path.display())]
    Authorities { path: PathBuf, reason: String },
    #[error("no file with the authorities that this system trusts was found; OMNIGLOT_CA names one")]
    NoAuthorities,
    #[error("TLS cannot be used")]
    Tls(#[source] Cause),
}

impl ClientError {
    pub(crate) fn tls(error: tokio_rustls::rustls::Error) -> Self {
        Self::Tls(error.into())
    }

    pub fn problem(&self) -> Option<&ProblemDetails> {
        match self {
            Self::Problem(problem) => Some(problem),
            _ => None,
        }
    }

    /// The status of a refusal.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Problem(problem) => Some(problem.status),
            Self::Unexpected(status) => Some(status.as_u16()),
            _ => None,
        }
    }
}

impl From<reqwest::Error> for ClientError {
    fn from(error: reqwest::Error) -> Self {
        if error.is_connect() {
            Self::Connect(error.into())
        } else if error.is_timeout() {
            Self::Silent(CONNECT_TIMEOUT.as_secs())
        } else {
            Self::Transport(error.into())
        }
    }
}

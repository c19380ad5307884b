//! Finds the session that a person names: by its id, or by a unique prefix.

use anyhow::anyhow;
use omniglot_client::{Client, SessionFilter};
use omniglot_schema::{SessionDetail, SessionId, SessionInfo};

use crate::usage::UsageError;

/// The number of candidates that are printed when several fit.
const NAMED: usize = 10;

/// Parses the typed text as an id.
pub(crate) fn id(typed: &str) -> Result<SessionId, UsageError> {
    SessionId::parse(typed).map_err(|error| UsageError::new(format!("`{typed}`: {error}")))
}

/// Returns the session of this id; else the only one whose id has this prefix.
pub(crate) async fn session(client: &Client, typed: &str) -> anyhow::Result<SessionDetail> {
    let typed = id(typed)?;
    match client.detail(&typed).await {
        Err(error) if error.status() == Some(404) => {}
        other => return Ok(other?),
    }
    let known = client.list(&SessionFilter::default()).await?;
    let found = only(&typed, &known)?;
    Ok(client.detail(found).await?)
}

fn only<'a>(typed: &SessionId, known: &'a [SessionInfo]) -> anyhow::Result<&'a SessionId> {
    let fits: Vec<&SessionId> = known
        .iter()
        .map(|info| &info.session_id)
        .filter(|id| id.as_str().starts_with(typed.as_str()))
        .collect();
    match *fits {
        [] => Err(anyhow!("no session {typed}, and none that begins so; `omniglot sessions list` shows all")),
        [one] => Ok(one),
        _ => Err(ambiguous(typed, &fits).into()),
    }
}

fn ambiguous(typed: &SessionId, fits: &[&SessionId]) -> UsageError {
    let named: Vec<&str> = fits.iter().take(NAMED).map(|id| id.as_str()).collect();
    let more = if fits.len() > NAMED { ", …" } else { "" };
    UsageError::new(format!(
        "{} sessions begin with {typed}: {}{more}; type more of the id",
        fits.len(),
        named.join(", ")
    ))
}

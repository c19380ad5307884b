//! `omniglot sessions cancel`, `terminate` and `rm`: cancel a turn, end a session, delete it.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use omniglot_client::{Client, SessionFilter};
use omniglot_schema::{QueueOnCancel, SessionDetail, SessionId, SessionInfo, SessionStatus};
use serde::Serialize;

use super::find;
use crate::cli::{CancelArgs, RmArgs, SomeArgs};
use crate::print;
use crate::run::scratch;
use crate::usage::UsageError;
use crate::with_daemon::with_daemon;

/// The action on one session.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Done {
    session_id: SessionId,
    done: &'static str,
    #[serde(skip)]
    words: &'static str,
}

pub(crate) async fn cancel(args: &CancelArgs) -> anyhow::Result<ExitCode> {
    let queue = if args.drop_queue { QueueOnCancel::Drop } else { QueueOnCancel::Keep };
    each(&args.sessions, async |client, detail| {
        client.cancel(&detail.info.session_id, queue).await?;
        Ok(match detail.status {
            SessionStatus::Idle => ("idle", "no turn was running"),
            SessionStatus::Running | SessionStatus::Waiting => ("cancelled", "the turn is being cancelled"),
        })
    })
    .await
}

pub(crate) async fn terminate(args: &SomeArgs) -> anyhow::Result<ExitCode> {
    each(args, async |client, detail| {
        client.terminate(&detail.info.session_id).await?;
        Ok(if detail.info.ended { ("ended", "had ended before") } else { ("terminated", "ended") })
    })
    .await
}

pub(crate) async fn remove(args: &RmArgs) -> anyhow::Result<ExitCode> {
    if !args.yes && !io::stdin().is_terminal() {
        return Err(UsageError::new("there is no terminal to ask at; give --yes").into());
    }
    each(&args.sessions, async |client, detail| {
        if !args.yes && !confirmed(detail)? {
            return Ok(("kept", "kept"));
        }
        client.delete_with(&detail.info.session_id, args.force).await?;
        let scratch = remove_scratch(client, &detail.info).await?;
        Ok(("deleted", if scratch { "deleted, with its scratch project" } else { "deleted" }))
    })
    .await
}

/// Removes the scratch project of a deleted session, unless another session works there.
async fn remove_scratch(client: &Client, info: &SessionInfo) -> anyhow::Result<bool> {
    let Some(directory) = &info.directory else { return Ok(false) };
    let others = client.list(&SessionFilter::default()).await?;
    if others.iter().any(|other| other.directory.as_ref() == Some(directory)) {
        return Ok(false);
    }
    match scratch::remove(Path::new(directory)) {
        Ok(removed) => Ok(removed),
        Err(error) => {
            print::note(&format!("omniglot: {directory} stays: {error}"));
            Ok(false)
        }
    }
}

/// Looks up all ids before any session is changed.
async fn each(
    args: &SomeArgs,
    act: impl AsyncFn(&Client, &SessionDetail) -> anyhow::Result<(&'static str, &'static str)>,
) -> anyhow::Result<ExitCode> {
    with_daemon(&args.talk.data, async |client| {
        let mut sessions = vec![];
        for typed in &args.ids {
            sessions.push(find::session(client, typed).await?);
        }
        for detail in &sessions {
            let (done, words) = act(client, detail).await?;
            report(args.talk.json, &Done { session_id: detail.info.session_id.clone(), done, words })?;
        }
        Ok(ExitCode::SUCCESS)
    })
    .await
}

fn report(json: bool, done: &Done) -> anyhow::Result<()> {
    if json { print::json(done) } else { print::line(&format!("{}: {}", done.session_id, done.words)) }
}

fn confirmed(detail: &SessionDetail) -> anyhow::Result<bool> {
    let info = &detail.info;
    write!(io::stderr(), "delete session {} with its {} events? [y/N] ", info.session_id, info.event_count)?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

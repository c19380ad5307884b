//! `omniglot sessions list`.

use std::process::ExitCode;

use jiff::Timestamp;
use omniglot_client::SessionFilter;
use omniglot_schema::{SessionInfo, SessionStatus};

use crate::cli::ListArgs;
use crate::print;
use crate::table::{Give, Sheet, Table};
use crate::times::ago;
use crate::with_daemon::with_daemon;

pub(crate) async fn list(args: &ListArgs) -> anyhow::Result<ExitCode> {
    let filter = SessionFilter {
        limit: args.limit,
        after: None,
        agent: args.agent.clone(),
        ended: if args.ended { Some(true) } else { args.open.then_some(false) },
        labels: args.labels.clone(),
    };
    let sessions = with_daemon(&args.talk.data, async |client| Ok(client.list(&filter).await?)).await?;
    if args.talk.json {
        sessions.iter().try_for_each(print::json)?;
    } else if sessions.is_empty() {
        print::note(match filter.agent.is_some() || filter.ended.is_some() || !filter.labels.is_empty() {
            true => "there are no such sessions; `omniglot sessions list` shows all",
            false => "there are no sessions; `omniglot run \"…\"` makes one",
        });
    } else {
        print::text(&table(&sessions, Timestamp::now()).render(Sheet::of_stdout()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn table(sessions: &[SessionInfo], now: Timestamp) -> Table {
    let mut table = Table::new(&[
        ("ID", Give::Whole),
        ("AGENT", Give::Whole),
        ("STATUS", Give::Whole),
        ("UPDATED", Give::Whole),
        ("EVENTS", Give::Whole),
        ("DIRECTORY", Give::Shrinks),
        ("TITLE", Give::Shrinks),
    ]);
    for info in sessions {
        table.row([
            info.session_id.to_string(),
            info.agent.clone(),
            status(info.ended, info.status).to_owned(),
            ago(now, info.updated_at),
            info.event_count.to_string(),
            info.directory.clone().unwrap_or_default(),
            info.title.clone().unwrap_or_default(),
        ]);
    }
    table
}

/// Returns one word for the status of a session.
pub(super) fn status(ended: bool, status: Option<SessionStatus>) -> &'static str {
    match status {
        _ if ended => "ended",
        Some(SessionStatus::Running) => "running",
        Some(SessionStatus::Waiting) => "waiting",
        Some(SessionStatus::Idle) => "idle",
        None => "?",
    }
}

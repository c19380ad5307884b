//! `omniglot audit`: prints who has changed what.

use std::process::ExitCode;

use jiff::Timestamp;
use omniglot_schema::AuditEntry;

use crate::cli::AuditArgs;
use crate::print;
use crate::table::{Give, Sheet, Table};
use crate::times::moment;
use crate::with_daemon::with_daemon;

pub(crate) async fn run(args: AuditArgs) -> anyhow::Result<ExitCode> {
    let since = args.since.map(|since| since.moment(Timestamp::now()));
    let entries = with_daemon(&args.talk.data, async |client| {
        let mut all: Vec<AuditEntry> = vec![];
        loop {
            let after = all.last().map_or(0, |entry| entry.number);
            let page = client.audit(after, since).await?;
            all.extend(page.entries);
            if !page.has_more {
                return Ok(all);
            }
        }
    })
    .await?;
    if args.talk.json {
        entries.iter().try_for_each(print::json)?;
    } else if entries.is_empty() {
        print::note("nothing was changed");
    } else {
        print::text(&table(&entries).render(Sheet::of_stdout()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn table(entries: &[AuditEntry]) -> Table {
    let mut table = Table::new(&[
        ("TIME", Give::Whole),
        ("WHO", Give::Whole),
        ("FROM", Give::Whole),
        ("OUTCOME", Give::Whole),
        ("WHAT", Give::Shrinks),
        ("SESSION", Give::Shrinks),
    ]);
    for AuditEntry { time, call, .. } in entries {
        table.row([
            moment(*time),
            call.who.clone(),
            call.from.clone().unwrap_or_default(),
            call.outcome.clone(),
            call.what.clone(),
            call.session_id.as_ref().map(ToString::to_string).unwrap_or_default(),
        ]);
    }
    table
}

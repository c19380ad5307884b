//! `omniglot sessions search`.

use std::process::ExitCode;

use jiff::Timestamp;
use omniglot_schema::{ItemKind, ItemRole, SearchHit, SearchResponse};

use crate::cli::SearchArgs;
use crate::print;
use crate::run::render::style::clean;
use crate::table::{Give, Sheet, Table};
use crate::times::ago;
use crate::with_daemon::with_daemon;

/// Exits with 1 when nothing is found, as `grep` does.
pub(crate) async fn search(args: &SearchArgs) -> anyhow::Result<ExitCode> {
    let words = args.words.join(" ");
    let found =
        with_daemon(&args.talk.data, async |client| Ok(client.search(&words, Some(args.limit)).await?));
    let SearchResponse { hits, has_more } = found.await?;
    if args.talk.json {
        hits.iter().try_for_each(print::json)?;
    } else if hits.is_empty() {
        print::note("nothing has these words");
    } else {
        print::text(&table(&hits, Timestamp::now()).render(Sheet::of_stdout()))?;
    }
    if has_more {
        print::note(&format!("there is more than {}; --limit shows it", hits.len()));
    }
    Ok(if hits.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn table(hits: &[SearchHit], now: Timestamp) -> Table {
    let mut table = Table::new(&[
        ("SESSION", Give::Whole),
        ("AGENT", Give::Whole),
        ("WHEN", Give::Whole),
        ("WHO", Give::Whole),
        ("TEXT", Give::Shrinks),
    ]);
    for hit in hits {
        let who = match (hit.kind, hit.role) {
            (ItemKind::ToolCall, _) => "tool",
            (_, Some(ItemRole::User)) => "person",
            _ => "agent",
        };
        let (session, agent) = (hit.session_id.to_string(), hit.agent.clone());
        table.row([session, agent, ago(now, hit.time), who.to_owned(), clean(&hit.text)]);
    }
    table
}

//! A long session read from its beginning by a late client. Only omniglot has something to replay.

use std::time::Instant;

use crate::ours::Ours;
use crate::subject::{Agent, Programs, Subject as _};
use crate::table::Better::{Less, More};
use crate::table::{Figure, Table};

pub(crate) async fn replay(programs: &Programs, chunks: u64, table: &mut Table) -> anyhow::Result<()> {
    let server = Ours::start(programs, Agent::Mock).await?;
    let last = server.turn(&format!("[[flood:{chunks}]]")).await?;
    let (_tell_end, end) = tokio::sync::watch::channel(Some(last));
    let began = Instant::now();
    let seen = server.subscribe_after(0).await?.run(end).await?;
    let rate = Figure::rate(seen.events, seen.at - began);
    table.add(Ours::NAME, format!("replay of {chunks} events"), rate, More, "≥ 500,000/s");
    table.add(Ours::NAME, "replay: lost or doubled", Figure::count(seen.lost + seen.doubled), Less, "0");
    Ok(())
}

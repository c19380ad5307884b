//! Measures the time from the agent's write of a delta to the client's read, one delta at a time.

use std::time::Duration;

use anyhow::Context as _;

use crate::agent::monotonic;
use crate::subject::{Agent, Programs, Subject};
use crate::subscriber::Subscriber;
use crate::table::Better::Less;
use crate::table::{Figure, Table};

pub(crate) async fn deltas<S: Subject>(
    programs: &Programs,
    chunks: usize,
    table: &mut Table,
) -> anyhow::Result<()> {
    let server = S::start(programs, Agent::Clock).await?;
    let subscriber = server.subscribe().await?;
    let prompt = chunks.to_string();
    let (delays, last) = tokio::join!(delays(subscriber, chunks), server.turn(&prompt));
    last?;
    let mut delays = delays?;
    delays.sort_unstable();
    let at = |part: usize| delays.get(delays.len() * part / 100).copied().context("delays");
    table.add(S::NAME, "delta latency, median", Figure::millis(at(50)?), Less, "≤ 0.2 ms");
    table.add(S::NAME, "delta latency, 99th percentile", Figure::millis(at(99)?), Less, "");
    Ok(())
}

async fn delays(mut subscriber: Subscriber, chunks: usize) -> anyhow::Result<Vec<Duration>> {
    let mut delays = vec![];
    while delays.len() < chunks {
        anyhow::ensure!(subscriber.read().await?, "the stream ended");
        let now = monotonic();
        delays.extend(times(subscriber.bytes()).map(|at| Duration::from_nanos(now.saturating_sub(at))));
        subscriber.clear();
    }
    Ok(delays)
}

/// Returns the times in the deltas of a read; a read holds whole events when a server writes them at once.
fn times(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let time = |rest: &str| rest.split(' ').next()?.parse().ok();
    let times: Vec<u64> = text.split(r#":"t"#).skip(1).filter_map(time).collect();
    times.into_iter()
}

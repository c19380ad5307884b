//! A flood of chunks, delivered to many subscribers at once.

use std::time::Instant;

use crate::process::{cpu_time, writes};
use crate::subject::{Agent, Programs, Subject};
use crate::table::Better::{Less, More};
use crate::table::{Figure, Table};

pub(crate) async fn flood<S: Subject>(
    programs: &Programs,
    chunks: u64,
    subscribers: usize,
    table: &mut Table,
) -> anyhow::Result<()> {
    let server = S::start(programs, Agent::Mock).await?;
    let (tell_end, end) = tokio::sync::watch::channel(None);
    let mut readers = vec![];
    for _ in 0..subscribers {
        readers.push(tokio::spawn(server.subscribe().await?.run(end.clone())));
    }
    let (began, cpu, calls) = (Instant::now(), cpu_time(server.pid())?, writes(server.pid())?);
    tell_end.send(Some(server.turn(&format!("[[flood:{chunks}]]")).await?))?;
    let (mut delivered, mut lost, mut doubled, mut at) = (0, 0, 0, began);
    for reader in readers {
        let seen = reader.await??;
        delivered += seen.events;
        lost += seen.lost;
        doubled += seen.doubled;
        at = at.max(seen.at);
    }
    let (took, cpu) = (at - began, cpu_time(server.pid())? - cpu);
    let calls = writes(server.pid())? - calls;
    let (rate_target, cpu_target, write_target) = match subscribers {
        1 => ("≥ 150,000/s", "≤ 8 µs", ""),
        100 => ("≥ 1,000,000/s", "", "≥ 10"),
        _ => ("", "", ""),
    };
    let mut add = |what: &str, figure, better, target| {
        table.add(S::NAME, format!("{what}, {subscribers} subscribers"), figure, better, target);
    };
    add("deliveries", Figure::rate(delivered, took), More, rate_target);
    add("events lost", Figure::count(lost), Less, "0");
    add("events doubled", Figure::count(doubled), Less, "0");
    add("CPU per delivery", Figure::micros(cpu, delivered), Less, cpu_target);
    add("deliveries per write call", Figure::ratio(delivered, calls), More, write_target);
    Ok(())
}

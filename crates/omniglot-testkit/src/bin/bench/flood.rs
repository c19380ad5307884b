//! A flood of chunks, committed and delivered to many subscribers at once.

use std::path::Path;
use std::time::{Duration, Instant};

use omniglot_schema::SessionStatus;
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::drive::Driver;

use crate::subscriber::Subscriber;
use crate::{Row, cpu_time};

pub(crate) async fn flood(program: &Path, chunks: u64, subscribers: usize) -> anyhow::Result<Vec<Row>> {
    let daemon = Setup::new(program).start();
    let session = Driver::create(&daemon.client, "flood").await;
    let base = daemon.client.detail(&session.id).await?.info.event_count;
    let (tell_end, end) = tokio::sync::watch::channel(None);
    let mut readers = vec![];
    for _ in 0..subscribers {
        let subscriber = Subscriber::connect(&daemon, "flood", base).await?;
        readers.push(tokio::spawn(subscriber.run(end.clone())));
    }
    let (began, cpu) = (Instant::now(), cpu_time(daemon.pid())?);
    session.post(&format!("[[flood:{chunks}]]")).await;
    let last = end_of_turn(&session).await?;
    tell_end.send(Some(last))?;
    let (mut delivered, mut lost, mut doubled) = (0, 0, 0);
    for reader in readers {
        let seen = reader.await??;
        delivered += seen.events;
        lost += seen.lost;
        doubled += seen.doubled;
    }
    let (took, cpu) = (began.elapsed(), cpu_time(daemon.pid())? - cpu);
    let events = last - base;
    let (rate_target, cpu_target) = match subscribers {
        1 => ("≥ 150,000/s", "≤ 8 µs"),
        100 => ("≥ 1,000,000/s", ""),
        _ => ("", ""),
    };
    let name = format!("flood of {chunks} to {subscribers}");
    Ok(vec![
        Row::new(format!("{name}: events"), per_second(events, took), ""),
        Row::new(format!("{name}: deliveries"), per_second(delivered, took), rate_target),
        Row::new(format!("{name}: lost, doubled"), format!("{lost}, {doubled}"), "0, 0"),
        Row::new(format!("{name}: daemon CPU per event"), micros(cpu, events), cpu_target),
    ])
}

/// Asks for the session's row, which costs the daemon little, until its turn has ended.
async fn end_of_turn(session: &Driver) -> anyhow::Result<u64> {
    loop {
        let detail = session.client.detail(&session.id).await?;
        if detail.status == SessionStatus::Idle {
            return Ok(detail.info.event_count);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn per_second(count: u64, took: Duration) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = count as f64 / took.as_secs_f64();
    format!("{rate:.0}/s")
}

fn micros(cpu: Duration, events: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let each = cpu.as_secs_f64() * 1e6 / events as f64;
    format!("{each:.1} µs")
}

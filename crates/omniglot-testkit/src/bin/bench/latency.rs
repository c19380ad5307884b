//! How long a delta takes from the agent's write to the client's read, one at a time.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use omniglot_schema::CreateSessionRequest;
use omniglot_testkit::daemon::Setup;
use omniglot_testkit::drive::Driver;

use crate::agent::monotonic;
use crate::subscriber::Subscriber;
use crate::{Row, millis};

pub(crate) async fn deltas(program: &Path, chunks: usize) -> anyhow::Result<Row> {
    let own = std::env::current_exe()?;
    let config = format!(
        "[agents.clock]\nprotocol = \"acp\"\ncommand = [{:?}, \"agent\"]\n",
        own.display().to_string()
    );
    let daemon = Setup::new(program).config(config).start();
    let session = Driver::create_with(&daemon.client, "clock", &CreateSessionRequest::new("clock")).await;
    let base = daemon.client.detail(&session.id).await?.info.event_count;
    let mut subscriber = Subscriber::connect(&daemon, "clock", base).await?;
    session.post(&chunks.to_string()).await;
    let mut delays = vec![];
    while delays.len() < chunks {
        anyhow::ensure!(subscriber.read().await?, "the stream ended");
        let now = monotonic();
        for written in times(subscriber.bytes()) {
            delays.push(Duration::from_nanos(now.saturating_sub(written)));
        }
        subscriber.clear();
    }
    delays.sort_unstable();
    let at = |part: usize| delays.get(delays.len() * part / 100).copied().context("delays");
    let value = format!("{} / {}", millis(at(50)?), millis(at(99)?));
    Ok(Row::new("delta latency p50 / p99", value, "p50 ≤ 0.2 ms"))
}

/// The times in the deltas of a read; a read holds whole events as the daemon writes them at once.
fn times(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let times: Vec<u64> =
        text.split(r#""delta":"t"#).skip(1).filter_map(|rest| rest.split(' ').next()?.parse().ok()).collect();
    times.into_iter()
}

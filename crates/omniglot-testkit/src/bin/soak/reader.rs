//! A reader of one session, whose connection is cut and resumed: what it has seen must be the log.

use std::time::Duration;

use anyhow::ensure;
use futures_util::StreamExt as _;
use omniglot_client::{EventStream, SseItem, StreamFrom};
use omniglot_schema::SessionId;
use omniglot_testkit::session_driver::SessionDriver;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::chance::Chance;

const PAUSE: Duration = Duration::from_millis(50);
/// A reader that was told to stop, and hears nothing for this long, has seen everything.
const QUIET: Duration = Duration::from_secs(15);

/// Everything that a reader was sent, in order.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) events: Vec<String>,
    pub(crate) cuts: usize,
}

pub(crate) async fn follow(
    session: SessionDriver,
    mut chance: Chance,
    stopped: watch::Receiver<bool>,
) -> Seen {
    let mut seen = Seen::default();
    let mut cursor = None;
    loop {
        let from = cursor.clone().map_or(StreamFrom::Start, StreamFrom::Id);
        let Ok(mut stream) = session.client.sse(&session.id, &from, false).await else {
            sleep(PAUSE).await;
            continue;
        };
        // Some connections are long, some end after a few events.
        let length = if chance.below(2) == 0 { u64::MAX } else { chance.below(2_000) };
        for _ in 0..length {
            match next(&mut stream, &stopped).await {
                Next::Event(id, json) => {
                    cursor = Some(id);
                    seen.events.push(json);
                }
                Next::Other => {}
                Next::Cut => break,
                Next::Done => return seen,
            }
        }
        seen.cuts += 1;
    }
}

enum Next {
    /// An event and the cursor behind it.
    Event(String, String),
    Other,
    Cut,
    Done,
}

async fn next(stream: &mut EventStream, stopped: &watch::Receiver<bool>) -> Next {
    match timeout(QUIET, stream.next()).await {
        Ok(Some(Ok(SseItem::Event { id, json, .. }))) => Next::Event(id, json),
        Ok(Some(Ok(_))) => Next::Other,
        Ok(Some(Err(_)) | None) => Next::Cut,
        Err(_quiet) if *stopped.borrow() => Next::Done,
        Err(_quiet) => Next::Other,
    }
}

/// Holds what a reader was sent against the log.
pub(crate) fn compare(session: &SessionId, seen: &Seen, log: &[String]) -> anyhow::Result<()> {
    let (read, kept) = (seen.events.len(), log.len());
    for (number, (seen, kept)) in seen.events.iter().zip(log).enumerate() {
        let (seen, kept): (serde_json::Value, serde_json::Value) =
            (serde_json::from_str(seen)?, serde_json::from_str(kept)?);
        ensure!(seen == kept, "{session}: event {} was sent as {seen}, and is {kept}", number + 1);
    }
    ensure!(read == kept, "{session}: a reader was sent {read} events, the log has {kept}");
    Ok(())
}

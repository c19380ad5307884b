//! A reader of one session, whose connection is cut and resumed: what it has seen must be the log.

use std::time::Duration;

use anyhow::ensure;
use futures_util::StreamExt as _;
use omniglot_client::{SseItem, StreamFrom};
use omniglot_schema::SessionId;
use omniglot_testkit::session_driver::SessionDriver;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::chance::Chance;

const PAUSE: Duration = Duration::from_millis(50);

/// Everything that a reader was sent, in order.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) events: Vec<String>,
    pub(crate) cuts: usize,
}

/// Follows a session until it has been sent as many events as `last` says, once that is known.
pub(crate) async fn follow(
    session: SessionDriver,
    mut chance: Chance,
    mut last: watch::Receiver<Option<usize>>,
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
            if last.borrow_and_update().is_some_and(|last| seen.events.len() >= last) {
                return seen;
            }
            tokio::select! {
                item = stream.next() => match item {
                    Some(Ok(SseItem::Event { id, json, .. })) => {
                        cursor = Some(id);
                        seen.events.push(json);
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => break,
                },
                Ok(()) = last.changed() => {}
            }
        }
        seen.cuts += 1;
    }
}

/// Holds what a reader was sent against the log, which has at least `fewest` events. A process that was idle for long
/// enough is ended meanwhile, and that is told to readers, too.
pub(crate) fn compare(session: &SessionId, seen: &Seen, log: &[String], fewest: usize) -> anyhow::Result<()> {
    let (read, kept) = (seen.events.len(), log.len());
    for (number, (seen, kept)) in seen.events.iter().zip(log).enumerate() {
        let (seen, kept): (serde_json::Value, serde_json::Value) =
            (serde_json::from_str(seen)?, serde_json::from_str(kept)?);
        ensure!(seen == kept, "{session}: event {} was sent as {seen}, and is {kept}", number + 1);
    }
    ensure!(
        (fewest..=kept).contains(&read),
        "{session}: a reader was sent {read} events, the log has {kept}"
    );
    Ok(())
}

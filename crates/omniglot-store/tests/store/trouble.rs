//! A log that cannot grow holds appends back, reports why, and loses nothing.

use bytes::Bytes;
use omniglot_store::{Batch, NewEvent, Options, SessionRecord, Store, StoreError};
use tempfile::TempDir;

use crate::support::*;

const SMALL: u64 = 384 << 10;
const LARGE: u64 = 10 << 20;

fn padded(session: &SessionRecord, seq: u64) -> Batch {
    let mut batch = deltas(session, [seq]);
    let NewEvent { json, .. } = &mut batch.events[0];
    *json = Bytes::from(format!(r#"{{"sequence":{seq},"pad":"{}"}}"#, "x".repeat(10_000)));
    batch
}

struct Stuck {
    dir: TempDir,
    store: Store,
    filler: SessionRecord,
    session: SessionRecord,
    /// The answers that have not arrived, for the sequences from `first` on.
    first: u64,
    waiting: Vec<tokio::sync::oneshot::Receiver<Result<(), StoreError>>>,
}

const LAST: u64 = 20;

/// Makes a log with room for about 25 events, 15 of which fill one session; more are appended to another.
async fn stuck() -> Stuck {
    let dir = tempfile::tempdir().unwrap();
    let store = open_with(dir.path(), Options { max_database_bytes: Some(SMALL), ..Options::default() });
    let (filler, session) = (create(&store, "filler").await, create(&store, "a").await);
    let mut fault = store.watch_fault();
    for seq in 2..=15 {
        append(&store, padded(&filler, seq)).await;
    }
    let mut first = 2;
    loop {
        let answer = store.append(padded(&session, first));
        // Either it is written, or the log reports that it cannot be.
        tokio::select! {
            answer = answer => answer.unwrap().unwrap(),
            _ = fault.wait_for(Option::is_some) => break,
        }
        first += 1;
    }
    // Its first answer was dropped in the race above; it is written like the others.
    let waiting = (first + 1..=LAST).map(|seq| store.append(padded(&session, seq))).collect();
    Stuck { dir, store, filler, session, first, waiting }
}

impl Stuck {
    async fn assert_finished(self) {
        for answer in self.waiting {
            answer.await.unwrap().unwrap();
        }
        assert_eq!(self.store.fault(), None);
        let page = read(&self.store, self.session.no, after(0)).await;
        assert_eq!(seqs(&page.events), (1..=LAST).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_full_log_says_why_and_stays_readable() {
    let stuck = stuck().await;
    let said = stuck.store.fault().unwrap();
    assert!(said.contains("limit of 393216 bytes; raise the limit or delete sessions"), "{said}");
    let page = read(&stuck.store, stuck.session.no, after(0)).await;
    assert_eq!(page.events.len() as u64, stuck.first - 1);
    assert!(stuck.store.session(&id("filler")).await.unwrap().is_some());
}

#[tokio::test]
async fn raising_the_limit_lets_appends_finish() {
    let stuck = stuck().await;
    stuck.store.set_max_database_bytes(Some(LARGE)).await.unwrap().unwrap();
    stuck.assert_finished().await;
}

#[tokio::test]
async fn deleting_a_session_makes_room() {
    let stuck = stuck().await;
    stuck.store.delete(stuck.filler.no).await.unwrap().unwrap();
    stuck.assert_finished().await;
}

#[tokio::test]
async fn reopening_with_more_room_keeps_all_that_was_answered() {
    let Stuck { dir, store, session, first, waiting, .. } = stuck().await;
    drop(store);
    for answer in waiting {
        assert!(matches!(answer.await.unwrap(), Err(StoreError::Closed)));
    }
    let store = open(dir.path());
    assert_eq!(store.committed(session.no), Some(first - 1));
    append(&store, padded(&session, first)).await;
}

//! Damage in the file is named and refused; the rest stays readable.

use std::path::Path;

use bytes::Bytes;
use omniglot_store::{Batch, Next, SessionRecord, Store, StoreError};

use crate::support::*;

const MARK: &[u8] = b"this text is looked for in the file";

/// Session `a` with events 1 to 5 in a closed database; the third carries the mark.
async fn closed_log(dir: &Path) -> SessionRecord {
    let store = open(dir);
    let session = create(&store, "a").await;
    let mut batch = Batch { frames: vec![frame(1, "native")], ..deltas(&session, 2..=5) };
    batch.events[1].json = Bytes::from_static(MARK);
    append(&store, batch).await;
    store.close().await.unwrap();
    session
}

/// Flips one bit of the marked payload, as a bad disk might.
fn flip(dir: &Path, offset: usize, bit: u8) {
    let path = omniglot_store::private(dir).join("omniglot.db");
    let mut file = std::fs::read(&path).unwrap();
    let at = file.windows(MARK.len()).position(|window| window == MARK).unwrap();
    file[at + offset] ^= 1 << bit;
    std::fs::write(&path, file).unwrap();
}

async fn assert_third_is_damaged(store: &Store, session: &SessionRecord) {
    let page = read(store, session.no, after(0)).await;
    assert_eq!((seqs(&page.events), page.has_more), (vec![1, 2], true));
    let damage = store.read(session.no, after(2)).await.unwrap_err();
    assert_eq!(damage.to_string(), "event 3 of session a is damaged");
    assert!(matches!(damage, StoreError::Damaged { seq: 3, .. }));
    assert_eq!(seqs(&read(store, session.no, after(3)).await.events), [4, 5]);
}

#[tokio::test]
async fn any_flipped_bit_of_a_payload_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let session = closed_log(dir.path()).await;
    for offset in [0, 1, MARK.len() / 2, MARK.len() - 1] {
        for bit in 0..8 {
            let whole = std::fs::read(omniglot_store::private(dir.path()).join("omniglot.db")).unwrap();
            flip(dir.path(), offset, bit);
            let store = open(dir.path());
            assert_third_is_damaged(&store, &session).await;
            store.close().await.unwrap();
            std::fs::write(omniglot_store::private(dir.path()).join("omniglot.db"), whole).unwrap();
        }
    }
}

#[tokio::test]
async fn a_subscriber_is_told_and_can_go_on_behind_the_damage() {
    let dir = tempfile::tempdir().unwrap();
    let session = closed_log(dir.path()).await;
    flip(dir.path(), 3, 0);
    let store = open(dir.path());
    let mut subscription = store.subscribe(session.no, 0);
    let Next::Events(events) = subscription.next(1 << 15).await.unwrap() else { panic!("not deleted") };
    assert_eq!(seqs(&events), [1, 2]);
    assert!(matches!(subscription.next(1 << 15).await, Err(StoreError::Damaged { seq: 3, .. })));
    let Next::Events(events) = store.subscribe(session.no, 3).next(1 << 15).await.unwrap() else {
        panic!("not deleted")
    };
    assert_eq!(seqs(&events), [4, 5]);
    append(&store, deltas(&session, 6..=6)).await;
}

#[tokio::test]
async fn a_missing_row_is_damage_and_not_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    let session = closed_log(dir.path()).await;
    let database =
        rusqlite::Connection::open(omniglot_store::private(dir.path()).join("omniglot.db")).unwrap();
    database.execute("DELETE FROM events WHERE seq IN (3, 5)", []).unwrap();
    drop(database);
    let store = open(dir.path());
    assert_eq!(seqs(&read(&store, session.no, after(0)).await.events), [1, 2]);
    assert!(matches!(store.read(session.no, after(2)).await, Err(StoreError::Damaged { seq: 3, .. })));
    let page = read(&store, session.no, after(3)).await;
    assert_eq!((seqs(&page.events), page.has_more), (vec![4], true));
    assert!(matches!(store.read(session.no, after(4)).await, Err(StoreError::Damaged { seq: 5, .. })));
}

#[tokio::test]
async fn a_moved_row_and_a_changed_frame_are_damage() {
    let dir = tempfile::tempdir().unwrap();
    let session = closed_log(dir.path()).await;
    let database =
        rusqlite::Connection::open(omniglot_store::private(dir.path()).join("omniglot.db")).unwrap();
    database.execute("UPDATE events SET time = time + 1 WHERE seq = 1", []).unwrap();
    database.execute("UPDATE frames SET data = CAST(data || x'00' AS BLOB)", []).unwrap();
    drop(database);
    let store = open(dir.path());
    assert!(matches!(store.read(session.no, after(0)).await, Err(StoreError::Damaged { seq: 1, .. })));
    assert!(matches!(store.frames(session.no, &[1]).await, Err(StoreError::DamagedFrame { no: 1 })));
}

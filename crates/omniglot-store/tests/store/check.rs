//! A flipped bit, a lost row, a wrong reference: a check names each, and reading refuses it.

use std::path::Path;

use bytes::Bytes;
use omniglot_schema::MessageId;
use omniglot_store::{
    Batch, Blob, CheckSummary, ListFilter, Options, QueueOp, Receipt, RecordUpdate, SessionRecord, Store,
    StoreError,
};

use crate::support::*;

/// A log with a row of every table that carries a mark, in the session `a`; `b` stays whole.
async fn log(dir: &Path) -> SessionRecord {
    let store = open_with(dir, Options { boot_id: Some("boot-mark".into()), ..Options::default() });
    let (a, b) = (create(&store, "a").await, create(&store, "b").await);
    let queued = |text: &str| {
        let body = format!(r#"{{"message":"{text}"}}"#);
        vec![QueueOp::Push { message_id: MessageId(format!("id-{text}")), body }]
    };
    let fold = r#"{"mark":"fold-mark"}"#.into();
    let mut batch = deltas(&a, 2..=5);
    batch.events[1].json = Bytes::from_static(br#"{"mark":"event-mark","raw":null}"#);
    batch.events[3].frame_no = Some(1);
    batch.frames = vec![frame(1, "frame-mark, not compressed")];
    batch.record = Some(RecordUpdate { fold, ended: false, open_from: Some(2) });
    batch.queue = queued("queue-mark");
    let bytes = Bytes::from_static(b"blob-mark");
    batch.blobs = vec![Blob { name: "blob".into(), mime: "text/plain".into(), bytes }];
    let (key, body_hash) = ("key".into(), "00ff".into());
    batch.receipt = Some(Receipt { key, body_hash, answer: r#""receipt-mark""#.into() });
    append(&store, batch).await;
    append(&store, Batch { queue: queued("other"), ..deltas(&b, 2..=3) }).await;
    store.close().await.unwrap();
    a
}

fn flip(dir: &Path, mark: &str) {
    let path = omniglot_store::private(dir).join("omniglot.db");
    let mut file = std::fs::read(&path).unwrap();
    let at = file.windows(mark.len()).position(|window| window == mark.as_bytes()).unwrap();
    file[at + 2] ^= 1;
    std::fs::write(&path, file).unwrap();
}

async fn damaged(mark: &str) -> (tempfile::TempDir, SessionRecord) {
    let dir = tempfile::tempdir().unwrap();
    let session = log(dir.path()).await;
    flip(dir.path(), mark);
    (dir, session)
}

fn change(dir: &Path, sql: &str) -> Vec<String> {
    assert!(database(dir).execute(sql, []).unwrap() > 0, "{sql}");
    faults(dir)
}

async fn listed(store: &Store) -> Vec<String> {
    let records = store.list(ListFilter { limit: Some(1), ..ListFilter::default() }).await.unwrap();
    records.into_iter().map(|record| record.id.to_string()).collect()
}

#[tokio::test]
async fn a_whole_log_has_no_faults_also_while_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    log(dir.path()).await;
    let summary =
        CheckSummary { sessions: 2, events: 8, frames: 1, blobs: 1, queued: 2, receipts: 1, faults: 0 };
    assert_eq!(omniglot_store::check(dir.path(), &mut |_| {}).unwrap(), summary);
    let store = open(dir.path());
    let b = store.session(&id("b")).await.unwrap().unwrap();
    append(&store, deltas(&b, 4..=4)).await;
    let summary = CheckSummary { events: 9, ..summary };
    assert_eq!(omniglot_store::check(dir.path(), &mut |_| {}).unwrap(), summary);
    append(&store, deltas(&b, 5..=5)).await;
}

#[tokio::test]
async fn a_directory_without_a_log_is_an_error_and_stays_empty() {
    let dir = tempfile::tempdir().unwrap();
    assert!(omniglot_store::check(dir.path(), &mut |_| {}).is_err());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_flipped_bit_in_a_session_row_refuses_that_session_alone() {
    let (dir, session) = damaged("fold-mark").await;
    assert_eq!(faults(dir.path()), ["sessions, session a: does not match its checksum"]);
    let store = open(dir.path());
    let refused = store.session(&id("a")).await.unwrap_err();
    assert_eq!(refused.to_string(), "the row of session a is damaged");
    let refused = store.append(deltas(&session, 6..=6)).await.unwrap().unwrap_err();
    assert!(matches!(refused, StoreError::DamagedSession { session } if session == "a"));
    assert_eq!(listed(&store).await, ["b"]);
    let unfinished = store.unfinished().await.unwrap();
    assert_eq!(unfinished.iter().map(|r| r.id.as_str()).collect::<Vec<_>>(), ["b"]);
    append(&store, deltas(&unfinished[0], 4..=4)).await;
    assert_eq!(seqs(&read(&store, session.no, after(0)).await.events), [1, 2, 3, 4, 5]);
    store.delete(session.no).await.unwrap().unwrap();
    assert_eq!(faults(dir.path()), Vec::<String>::new());
}

#[tokio::test]
async fn a_damaged_row_does_not_take_a_place_in_a_page() {
    let dir = tempfile::tempdir().unwrap();
    log(dir.path()).await;
    assert!(!change(dir.path(), "UPDATE sessions SET created_ms = 3 WHERE id = 'b'").is_empty());
    assert_eq!(listed(&open(dir.path())).await, ["a"]);
}

#[tokio::test]
async fn every_column_of_a_session_row_counts() {
    let dir = tempfile::tempdir().unwrap();
    log(dir.path()).await;
    let columns = [
        "id = 'c'",
        "uuid = 'c'",
        "epoch = 'c'",
        "agent = 'c'",
        "created_ms = 7",
        "updated_ms = 7",
        "ended = 1",
        "ended = 2",
        "open_from = NULL",
        "open_from = 3",
        "last_seq = 4",
        "last_frame = -1",
        "packed_frame = 1",
        "packed_frame = -1",
        "fold = '[]'",
        "request = '[]'",
        "crc = crc + 1",
    ];
    for column in columns {
        let copy = tempfile::tempdir().unwrap();
        let database = |dir: &Path| omniglot_store::private(dir).join("omniglot.db");
        std::fs::create_dir(omniglot_store::private(copy.path())).unwrap();
        std::fs::copy(database(dir.path()), database(copy.path())).unwrap();
        let faults = change(copy.path(), &format!("UPDATE sessions SET {column} WHERE no = 1"));
        assert!(faults[0].ends_with("does not match its checksum"), "{column}: {faults:?}");
        assert_eq!(listed(&open(copy.path())).await, ["b"], "{column}");
    }
}

#[tokio::test]
async fn a_flipped_bit_in_the_queue_is_found() {
    let (dir, session) = damaged("{\"message\":\"queue-mark").await;
    assert_eq!(faults(dir.path()), ["queue, session a, 1: does not match its checksum"]);
    let store = open(dir.path());
    let refused = store.queue(session.no).await.unwrap_err();
    assert_eq!(refused.to_string(), "the queued message id-queue-mark is damaged");
    let b = store.session(&id("b")).await.unwrap().unwrap();
    assert_eq!(store.queue(b.no).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_flipped_bit_in_a_receipt_is_found() {
    let (dir, session) = damaged("receipt-mark").await;
    let said = r#"receipts, session a: the row of key "key" does not match its checksum"#;
    assert_eq!(faults(dir.path()), [said]);
    let refused = open(dir.path()).receipt(session.no, "key").await.unwrap_err();
    assert!(matches!(refused, StoreError::DamagedReceipt { key } if key == "key"));
}

#[tokio::test]
async fn a_flipped_bit_in_a_blob_is_found() {
    let (dir, session) = damaged("blob-mark").await;
    assert_eq!(faults(dir.path()), [r#"blobs, session a: the blob "blob" does not match its checksum"#]);
    let refused = open(dir.path()).blob(session.no, "blob").await.unwrap_err();
    assert!(matches!(refused, StoreError::DamagedBlob { name } if name == "blob"));
}

#[tokio::test]
async fn a_flipped_bit_in_an_event_is_found() {
    let (dir, session) = damaged("event-mark").await;
    assert_eq!(faults(dir.path()), ["events, session a, 3: does not match its checksum"]);
    let refused = open(dir.path()).read(session.no, after(2)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { seq: 3, .. }));
}

#[tokio::test]
async fn a_flipped_bit_in_a_frame_is_found_and_so_is_what_refers_to_it() {
    let (dir, session) = damaged("frame-mark").await;
    let said = [
        "frames, session a, 1: does not match its checksum",
        "events, session a, 5: refers to frame 1, which cannot be read",
    ];
    assert_eq!(faults(dir.path()), said);
    let refused = open(dir.path()).frames(session.no, &[1]).await.unwrap_err();
    assert!(matches!(refused, StoreError::DamagedFrame { no: 1 }));
}

#[tokio::test]
async fn a_flipped_bit_in_meta_is_found_and_makes_cursors_invalid_rather_than_wrong() {
    let (dir, _) = damaged("boot-mark").await;
    assert_eq!(faults(dir.path()), [r#"meta: the row "boot_id" does not match its checksum"#]);
    let boot = |id: &str| Options { boot_id: Some(id.into()), ..Options::default() };
    let store = open_with(dir.path(), boot("one"));
    let before = store.session(&id("a")).await.unwrap().unwrap().epoch;
    drop(store);
    change(dir.path(), "UPDATE meta SET value = '1' WHERE key = 'clean'");
    let store = open_with(dir.path(), boot("two"));
    assert_ne!(store.session(&id("a")).await.unwrap().unwrap().epoch, before);
    drop(store);
    assert_eq!(faults(dir.path()), Vec::<String>::new());
}

#[tokio::test]
async fn missing_rows_and_rows_of_nobody_are_faults() {
    let dir = tempfile::tempdir().unwrap();
    log(dir.path()).await;
    assert_eq!(
        change(dir.path(), "DELETE FROM events WHERE session_no = 2 AND seq = 2"),
        ["events, session b, 2: events 2 to 2 are missing"]
    );
    change(dir.path(), "DELETE FROM events WHERE session_no = 2");
    assert_eq!(faults(dir.path()), ["events, session b, 1: events 1 to 3 are missing"]);
    let said = [
        "frames, session a, 1: frames 1 to 1 are missing",
        "events, session a, 5: refers to frame 1, which cannot be read",
        "events, session b, 1: events 1 to 3 are missing",
    ];
    assert_eq!(change(dir.path(), "DELETE FROM frames"), said);
    let said = [
        "events, session b, 1: events 1 to 3 are missing",
        "events, session number 1: rows of a session that does not exist",
        "blobs, session number 1: rows of a session that does not exist",
        "queue, session number 1: rows of a session that does not exist",
        "receipts, session number 1: rows of a session that does not exist",
    ];
    assert_eq!(change(dir.path(), "DELETE FROM sessions WHERE no = 1"), said);
}

#[tokio::test]
async fn what_should_be_json_and_is_not_is_a_fault() {
    let (dir, store) = temporary();
    let session = create(&store, "a").await;
    let mut batch = deltas(&session, 2..=2);
    batch.events[0].json = Bytes::from_static(b"{");
    batch.record = Some(RecordUpdate { fold: "no".into(), ended: false, open_from: Some(9) });
    batch.queue = vec![QueueOp::Push { message_id: MessageId("m".into()), body: "no".into() }];
    append(&store, batch).await;
    let said = [
        "sessions, session a: fold is not JSON",
        "sessions, session a: open_from lies behind the last event",
        "events, session a, 2: the payload is not JSON",
        "queue, session a, 1: the message is not JSON",
    ];
    assert_eq!(faults(dir.path()), said);
}

//! Appended data can be read back, by page, by type, by frame.

use std::os::unix::fs::PermissionsExt as _;

use bytes::Bytes;
use omniglot_schema::{MessageId, UniversalEventType};
use omniglot_store::{Batch, Durability, ListFilter, QueueOp, ReadQuery, Receipt, RecordUpdate, StoreError};
use rusqlite::Connection;

use crate::support::*;

#[tokio::test]
async fn a_page_ends_at_its_limit_and_says_whether_more_follow() {
    let (_dir, store) = temporary();
    let session = create(&store, "a").await;
    append(&store, deltas(&session, 2..=10)).await;
    let page = read(&store, session.no, ReadQuery { limit: 4, ..after(3) }).await;
    assert_eq!((seqs(&page.events), page.has_more), (vec![4, 5, 6, 7], true));
    let page = read(&store, session.no, ReadQuery { limit: 3, ..after(7) }).await;
    assert_eq!((seqs(&page.events), page.has_more), (vec![8, 9, 10], false));
    let page = read(&store, session.no, after(10)).await;
    assert_eq!((seqs(&page.events), page.has_more), (vec![], false));
    let page = read(&store, session.no, after(u64::MAX)).await;
    assert_eq!((seqs(&page.events), page.has_more), (vec![], false));
    let page = read(&store, session.no, after(0)).await;
    assert_suffix(&page.events, "a", 0, 10);
}

#[tokio::test]
async fn a_page_ends_at_its_bytes_and_holds_one_event_at_least() {
    let (_dir, store) = temporary();
    let session = create(&store, "a").await;
    append(&store, deltas(&session, 2..=9)).await;
    let size = event("a", 2, UniversalEventType::ItemDelta).json.len();
    let page = read(&store, session.no, ReadQuery { max_bytes: 3 * size, ..after(1) }).await;
    assert_eq!((seqs(&page.events), page.has_more), (vec![2, 3, 4], true));
    let page = read(&store, session.no, ReadQuery { max_bytes: 1, ..after(4) }).await;
    assert_eq!((seqs(&page.events), page.has_more), (vec![5], true));
}

#[tokio::test]
async fn a_read_by_type_skips_the_others() {
    let (_dir, store) = temporary();
    let session = create(&store, "a").await;
    let mut batch = deltas(&session, 2..=9);
    batch.events[2].kind = UniversalEventType::TurnStarted;
    batch.events[6].kind = UniversalEventType::TurnEnded;
    append(&store, batch).await;
    let types = vec![UniversalEventType::TurnStarted, UniversalEventType::TurnEnded];
    let page = read(&store, session.no, ReadQuery { types: types.clone(), ..after(0) }).await;
    assert_eq!((seqs(&page.events), page.has_more), (vec![4, 8], false));
    assert_eq!(page.events[0].kind, UniversalEventType::TurnStarted);
    let page = read(&store, session.no, ReadQuery { types: types.clone(), limit: 1, ..after(0) }).await;
    assert_eq!((seqs(&page.events), page.has_more), (vec![4], true));
    let page = read(&store, session.no, ReadQuery { types: types.clone(), limit: 1, ..after(4) }).await;
    assert_eq!((seqs(&page.events), page.has_more), (vec![8], false));
    let page = read(&store, session.no, ReadQuery { types, until: Some(7), ..after(4) }).await;
    assert_eq!((seqs(&page.events), page.has_more), (vec![], false));
    let page = read(&store, session.no, ReadQuery { until: Some(6), ..after(4) }).await;
    assert_eq!((seqs(&page.events), page.has_more), (vec![5, 6], false));
}

#[tokio::test]
async fn frames_come_back_by_number_across_batches() {
    let (_dir, store) = temporary();
    let mut new = new_session("a");
    new.frames = vec![frame(1, "first")];
    let session = store.create(new).await.unwrap().unwrap();
    let frames = vec![frame(2, "{\"n\":2}"), frame(3, ""), frame(4, "four")];
    append(&store, Batch { frames, ..deltas(&session, 2..=2) }).await;
    append(&store, Batch { frames: vec![frame(5, "five")], ..Batch::new(session.no) }).await;
    let found = store.frames(session.no, &[5, 1, 3, 4, 4, 9, 0]).await.unwrap();
    assert_eq!(found.len(), 4);
    for (no, text) in [(1, "first"), (3, ""), (4, "four"), (5, "five")] {
        assert_eq!(found[&no], Bytes::from_static(text.as_bytes()));
    }
    assert_eq!(store.session(&id("a")).await.unwrap().unwrap().last_frame, 5);
}

#[tokio::test]
async fn a_batch_changes_the_session_row_with_its_events() {
    let (_dir, store) = temporary();
    let session = create(&store, "a").await;
    assert_eq!((session.last_seq, session.created_ms, session.updated_ms), (1, 1_000, 2_000));
    let record = RecordUpdate { fold: r#"{"x":1}"#.into(), ended: true, open_from: Some(2) };
    let mut batch = Batch { record: Some(record), ..deltas(&session, 2..=3) };
    batch.events[1].time_us = 7_000_999;
    append(&store, batch).await;
    let row = store.session(&id("a")).await.unwrap().unwrap();
    assert_eq!((row.last_seq, row.updated_ms, row.ended, row.open_from), (3, 7_000, true, Some(2)));
    assert_eq!((row.fold.as_str(), row.epoch == session.epoch), (r#"{"x":1}"#, true));
    assert_eq!(store.committed(session.no), Some(3));
}

#[tokio::test]
async fn the_queue_keeps_its_order() {
    let (_dir, store) = temporary();
    let session = create(&store, "a").await;
    let push =
        |n: &str| QueueOp::Push { message_id: MessageId(n.into()), body: format!("{{\"message\":\"{n}\"}}") };
    let remove = |n: &str| QueueOp::Remove { message_id: MessageId(n.into()) };
    append(&store, Batch { queue: vec![push("m1"), push("m2"), push("m3")], ..Batch::new(session.no) }).await;
    append(&store, Batch { queue: vec![remove("m3"), remove("m1"), push("m0")], ..Batch::new(session.no) })
        .await;
    let queue = store.queue(session.no).await.unwrap();
    let names: Vec<_> = queue.iter().map(|row| row.message_id.as_str()).collect();
    assert_eq!(names, ["m2", "m0"]);
    assert_eq!(queue[0].body, r#"{"message":"m2"}"#);
}

#[tokio::test]
async fn unfinished_sessions_are_those_with_something_open_or_queued() {
    let (_dir, store) = temporary();
    let (open, queued) = (create(&store, "open").await, create(&store, "queued").await);
    create(&store, "idle").await;
    let record = RecordUpdate { fold: "{}".into(), ended: false, open_from: Some(1) };
    append(&store, Batch { record: Some(record.clone()), ..Batch::new(open.no) }).await;
    let push = |n: &str| QueueOp::Push { message_id: MessageId(n.into()), body: "{}".into() };
    append(&store, Batch { queue: vec![push("m1"), push("m2")], ..Batch::new(queued.no) }).await;
    let names = |rows: Vec<omniglot_store::SessionRecord>| rows.into_iter().map(|r| r.id).collect::<Vec<_>>();
    assert_eq!(names(store.unfinished().await.unwrap()), [id("open"), id("queued")]);
    let record = RecordUpdate { open_from: None, ..record };
    append(&store, Batch { record: Some(record), ..Batch::new(open.no) }).await;
    assert_eq!(names(store.unfinished().await.unwrap()), [id("queued")]);
}

#[tokio::test]
async fn sessions_are_listed_newest_first_and_by_page() {
    let (_dir, store) = temporary();
    for name in ["a", "b", "c", "d"] {
        let mut new = new_session(name);
        new.agent = if name == "b" { "other".into() } else { "mock".into() };
        new.record.ended = name == "d";
        store.create(new).await.unwrap().unwrap();
    }
    let list = async |filter: ListFilter| -> Vec<String> {
        store.list(filter).await.unwrap().into_iter().map(|r| r.id.to_string()).collect()
    };
    assert_eq!(list(ListFilter::default()).await, ["d", "c", "b", "a"]);
    assert_eq!(list(ListFilter { agent: Some("mock".into()), ..Default::default() }).await, ["d", "c", "a"]);
    assert_eq!(list(ListFilter { ended: Some(true), ..Default::default() }).await, ["d"]);
    let page = ListFilter { after: Some(id("d")), limit: Some(2), ..Default::default() };
    assert_eq!(list(page).await, ["c", "b"]);
    let gone = ListFilter { after: Some(id("gone")), ..Default::default() };
    assert!(matches!(store.list(gone).await, Err(StoreError::NoSession)));
}

#[tokio::test]
async fn a_receipt_is_found_by_its_key() {
    let (_dir, store) = temporary();
    let session = create(&store, "a").await;
    let receipt =
        |key: &str| Receipt { key: key.into(), body_hash: "00ff".into(), answer: r#"{"ok":true}"#.into() };
    let power = Batch { durability: Durability::Power, ..Batch::new(session.no) };
    append(&store, Batch { receipt: Some(receipt("k1")), ..power }).await;
    assert_eq!(store.receipt(session.no, "k1").await.unwrap(), Some(receipt("k1")));
    assert_eq!(store.receipt(session.no, "k2").await.unwrap(), None);
}

#[tokio::test]
async fn a_batch_that_leaves_a_gap_is_refused_alone() {
    let (_dir, store) = temporary();
    let (a, b) = (create(&store, "a").await, create(&store, "b").await);
    let gap = store.append(deltas(&a, 3..=4));
    let other = store.append(deltas(&b, 2..=2));
    let again = store.append(deltas(&a, 1..=2));
    let frames = store.append(Batch { frames: vec![frame(2, "")], ..Batch::new(a.no) });
    let inner = store.append(deltas(&a, [2, 4]));
    assert!(matches!(gap.await.unwrap(), Err(StoreError::OutOfOrder { expected: 2, found: 3, .. })));
    other.await.unwrap().unwrap();
    assert!(matches!(again.await.unwrap(), Err(StoreError::OutOfOrder { expected: 2, found: 1, .. })));
    assert!(matches!(
        frames.await.unwrap(),
        Err(StoreError::OutOfOrder { what: "frame", expected: 1, found: 2 })
    ));
    assert!(matches!(inner.await.unwrap(), Err(StoreError::OutOfOrder { expected: 3, found: 4, .. })));
    append(&store, deltas(&a, 2..=3)).await;
    assert_suffix(&read(&store, a.no, after(0)).await.events, "a", 0, 3);
}

#[tokio::test]
async fn a_broken_rule_fails_one_batch_whole_and_no_other() {
    let (_dir, store) = temporary();
    let (a, b) = (create(&store, "a").await, create(&store, "b").await);
    let push = || QueueOp::Push { message_id: MessageId("same".into()), body: "{}".into() };
    let good = store.append(deltas(&a, 2..=2));
    let bad = store.append(Batch { queue: vec![push(), push()], ..deltas(&b, 2..=5) });
    let good_too = store.append(deltas(&a, 3..=3));
    good.await.unwrap().unwrap();
    assert!(matches!(bad.await.unwrap(), Err(StoreError::Database(_))));
    good_too.await.unwrap().unwrap();
    assert_eq!((store.committed(a.no), store.committed(b.no)), (Some(3), Some(1)));
    assert!(store.queue(b.no).await.unwrap().is_empty());
    append(&store, deltas(&b, 2..=3)).await;
}

#[tokio::test]
async fn a_name_is_taken_until_its_session_is_deleted() {
    let (_dir, store) = temporary();
    let first = create(&store, "a").await;
    assert!(matches!(store.create(new_session("a")).await.unwrap(), Err(StoreError::Exists)));
    append(&store, Batch { frames: vec![frame(1, "x")], ..deltas(&first, 2..=5) }).await;
    store.delete(first.no).await.unwrap().unwrap();
    assert!(store.session(&id("a")).await.unwrap().is_none());
    assert!(matches!(store.read(first.no, after(0)).await, Err(StoreError::NoSession)));
    assert!(matches!(store.delete(first.no).await.unwrap(), Err(StoreError::NoSession)));
    assert!(matches!(store.append(deltas(&first, 6..=6)).await.unwrap(), Err(StoreError::NoSession)));

    let second = create(&store, "a").await;
    assert_ne!(second.epoch, first.epoch);
    assert!(store.session_numbered(first.no).await.unwrap().is_none(), "a number is never used again");
    assert_eq!(store.session_numbered(second.no).await.unwrap().unwrap().epoch, second.epoch);
    assert_ne!(second.no, first.no);
    assert_suffix(&read(&store, second.no, after(0)).await.events, "a", 0, 1);
    assert!(store.frames(second.no, &[1]).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_epoch_may_stand_in_an_sse_id() {
    let (_dir, store) = temporary();
    let epoch = create(&store, "a").await.epoch;
    assert!(epoch.len() >= 12 && epoch.bytes().all(|b| b.is_ascii_alphanumeric()), "{epoch}");
}

#[tokio::test]
async fn only_the_owner_may_read_the_files_and_any_tool_may_query_them() {
    let (dir, store) = temporary();
    let session = create(&store, "a").await;
    append(&store, deltas(&session, 2..=2)).await;
    for file in std::fs::read_dir(omniglot_store::private(dir.path())).unwrap().map(Result::unwrap) {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", file.file_name());
    }
    let database = Connection::open(omniglot_store::private(dir.path()).join("omniglot.db")).unwrap();
    let sql = "SELECT json_extract(payload, '$.sequence') FROM events WHERE type = 'item.delta'";
    assert_eq!(database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 2);
}

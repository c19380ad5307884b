//! Data that is too old or too large is dropped in small pieces; the rest stays whole and undamaged.

use std::path::Path;

use bytes::Bytes;
use omniglot_schema::{MessageId, UniversalEventType};
use omniglot_store::{
    Batch, Blob, Dropped, EndedLimits, Next, Options, QueueOp, RawLimits, RecordUpdate, SessionNo,
    SessionRecord, Store, StoredFrame,
};

use crate::support::*;

const ALL: RawLimits = RawLimits { before_ms: Some(i64::MAX), max_bytes: None };
const NONE: [&str; 0] = [];

/// Appends a turn of `frames` frames, each the cause of one event; its pack is a row of its own.
async fn turn(store: &Store, session: &mut SessionRecord, frames: u64) {
    let first = session.last_frame + 1;
    let mut batch = deltas(session, (1..=frames).map(|n| session.last_seq + n));
    batch.frames = (first..first + frames).map(native).collect();
    for (event, no) in batch.events.iter_mut().zip(first..) {
        event.frame_no = Some(no);
    }
    append(store, batch).await;
    session.last_seq += frames;
    session.last_frame += frames;
}

fn count(dir: &Path, table: &str) -> i64 {
    database(dir).query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

/// Waits until the writer has removed the rows of deleted sessions.
async fn until_cleared(dir: &Path) {
    while count(dir, "leftovers") > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn dropped_frames_leave_their_events_and_are_no_damage() {
    let (dir, store) = temporary();
    let mut session = create(&store, "a").await;
    turn(&store, &mut session, 3).await;
    let dropped = store.drop_frames(ALL).await.unwrap();
    assert_eq!(dropped.frames, 3);
    assert!(dropped.bytes > 0);
    turn(&store, &mut session, 2).await;
    let found = store.frames(session.no, &[1, 3, 4, 5, 6]).await.unwrap();
    assert_eq!(found[&1], StoredFrame::Dropped);
    assert_eq!(found[&3], StoredFrame::Dropped);
    assert_eq!(found[&4], native(4).bytes);
    assert_eq!(found.len(), 4, "what never was is absent");
    assert_eq!(seqs(&read(&store, session.no, after(0)).await.events), [1, 2, 3, 4, 5, 6]);
    assert_eq!(faults(dir.path()), NONE);
    assert_eq!(store.drop_frames(RawLimits::default()).await.unwrap(), Dropped::default());
    store.close().await.unwrap();

    let store = open(dir.path());
    assert_eq!(store.frames(session.no, &[2]).await.unwrap()[&2], StoredFrame::Dropped);
    turn(&store, &mut session, 1).await;
    assert_eq!(faults(dir.path()), NONE);
}

#[tokio::test]
async fn frames_that_are_missing_beside_the_dropped_ones_are_damage() {
    let (dir, store) = temporary();
    let mut session = create(&store, "a").await;
    turn(&store, &mut session, 2).await;
    store.drop_frames(ALL).await.unwrap();
    turn(&store, &mut session, 1).await;
    store.close().await.unwrap();
    database(dir.path()).execute("DELETE FROM frames", []).unwrap();
    let said = [
        "frames, session a, 3: frames 3 to 3 are missing",
        "events, session a, 4: refers to frame 3, which cannot be read",
    ];
    assert_eq!(faults(dir.path()), said);
    database(dir.path()).execute("UPDATE trims SET dropped_to = 3", []).unwrap();
    assert_eq!(faults(dir.path())[0], "trims, session a: does not match its checksum");
}

#[tokio::test]
async fn the_moment_at_which_frames_were_stored_is_guarded() {
    let (dir, store) = temporary();
    let mut session = create(&store, "a").await;
    turn(&store, &mut session, 1).await;
    store.close().await.unwrap();
    database(dir.path()).execute("UPDATE frames SET stored_ms = stored_ms - 1", []).unwrap();
    assert_eq!(faults(dir.path())[0], "frames, session a, 1: does not match its checksum");
}

#[tokio::test]
async fn only_frames_from_before_the_moment_go() {
    let (dir, store) = temporary();
    let (mut old, mut new) = (create(&store, "old").await, create(&store, "new").await);
    turn(&store, &mut old, 2).await;
    // Packs that are older than the time column: the time of the session counts, here two seconds.
    database(dir.path()).execute("UPDATE frames SET stored_ms = 0", []).unwrap();
    turn(&store, &mut new, 2).await;
    let before = |ms| RawLimits { before_ms: Some(ms), max_bytes: None };
    assert_eq!(store.drop_frames(before(2_000)).await.unwrap().frames, 0);
    assert_eq!(store.drop_frames(before(2_001)).await.unwrap().frames, 2);
    assert_eq!(store.frames(old.no, &[2]).await.unwrap()[&2], StoredFrame::Dropped);
    assert_eq!(store.frames(new.no, &[2]).await.unwrap()[&2], native(2).bytes);
}

#[tokio::test]
async fn frames_over_the_budget_go_oldest_first() {
    let (dir, store) = temporary();
    let (mut a, mut b) = (create(&store, "a").await, create(&store, "b").await);
    for _ in 0..10 {
        turn(&store, &mut a, 5).await;
        turn(&store, &mut b, 5).await;
    }
    let bytes = |dir: &Path| -> i64 {
        database(dir).query_row("SELECT sum(length(data)) FROM frames", [], |row| row.get(0)).unwrap()
    };
    let before = bytes(dir.path());
    let budget = before as u64 / 2;
    let dropped = store.drop_frames(RawLimits { before_ms: None, max_bytes: Some(budget) }).await.unwrap();
    assert_eq!(bytes(dir.path()), before - dropped.bytes as i64);
    assert!(bytes(dir.path()) as u64 <= budget);
    assert!(bytes(dir.path()) as u64 >= budget - budget / 8, "not much more than needed");
    for session in [&a, &b] {
        let found = store.frames(session.no, &[1, 50]).await.unwrap();
        assert_eq!(found[&1], StoredFrame::Dropped);
        assert_eq!(found[&50], native(50).bytes);
    }
    assert_eq!(faults(dir.path()), NONE);
    assert_eq!(
        store.drop_frames(RawLimits { before_ms: None, max_bytes: Some(budget) }).await.unwrap(),
        Dropped::default(),
    );
}

#[tokio::test]
async fn dropping_and_packing_again_do_not_disturb_each_other() {
    let (dir, store) = temporary();
    let mut session = create(&store, "a").await;
    for _ in 0..20 {
        for _ in 0..5 {
            turn(&store, &mut session, 4).await;
        }
        let mut end = deltas(&session, [session.last_seq + 1]);
        end.events[0].kind = UniversalEventType::TurnEnded;
        append(&store, end).await;
        session.last_seq += 1;
        store.drop_frames(RawLimits { before_ms: None, max_bytes: Some(1500) }).await.unwrap();
    }
    store.close().await.unwrap();
    assert_eq!(faults(dir.path()), NONE);
    let store = open(dir.path());
    let numbers: Vec<u64> = (1..=session.last_frame).collect();
    let found = store.frames(session.no, &numbers).await.unwrap();
    let kept = numbers.iter().filter(|no| found[no] != StoredFrame::Dropped);
    assert!(kept.clone().count() > 0);
    assert!(kept.clone().all(|no| found[no] == native(*no).bytes));
}

/// Creates a session that ended, with a blob and frames.
async fn ended(store: &Store, name: &str, padding: usize) -> SessionRecord {
    let mut session = create(store, name).await;
    turn(store, &mut session, 3).await;
    let mut batch = deltas(&session, [session.last_seq + 1]);
    batch.events[0].kind = UniversalEventType::SessionEnded;
    batch.record = Some(RecordUpdate { fold: "{}".into(), ended: true, open_from: None });
    let bytes = Bytes::from("x".repeat(padding));
    batch.blobs = vec![Blob { name: "blob".into(), mime: "text/plain".into(), bytes }];
    append(store, batch).await;
    session.last_seq += 1;
    session
}

async fn surplus(store: &Store, limits: EndedLimits) -> Vec<String> {
    let sessions = store.surplus_sessions(limits).await.unwrap();
    sessions.iter().map(|session| session.id.to_string()).collect()
}

#[tokio::test]
async fn only_ended_sessions_that_nothing_waits_for_are_surplus() {
    let (_dir, store) = temporary();
    create(&store, "running").await;
    let waited_for = ended(&store, "waited-for", 10).await;
    let push = QueueOp::Push { message_id: MessageId("m".into()), body: "{}".into() };
    append(&store, Batch { queue: vec![push], ..Batch::new(waited_for.no) }).await;
    let open = ended(&store, "open", 10).await;
    let record = Some(RecordUpdate { fold: "{}".into(), ended: true, open_from: Some(2) });
    append(&store, Batch { record, ..Batch::new(open.no) }).await;
    ended(&store, "over", 10).await;
    let all = EndedLimits { before_ms: Some(i64::MAX), max_bytes: None };
    assert_eq!(surplus(&store, all).await, ["over"]);
    assert_eq!(surplus(&store, EndedLimits { before_ms: Some(2_000), max_bytes: None }).await, NONE);
    assert_eq!(surplus(&store, EndedLimits::default()).await, NONE);
}

#[tokio::test]
async fn ended_sessions_over_the_budget_are_named_oldest_first() {
    let (_dir, store) = temporary();
    for name in ["a", "b", "c"] {
        ended(&store, name, 10_000).await;
    }
    let over = |max| EndedLimits { before_ms: None, max_bytes: Some(max) };
    assert_eq!(surplus(&store, over(100_000)).await, NONE);
    assert_eq!(surplus(&store, over(25_000)).await, ["a"]);
    assert_eq!(surplus(&store, over(5_000)).await, ["a", "b", "c"]);
    // A session that has grown is measured again.
    let a = store.session(&id("a")).await.unwrap().unwrap();
    let mut grown = deltas(&a, [a.last_seq + 1]);
    grown.events[0].json = Bytes::from(format!(r#"{{"pad":"{}"}}"#, "x".repeat(100_000)));
    append(&store, grown).await;
    assert_eq!(surplus(&store, over(100_000)).await, ["a"]);
}

#[tokio::test]
async fn what_a_deleted_session_leaves_is_removed_in_pieces_and_no_damage_meanwhile() {
    let (dir, store) = temporary();
    let mut large = create(&store, "large").await;
    for _ in 0..10 {
        turn(&store, &mut large, 1_000).await;
    }
    let mut subscriber = store.subscribe(large.no, large.last_seq);
    let other = create(&store, "other").await;
    store.delete(large.no).await.unwrap().unwrap();
    assert!(matches!(subscriber.next(1000).await.unwrap(), Next::Deleted));
    assert_eq!(faults(dir.path()), NONE);
    assert!(store.session(&id("large")).await.unwrap().is_none());
    append(&store, deltas(&other, [2])).await;
    until_cleared(dir.path()).await;
    assert_eq!((count(dir.path(), "events"), count(dir.path(), "frames")), (2, 0));
    assert_eq!(faults(dir.path()), NONE);
}

/// Records a session as deleted, as the log does.
fn note_deleted(dir: &Path, session: SessionNo, crc: u32) {
    let sql = "INSERT OR REPLACE INTO leftovers (session_no, crc) VALUES (?1, ?2)";
    database(dir).execute(sql, (session.0, crc)).unwrap();
}

#[tokio::test]
async fn a_start_goes_on_with_what_the_last_one_has_left() {
    let (dir, store) = temporary();
    let session = ended(&store, "a", 10).await;
    create(&store, "b").await;
    store.close().await.unwrap();
    database(dir.path()).execute("DELETE FROM sessions WHERE no = ?1", [session.no.0]).unwrap();
    assert_eq!(faults(dir.path()).len(), 3, "events, frames and blobs of nobody");
    note_deleted(dir.path(), session.no, crc32fast::hash(&session.no.0.to_le_bytes()));
    assert_eq!(faults(dir.path()), NONE);
    let _store = open(dir.path());
    until_cleared(dir.path()).await;
    let left = ["events", "frames", "blobs"].map(|table| count(dir.path(), table));
    assert_eq!(left, [1, 0, 0]);
}

#[tokio::test]
async fn a_damaged_note_of_a_deletion_costs_no_session_that_lives() {
    let (dir, store) = temporary();
    let mut session = create(&store, "a").await;
    turn(&store, &mut session, 3).await;
    store.close().await.unwrap();
    let crc = crc32fast::hash(&session.no.0.to_le_bytes());
    for crc in [crc, crc + 1] {
        note_deleted(dir.path(), session.no, crc);
        let store = open(dir.path());
        store.close().await.unwrap();
        assert_eq!((count(dir.path(), "events"), count(dir.path(), "frames")), (4, 1));
    }
    assert_eq!(faults(dir.path()), ["leftovers: a row does not match its checksum"]);
}

#[tokio::test]
async fn freed_space_is_used_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_with(dir.path(), Options::default());
    let pages =
        || -> i64 { database(dir.path()).query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap() };
    let mut most = 0;
    for round in 0..4 {
        let session = ended(&store, &format!("s{round}"), 2 << 20).await;
        if round == 0 {
            most = pages();
        }
        assert!(pages() <= most + 16, "round {round}: {} pages after {most}", pages());
        store.delete(session.no).await.unwrap().unwrap();
        until_cleared(dir.path()).await;
    }
}

//! The frames of an ended turn become one row, byte for byte the same, also during reads.

use std::path::Path;

use omniglot_schema::UniversalEventType;
use omniglot_store::{Batch, SessionNo, SessionRecord, Store};

use crate::support::*;

/// Appends a turn of this many batches with two frames each, the last of which ends it.
async fn turn(store: &Store, session: &mut SessionRecord, batches: u64) {
    for n in 1..=batches {
        let mut batch = deltas(session, [session.last_seq + 1]);
        batch.frames = vec![native(session.last_frame + 1), native(session.last_frame + 2)];
        batch.events[0].frame_no = Some(session.last_frame + 1);
        if n == batches {
            batch.events[0].kind = UniversalEventType::TurnEnded;
        }
        append(store, batch).await;
        session.last_seq += 1;
        session.last_frame += 2;
    }
}

async fn assert_frames(store: &Store, session: SessionNo, last: u64) {
    let numbers: Vec<u64> = (1..=last).collect();
    let found = store.frames(session, &numbers).await.unwrap();
    assert_eq!(found.len(), numbers.len());
    assert!(numbers.iter().all(|no| found[no] == native(*no).bytes));
}

/// Returns the first frame and the number of frames of each row.
fn rows(dir: &Path, session: SessionNo) -> Vec<(u64, u64)> {
    let database = database(dir);
    let sql = "SELECT first_no, count FROM frames WHERE session_no = ?1 ORDER BY first_no";
    let mut statement = database.prepare(sql).unwrap();
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64));
    statement.query_map([session.0], row).unwrap().map(Result::unwrap).collect()
}

#[tokio::test]
async fn each_turn_becomes_one_row_with_the_same_frames() {
    let (dir, store) = temporary();
    let (mut a, mut b) = (create(&store, "a").await, create(&store, "b").await);
    turn(&store, &mut a, 300).await;
    turn(&store, &mut b, 40).await;
    // Readers see the same frames before, while and after the rows are exchanged.
    while rows(dir.path(), a.no).len() > 1 || rows(dir.path(), b.no).len() > 1 {
        assert_frames(&store, a.no, a.last_frame).await;
        assert_frames(&store, b.no, b.last_frame).await;
    }
    assert_eq!(rows(dir.path(), a.no), [(1, 600)]);
    turn(&store, &mut a, 10).await;
    while rows(dir.path(), a.no).len() > 2 {
        assert_frames(&store, a.no, a.last_frame).await;
    }
    assert_eq!(rows(dir.path(), a.no), [(1, 600), (601, 20)]);
    assert_eq!(faults(dir.path()), Vec::<String>::new());
    store.close().await.unwrap();

    let store = open(dir.path());
    assert_frames(&store, a.no, a.last_frame).await;
    assert_frames(&store, b.no, b.last_frame).await;
    assert_eq!(store.session(&id("a")).await.unwrap().unwrap().last_frame, 620);
}

#[tokio::test]
async fn an_end_of_the_log_right_after_the_turn_does_not_leave_it_unpacked() {
    let (dir, store) = temporary();
    let mut session = create(&store, "a").await;
    turn(&store, &mut session, 30).await;
    store.close().await.unwrap();
    assert_eq!(rows(dir.path(), session.no), [(1, 60)]);
}

#[tokio::test]
async fn a_turn_that_has_not_ended_stays_as_it_is() {
    let (dir, store) = temporary();
    let session = create(&store, "a").await;
    append(&store, Batch { frames: vec![native(1)], ..deltas(&session, [2]) }).await;
    append(&store, Batch { frames: vec![native(2)], ..deltas(&session, [3]) }).await;
    store.close().await.unwrap();
    assert_eq!(rows(dir.path(), session.no), [(1, 1), (2, 1)]);
}

#[tokio::test]
async fn a_large_turn_gets_several_rows_of_bounded_size() {
    let (dir, store) = temporary();
    let session = create(&store, "a").await;
    let large = |no: u64| frame(no, &format!("{no}{}", "x".repeat(3 << 20)));
    for no in 1..=5 {
        append(&store, Batch { frames: vec![large(no)], ..Batch::new(session.no) }).await;
    }
    let mut end = deltas(&session, [2]);
    end.events[0].kind = UniversalEventType::TurnEnded;
    append(&store, end).await;
    while rows(dir.path(), session.no).len() > 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(rows(dir.path(), session.no), [(1, 2), (3, 2), (5, 1)]);
    let found = store.frames(session.no, &[1, 2, 3, 4, 5]).await.unwrap();
    assert!((1..=5).all(|no| found[&no] == large(no).bytes));
}

#[tokio::test]
async fn damaged_frames_are_left_alone_and_the_others_packed() {
    let (dir, store) = temporary();
    let mut session = create(&store, "a").await;
    for no in 1..=5 {
        append(&store, Batch { frames: vec![native(no)], ..Batch::new(session.no) }).await;
    }
    session.last_frame = 5;
    database(dir.path()).execute("UPDATE frames SET data = x'00' WHERE first_no = 3", []).unwrap();
    turn(&store, &mut session, 2).await;
    store.close().await.unwrap();
    assert_eq!(rows(dir.path(), session.no), [(1, 2), (3, 1), (4, 6)]);
    assert_eq!(faults(dir.path()), ["frames, session a, 3: does not match its checksum"]);
}

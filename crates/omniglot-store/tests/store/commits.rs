//! The order of all sessions' events: whole, without repetition, and the same for everybody who reads it.

use omniglot_store::{Commit, Committed, NewSession, SessionNo, Store, StoreError};

use crate::support::*;

/// Returns `SESSION first-last` per row after `after`; a deleted session is `SESSION id`.
async fn told(store: &Store, after: u64) -> Vec<String> {
    if store.commit_head().await.unwrap().last == after {
        return vec![];
    }
    let line = |Commit { session: SessionNo(no), content, .. }| match content {
        Committed::Events { first, last } => format!("{no} {first}-{last}"),
        Committed::Removed(removed) => format!("{no} {}", removed.session_id),
    };
    store.follow_commits(after).next().await.unwrap().into_iter().map(line).collect()
}

#[tokio::test]
async fn every_event_and_deletion_has_its_place_in_one_order() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let (a, b) = (create(&store, "a").await, create(&store, "b").await);
    append(&store, deltas(&b, 2..=4)).await;
    append(&store, deltas(&a, [2])).await;
    store.delete(b.no).await.unwrap().unwrap();
    let all = ["1 1-1", "2 1-1", "2 2-4", "1 2-2", "2 b"];
    assert_eq!(told(&store, 0).await, all);
    assert_eq!(told(&store, 3).await, all[3..]);
    let head = store.commit_head().await.unwrap();
    assert_eq!((head.floor, head.last), (0, 5));
    store.close().await.unwrap();
    drop(store);
    let store = open(dir.path());
    assert_eq!(store.commit_head().await.unwrap(), head, "an end of the daemon changes nothing");
    assert_eq!(told(&store, 0).await, all);
    assert!(faults(dir.path()).is_empty());
}

#[tokio::test]
async fn a_follower_waits_for_what_comes_and_learns_of_the_end() {
    let (_dir, store) = temporary();
    let a = create(&store, "a").await;
    let mut feed = store.follow_commits(1);
    let next = tokio::spawn(async move { (feed.next().await, feed) });
    append(&store, deltas(&a, [2, 3])).await;
    let (commits, mut feed) = next.await.unwrap();
    let content = Committed::Events { first: 2, last: 3 };
    assert_eq!(commits.unwrap(), [Commit { no: 2, session: a.no, content }]);
    store.close().await.unwrap();
    assert!(matches!(feed.next().await, Err(StoreError::Closed)));
}

#[tokio::test]
async fn copied_events_have_no_place_of_their_own() {
    let (_dir, store) = temporary();
    let kind = omniglot_schema::UniversalEventType::ItemDelta;
    let mut fork = new_session("fork");
    fork.events.extend((2..=9).map(|seq| event("fork", seq, kind)));
    let whole = NewSession { copied: 8, ..fork.clone() };
    store.create(whole).await.unwrap().unwrap();
    let partly = NewSession { copied: 5, id: id("other"), ..fork };
    store.create(partly).await.unwrap().unwrap();
    assert_eq!(told(&store, 0).await, ["1 1-1", "2 1-1", "2 7-9"]);
}

#[tokio::test]
async fn a_replaced_session_is_removed_before_the_new_one_begins() {
    let (_dir, store) = temporary();
    let old = create(&store, "a").await;
    store.replace(old.no, new_session("a")).await.unwrap().unwrap();
    assert_eq!(told(&store, 1).await, ["1 a", "2 1-1"]);
}

#[tokio::test]
async fn the_oldest_rows_go_and_a_reader_behind_them_is_told() {
    let (dir, store) = temporary();
    let a = create(&store, "a").await;
    let sql = "INSERT INTO commits (no, session_no, first_seq, last_seq, crc) VALUES (1023999, 1, 1, 1, 0)";
    database(dir.path()).execute(sql, []).unwrap();
    append(&store, deltas(&a, [2])).await;
    assert_eq!(store.commit_head().await.unwrap().floor, 1_023_998);
    assert!(matches!(store.follow_commits(0).next().await, Err(StoreError::DamagedCommit { no: 1_023_999 })));
    let mut behind = store.follow_commits(1_023_998);
    assert!(behind.next().await.is_err());
    behind.skip(1_023_999);
    assert_eq!(behind.next().await.unwrap()[0].no, 1_024_000, "it goes on after what cannot be read");
    assert_eq!(told(&store, 1_023_999).await, ["1 2-2"]);
    append(&store, deltas(&a, [3])).await;
    database(dir.path()).execute("DELETE FROM commits WHERE no <= 1024000", []).unwrap();
    assert!(matches!(store.follow_commits(1_023_999).next().await, Err(StoreError::Pruned { .. })));
}

#[tokio::test]
async fn a_log_from_before_the_table_gets_a_row_for_each_session() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let a = create(&store, "a").await;
    append(&store, deltas(&a, 2..=7)).await;
    store.close().await.unwrap();
    drop(store);
    let old = "DELETE FROM commits; DELETE FROM meta WHERE key = 'commits_epoch';";
    database(dir.path()).execute_batch(old).unwrap();
    let store = open(dir.path());
    assert_eq!(told(&store, 0).await, ["1 1-7"]);
}

//! Subscribers receive every event once, from any cursor, across the change from stored to new events.

use omniglot_store::{
    Changes, Next, Options, SessionChange, SessionNo, SessionRecord, Store, StoreError, Subscription,
};
use tokio::task::JoinSet;

use crate::support::*;

const LAST: u64 = 600;

/// Reads on until `LAST`, in odd sizes, and often gives up a read half-way.
async fn follow(mut subscription: Subscription, name: String, mut dice: Dice) {
    let cursor = subscription.cursor();
    let mut events = Vec::new();
    while subscription.cursor() < LAST {
        let max_bytes = 1 + dice.below(2_000) as usize;
        let next = if dice.below(3) == 0 {
            tokio::select! {
                biased;
                next = subscription.next(max_bytes) => next,
                () = tokio::task::yield_now() => continue,
            }
        } else {
            subscription.next(max_bytes).await
        };
        match next.unwrap() {
            Next::Events(more) => {
                assert!(!more.is_empty());
                events.extend(more);
            }
            Next::Deleted => panic!("nobody deleted {name}"),
        }
    }
    assert_suffix(&events, &name, cursor, LAST);
    assert!(subscription.caught_up());
}

async fn produce(store: Store, session: SessionRecord, mut dice: Dice) {
    let mut next = session.last_seq + 1;
    while next <= LAST {
        let end = (next + dice.below(20)).min(LAST);
        let committed = store.append(deltas(&session, next..=end));
        next = end + 1;
        if dice.below(4) == 0 {
            committed.await.unwrap().unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_subscriber_gets_the_exact_suffix_of_its_own_session() {
    let dir = tempfile::tempdir().unwrap();
    // A small ring, so that subscribers fall behind it and catch up again.
    let store = open_with(dir.path(), Options { ring_bytes: 2_000, ..Options::default() });
    for round in 1..=4 {
        let mut tasks = JoinSet::new();
        for name in ["a", "b", "c"].map(|name| format!("{name}{round}")) {
            let session = create(&store, &name).await;
            let mut dice = Dice(round * 7919 + name.len() as u64 * 31 + session.no.0 as u64);
            tasks.spawn(produce(store.clone(), session.clone(), Dice(dice.below(1 << 40) + 1)));
            for _ in 0..8 {
                let (store, name, no) = (store.clone(), name.clone(), session.no);
                let mut dice = Dice(dice.below(1 << 40) + 1);
                tasks.spawn(async move {
                    // A cursor that was really issued: any sequence up to the committed one.
                    for _ in 0..dice.below(200) {
                        tokio::task::yield_now().await;
                    }
                    let cursor = dice.below(store.committed(no).unwrap() + 1);
                    follow(store.subscribe(no, cursor), name, dice).await;
                });
            }
        }
        tasks.join_all().await;
    }
}

#[tokio::test]
async fn a_subscriber_waits_for_the_next_commit() {
    let (_dir, store) = temporary();
    let session = create(&store, "a").await;
    let mut subscription = store.subscribe(session.no, 1);
    assert!(subscription.caught_up());
    let waiting = tokio::spawn(async move { subscription.next(1 << 15).await.unwrap() });
    append(&store, deltas(&session, 2..=4)).await;
    let Next::Events(events) = waiting.await.unwrap() else { panic!("not deleted") };
    assert_suffix(&events, "a", 1, 4);
}

#[tokio::test]
async fn what_is_answered_is_visible_at_once() {
    let (_dir, store) = temporary();
    let session = create(&store, "a").await;
    let subscription = store.subscribe(session.no, 1);
    append(&store, deltas(&session, 2..=9)).await;
    assert!(!subscription.caught_up());
    assert_eq!(store.committed(session.no), Some(9));
}

#[tokio::test]
async fn a_subscriber_behind_the_ring_reads_the_database_and_then_the_ring() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_with(dir.path(), Options { ring_bytes: 500, ..Options::default() });
    let session = create(&store, "a").await;
    let mut subscription = store.subscribe(session.no, 0);
    append(&store, deltas(&session, 2..=100)).await;
    let mut events = Vec::new();
    while !subscription.caught_up() {
        let Next::Events(more) = subscription.next(1_000).await.unwrap() else { panic!("not deleted") };
        assert!(more.iter().map(|event| event.json.len()).sum::<usize>() <= 1_000);
        events.extend(more);
    }
    assert_suffix(&events, "a", 0, 100);
}

#[tokio::test]
async fn a_deletion_wakes_subscribers_and_a_new_session_of_that_name_does_not_reach_them() {
    let (_dir, store) = temporary();
    let session = create(&store, "a").await;
    let mut waiting = store.subscribe(session.no, 1);
    let mut behind = store.subscribe(session.no, 0);
    let waiting = tokio::spawn(async move { waiting.next(100).await.unwrap() });
    store.delete(session.no).await.unwrap().unwrap();
    let second = create(&store, "a").await;
    append(&store, deltas(&second, 2..=5)).await;
    assert!(matches!(waiting.await.unwrap(), Next::Deleted));
    assert!(matches!(behind.next(100).await.unwrap(), Next::Deleted));
    assert!(matches!(store.subscribe(session.no, 0).next(100).await.unwrap(), Next::Deleted));
    assert_eq!(store.committed(session.no), None);
}

#[tokio::test]
async fn closing_ends_subscriptions() {
    let (_dir, store) = temporary();
    let session = create(&store, "a").await;
    let mut subscription = store.subscribe(session.no, 1);
    let waiting = tokio::spawn(async move { subscription.next(100).await });
    store.close().await.unwrap();
    assert!(matches!(waiting.await.unwrap(), Err(StoreError::Closed)));
    assert!(matches!(store.read(session.no, after(0)).await, Err(StoreError::Closed)));
    assert!(matches!(store.append(deltas(&session, 2..=2)).await.unwrap(), Err(StoreError::Closed)));
}

#[tokio::test]
async fn whoever_follows_all_sessions_hears_which_are_new_grow_and_go() {
    let (dir, store) = temporary();
    let old = create(&store, "old").await;
    store.close().await.unwrap();
    drop(store);
    let store = open(dir.path());
    let mut news = store.follow();
    let first = old.last_seq + 1;
    append(&store, deltas(&old, first..=first + 1)).await;
    append(&store, deltas(&old, [first + 2])).await;
    let (no, change) = only(&mut news).await;
    assert!(
        no == old.no && matches!(change, SessionChange::Grown { after } if after == old.last_seq),
        "{change:?}"
    );
    let new = create(&store, "new").await;
    let (no, change) = only(&mut news).await;
    assert!(no == new.no && matches!(change, SessionChange::Grown { after: 0 }), "{change:?}");
    store.delete(old.no).await.unwrap().unwrap();
    let (no, change) = only(&mut news).await;
    let SessionChange::Deleted(Some(row)) = change else { panic!("{change:?}") };
    assert_eq!(
        (no, &row.id, row.last_seq),
        (old.no, &id("old"), first + 2),
        "its last row goes with the news"
    );
    store.close().await.unwrap();
    assert!(news.next().await.is_none());
}

/// Returns the next change, of one session.
async fn only(news: &mut Changes) -> (SessionNo, SessionChange) {
    let mut told = news.next().await.unwrap();
    assert_eq!(told.len(), 1, "one entry, from the first on: {told:?}");
    told.remove(0)
}

#[tokio::test]
async fn a_session_takes_the_place_of_another_in_one_moment() {
    let (_dir, store) = temporary();
    let old = create(&store, "a").await;
    let mut reader = store.subscribe(old.no, old.last_seq);
    let mut news = store.follow();
    let new = store.replace(old.no, new_session("a")).await.unwrap().unwrap();
    let told = news.next().await.unwrap();
    let [(gone, SessionChange::Replaced), (born, SessionChange::Grown { after: 0 })] = &*told else {
        panic!("{told:?}")
    };
    assert_eq!((*gone, *born), (old.no, new.no));
    assert!(matches!(reader.next(100).await, Ok(Next::Deleted)));
    assert_eq!(store.session(&id("a")).await.unwrap().unwrap().no, new.no);
    assert!(store.session_numbered(old.no).await.unwrap().is_none());
    let other = create(&store, "b").await;
    let refused = store.replace(other.no, new_session("c")).await.unwrap();
    assert!(matches!(refused, Err(StoreError::NoSession)), "only one of the same id makes room");
    assert!(store.session_numbered(other.no).await.unwrap().is_some());
}

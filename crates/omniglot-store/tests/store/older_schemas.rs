//! Databases that older programs have written: each schema that was ever in use is opened, migrated, and serves what
//! it has served before.
//!
//! `tests/fixtures/older_schemas` has one database for each, made by the program of its time, 9 by its migration from 8;
//! `events.jsonl` there has the events of all its sessions. All have the same content: a session with a whole turn and a
//! permission, one in the middle of a turn with an open permission and a queued message, one that has ended, and one
//! that was deleted.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use omniglot_store::{Committed, Next, Options, SearchQuery, Store, StoreError, StoredFrame, search_terms};
use rusqlite::Connection;

use crate::support::*;

/// The number of migrations of each schema; 1 and 3 were never in use without the one after them.
const VERSIONS: [i64; 7] = [2, 4, 5, 6, 7, 8, 9];

/// The first version of which the program had a folder `private` in its data directory.
const PRIVATE_SINCE: i64 = 5;

/// The first version of which the program kept the order of all events, deletions included.
const ORDER_SINCE: i64 = 6;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/older_schemas").join(name)
}

/// A data directory as the program of this version has left it.
fn older(version: i64) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let at =
        if version < PRIVATE_SINCE { dir.path().to_owned() } else { omniglot_store::private(dir.path()) };
    std::fs::create_dir_all(&at).unwrap();
    std::fs::copy(fixture(&format!("{version}.db")), at.join("omniglot.db")).unwrap();
    dir
}

/// A copy of a fixture, and a connection to it.
fn unmigrated(version: i64) -> (tempfile::NamedTempFile, Connection) {
    let copy = tempfile::NamedTempFile::new().unwrap();
    std::fs::copy(fixture(&format!("{version}.db")), copy.path()).unwrap();
    let connection = Connection::open(copy.path()).unwrap();
    (copy, connection)
}

fn version_of(connection: &Connection) -> i64 {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

/// The events of a session as they were served.
fn served(session: &str) -> Vec<String> {
    let all = std::fs::read_to_string(fixture("events.jsonl")).unwrap();
    let of_session = format!(r#""session_id":"{session}""#);
    all.lines().filter(|line| line.contains(&of_session)).map(str::to_owned).collect()
}

/// Asserts that a subscriber with this cursor receives the rest of the session, to the byte.
async fn assert_served(store: &Store, session: &str, cursor: usize) {
    let record = store.session(&id(session)).await.unwrap().unwrap();
    let expected = served(session);
    assert_eq!(record.last_seq, expected.len() as u64);
    let mut log = store.subscribe(record.no, cursor as u64);
    let mut received = vec![];
    while received.len() < expected.len() - cursor {
        let Next::Events(events) = log.next(1000).await.unwrap() else { panic!("{session} is deleted") };
        received.extend(events.iter().map(|event| String::from_utf8(event.json.to_vec()).unwrap()));
    }
    assert_eq!(received, expected[cursor..], "{session} after {cursor}");
}

#[test]
fn every_schema_that_was_in_use_has_a_fixture() {
    for version in VERSIONS {
        assert_eq!(version_of(&unmigrated(version).1), version);
    }
    let (dir, store) = temporary();
    drop(store);
    let newest = version_of(&database(dir.path()));
    assert_eq!(VERSIONS.last(), Some(&newest), "a new migration needs a fixture, made before the next one");
}

#[tokio::test]
async fn a_database_of_any_older_version_serves_what_it_has_served() {
    for version in VERSIONS {
        let dir = older(version);
        let epochs = epochs(&unmigrated(version).1);
        let store = open(dir.path());
        for session in ["told", "open", "ended"] {
            let record = store.session(&id(session)).await.unwrap().unwrap();
            assert_eq!(record.epoch, epochs[session], "version {version}: cursors hold");
            for cursor in 0..served(session).len() {
                assert_served(&store, session, cursor).await;
            }
        }
        assert_eq!(store.count(), 3, "the deleted session is gone");
        let open_session = store.session(&id("open")).await.unwrap().unwrap();
        assert_eq!(open_session.open_from, Some(2));
        let unfinished = store.unfinished().await.unwrap();
        assert_eq!(unfinished.iter().map(|record| record.no).collect::<Vec<_>>(), [open_session.no]);
        let queue = store.queue(open_session.no).await.unwrap();
        assert_eq!((queue.len(), queue[0].body.as_str()), (1, r#"{"message":"And then?"}"#));
        store.close().await.unwrap();
        assert_eq!(faults(dir.path()), [""; 0], "version {version}");
    }
}

#[tokio::test]
async fn a_database_of_any_older_version_keeps_frames_and_blobs_and_can_be_searched_and_followed() {
    for version in VERSIONS {
        let dir = older(version);
        let store = open(dir.path());
        let record = store.session(&id("told")).await.unwrap().unwrap();
        let frames = store.frames(record.no, &[1, 11]).await.unwrap();
        let kept = |no| StoredFrame::Kept(format!(r#"{{"native":{no}}}"#).into());
        assert_eq!(frames, HashMap::from([(1, kept(1)), (11, kept(11))]), "version {version}");
        assert_eq!(store.blob(record.no, "picture").await.unwrap().unwrap().mime, "image/png");

        let head = store.commit_head().await.unwrap();
        let commits = store.follow_commits(0).next().await.unwrap();
        assert_eq!(commits.last().unwrap().no, head.last, "version {version}");
        let removed = commits.iter().filter(|commit| matches!(commit.content, Committed::Removed(_)));
        assert_eq!(removed.count(), usize::from(version >= ORDER_SINCE), "version {version}");

        // What is older than the index comes to it in idle times.
        let found = async || {
            let query = SearchQuery { terms: search_terms("héllo"), before: None, limit: 10 };
            store.search(query).await.unwrap()
        };
        while found().await.is_empty() {
            tokio::task::yield_now().await;
        }

        append(&store, deltas(&record, [record.last_seq + 1])).await;
        store.close().await.unwrap();
        assert_eq!(faults(dir.path()), [""; 0], "version {version}");
    }
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_in_clear_words_and_not_touched() {
    let newest = VERSIONS.last().unwrap();
    let dir = older(*newest);
    let database = omniglot_store::private(dir.path()).join("omniglot.db");
    Connection::open(&database).unwrap().pragma_update(None, "user_version", newest + 1).unwrap();
    let before = std::fs::read(&database).unwrap();
    let refused = Store::open(dir.path(), Options::default()).unwrap_err();
    assert!(matches!(refused, StoreError::TooNew { .. }), "{refused}");
    let words = format!(
        "the database is of version {}, this program knows up to {newest}; use a newer omniglot",
        newest + 1
    );
    assert_eq!(refused.to_string(), words);
    assert_eq!(std::fs::read(&database).unwrap(), before);
}

/// Reads the epochs as the older program has written them.
fn epochs(connection: &Connection) -> HashMap<String, String> {
    let mut statement = connection.prepare("SELECT id, epoch FROM sessions").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

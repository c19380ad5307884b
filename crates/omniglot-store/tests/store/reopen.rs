//! Close and open: the data that stays, the processes that may open, the cursors that remain valid.

use omniglot_store::{LockHolder, Options, Store, StoreError, lock_holder};
use rusqlite::Connection;

use crate::support::*;

fn boot(id: &str) -> Options {
    Options { boot_id: Some(id.into()), ..Options::default() }
}

#[tokio::test]
async fn a_drop_without_close_keeps_what_was_appended_and_its_epoch() {
    let (dir, store) = temporary();
    let session = create(&store, "a").await;
    let unanswered = store.append(deltas(&session, 2..=500));
    drop((store, unanswered));
    let store = open(dir.path());
    let again = store.session(&id("a")).await.unwrap().unwrap();
    assert_eq!((again.no, &again.epoch, again.last_seq), (session.no, &session.epoch, 500));
    assert_eq!(store.committed(session.no), Some(500));
    assert_suffix(&read(&store, session.no, after(0)).await.events, "a", 0, 500);
    append(&store, deltas(&session, 501..=501)).await;
}

#[tokio::test]
async fn epochs_change_only_if_the_machine_went_down_uncleanly() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_with(dir.path(), boot("one"));
    let first = create(&store, "a").await.epoch;
    create(&store, "b").await;
    let epochs = async |store: &Store| {
        let of = async |name| store.session(&id(name)).await.unwrap().unwrap().epoch;
        (of("a").await, of("b").await)
    };
    drop(store);

    let store = open_with(dir.path(), boot("one"));
    assert_eq!(epochs(&store).await.0, first, "the daemon alone died");
    store.close().await.unwrap();

    let store = open_with(dir.path(), boot("two"));
    assert_eq!(epochs(&store).await.0, first, "a clean end before the reboot");
    drop(store);

    let store = open_with(dir.path(), boot("three"));
    let (a, b) = epochs(&store).await;
    assert!(a != first && a != b && a.len() == first.len(), "the machine went down under it");
    drop(store);

    let store = open_with(dir.path(), Options { boot_id: None, ..Options::default() });
    assert_ne!(epochs(&store).await.0, a, "nobody knows whether the machine went down");
}

#[tokio::test]
async fn a_second_open_is_refused_and_told_the_holder() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(lock_holder(dir.path()), None);
    let store = open(dir.path());
    assert_eq!(lock_holder(dir.path()), None, "held, but not announced");
    let token_file = Some("/secrets/token".into());
    let certificate = Some("a1".into());
    let url = "https://127.0.0.1:2468".into();
    let holder = LockHolder { pid: 4711, url, token_file, certificate, temporary: true };
    store.announce(&holder).unwrap();
    assert_eq!(lock_holder(dir.path()), Some(holder));
    let refused = Store::open(dir.path(), Options::default()).unwrap_err();
    assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
    let text = refused.to_string().replace(&dir.path().display().to_string(), "DIR");
    assert_eq!(
        text,
        "the data directory DIR is in use by the daemon with pid 4711 at https://127.0.0.1:2468; \
         use it, stop it, or choose another --data-dir"
    );

    store.close().await.unwrap();
    assert_eq!(lock_holder(dir.path()), None);
    open(dir.path());
}

#[tokio::test]
async fn what_a_dead_holder_left_in_the_lock_file_is_ignored() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(omniglot_store::private(dir.path())).unwrap();
    for dir in [dir.path(), &omniglot_store::private(dir.path())] {
        std::fs::write(dir.join("omniglot.lock"), r#"{"pid":1,"url":"http://old"}"#).unwrap();
    }
    assert_eq!(lock_holder(dir.path()), None);
    let _store = open(dir.path());
    assert_eq!(lock_holder(dir.path()), None);
}

#[tokio::test]
async fn a_newer_database_is_refused_and_left_as_it_is() {
    let (dir, store) = temporary();
    store.close().await.unwrap();
    let path = omniglot_store::private(dir.path()).join("omniglot.db");
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = std::fs::read(&path).unwrap();
    let refused = Store::open(dir.path(), Options::default()).unwrap_err();
    assert!(matches!(refused, StoreError::TooNew { found: 99, .. }), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_new_data_directory_belongs_to_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("deep/data");
    let mode = |dir: &std::path::Path| std::fs::metadata(dir).unwrap().permissions().mode() & 0o777;
    let store = open(&dir);
    let private = omniglot_store::private(&dir);
    assert_eq!([&dir, &private, &omniglot_store::shared(&dir)].map(|dir| mode(dir)), [0o700; 3]);
    store.close().await.unwrap();
    std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o755)).unwrap();
    let _store = open(&dir);
    assert_eq!(mode(&private), 0o700);
}

#[tokio::test]
async fn an_open_that_fails_names_the_file_at_fault() {
    let dir = tempfile::tempdir().unwrap();
    let lock = omniglot_store::private(dir.path()).join("omniglot.lock");
    std::fs::create_dir_all(&lock).unwrap();
    let refused = Store::open(dir.path(), Options::default()).unwrap_err();
    assert_eq!(refused.to_string(), lock.display().to_string());

    let dir = tempfile::tempdir().unwrap();
    let database = omniglot_store::private(dir.path()).join("omniglot.db");
    std::fs::create_dir(omniglot_store::private(dir.path())).unwrap();
    std::fs::write(&database, "no database at all".repeat(100)).unwrap();
    let refused = Store::open(dir.path(), Options::default()).unwrap_err();
    assert_eq!(refused.to_string(), format!("the database {}", database.display()));
}

#[tokio::test]
async fn a_session_is_never_updated_before_it_was_created() {
    let (_dir, store) = temporary();
    let mut new = new_session("s");
    for event in &mut new.events {
        event.time_us = 4_999_999;
    }
    new.created_ms = 5_000;
    let record = store.create(new).await.unwrap().unwrap();
    assert_eq!((record.created_ms, record.updated_ms), (5_000, 5_000));
}

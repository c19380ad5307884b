//! Blobs are stored with the events that name them, once per session, and removed with it.

use bytes::Bytes;
use omniglot_store::{Batch, Blob, StoreError};

use crate::support::*;

fn blob(name: &str, bytes: &'static str) -> Blob {
    Blob { name: name.into(), mime: "image/png".into(), bytes: Bytes::from_static(bytes.as_bytes()) }
}

#[tokio::test]
async fn a_blob_belongs_to_its_session_and_survives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut new = new_session("a");
    new.blobs = vec![blob("first", "one")];
    let a = store.create(new).await.unwrap().unwrap();
    let b = create(&store, "b").await;
    append(&store, Batch { blobs: vec![blob("x", "two")], ..deltas(&a, 2..=2) }).await;
    append(&store, Batch { blobs: vec![blob("x", "two")], ..deltas(&a, 3..=3) }).await;
    store.close().await.unwrap();
    drop(store);
    let store = open(dir.path());
    assert_eq!(store.blob(a.no, "first").await.unwrap(), Some(blob("first", "one")));
    assert_eq!(store.blob(a.no, "x").await.unwrap(), Some(blob("x", "two")));
    assert_eq!(store.blob(b.no, "x").await.unwrap(), None);
    store.delete(a.no).await.unwrap().unwrap();
    assert_eq!(store.blob(a.no, "x").await.unwrap(), None);
    assert_eq!(faults(dir.path()), [""; 0]);
}

#[tokio::test]
async fn a_batch_that_is_refused_leaves_no_blob() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let a = create(&store, "a").await;
    let gap = Batch { blobs: vec![blob("x", "two")], ..deltas(&a, 7..=7) };
    assert!(store.append(gap).await.unwrap().is_err());
    assert_eq!(store.blob(a.no, "x").await.unwrap(), None);
}

#[tokio::test]
async fn a_flipped_bit_in_a_blob_is_found_and_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let a = create(&store, "a").await;
    append(&store, Batch { blobs: vec![blob("x", "two")], ..deltas(&a, 2..=2) }).await;
    database(dir.path()).execute("UPDATE blobs SET bytes = x'74776e'", []).unwrap();
    let error = store.blob(a.no, "x").await.unwrap_err();
    assert!(matches!(error, StoreError::DamagedBlob { name } if name == "x"));
    assert_eq!(faults(dir.path()), ["blobs, session a: the blob \"x\" does not match its checksum"]);
}

//! The configuration of a directory is kept, apart from other directories and kinds, and damage to it is no
//! configuration.

use omniglot_store::ConfigKey;

use crate::support::*;

fn key(directory: &str, kind: &'static str, name: &str) -> ConfigKey {
    ConfigKey { directory: directory.into(), kind, name: name.into() }
}

#[tokio::test]
async fn a_configuration_survives_a_restart_until_it_is_removed_or_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for (key, value) in [
        (key("/a", "mcp", "one"), "1"),
        (key("/a", "mcp", "two"), "2"),
        (key("/a", "skills", "one"), "3"),
        (key("/b", "mcp", "one"), "4"),
        (key("/a", "mcp", "one"), "5"),
    ] {
        store.configure_directory(key, Some(value.into())).await.unwrap().unwrap();
    }
    store.close().await.unwrap();
    drop(store);
    let store = open(dir.path());
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let all = store.directory_config("/a", "mcp").await.unwrap();
    assert_eq!(all, [pair("one", "5"), pair("two", "2")]);
    assert_eq!(store.directory_config("/a", "skills").await.unwrap(), [pair("one", "3")]);
    for _ in 0..2 {
        store.configure_directory(key("/a", "mcp", "one"), None).await.unwrap().unwrap();
    }
    assert_eq!(store.directory_config("/a", "mcp").await.unwrap(), [pair("two", "2")]);
    let sql = "UPDATE directory_config SET value = '6' WHERE directory = '/a' AND kind = 'mcp'";
    assert_eq!(database(dir.path()).execute(sql, []).unwrap(), 1);
    assert!(store.directory_config("/a", "mcp").await.unwrap().is_empty());
    let told = "directory_config: a row does not match its checksum; it is left out";
    assert_eq!(faults(dir.path()), [told]);
}

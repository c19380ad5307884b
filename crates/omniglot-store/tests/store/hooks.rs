//! The rows of hooks are kept, apart by kind, and damage to one is told.

use omniglot_store::{HookRow, StoredHookRow};

use crate::support::*;

fn row(kind: &'static str, hook: &str, name: &str, value: Option<&str>) -> HookRow {
    HookRow { kind, hook: hook.into(), name: name.into(), value: value.map(Into::into) }
}

#[tokio::test]
async fn rows_of_hooks_survive_a_restart_until_they_are_removed_or_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let rows = vec![
        row("cursor", "a", "", Some("1")),
        row("dead", "a", "x", Some("2")),
        row("dead", "b", "y", Some("3")),
        row("cursor", "a", "", Some("4")),
        row("dead", "b", "y", None),
    ];
    store.keep_hook_rows(rows).await.unwrap().unwrap();
    store.close().await.unwrap();
    drop(store);
    let store = open(dir.path());
    let kept = |hook: &str, name: &str, value: &str| StoredHookRow {
        hook: hook.into(),
        name: name.into(),
        value: value.into(),
    };
    assert_eq!(store.hook_rows("cursor").await.unwrap(), [kept("a", "", "4")]);
    assert_eq!(store.hook_rows("dead").await.unwrap(), [kept("a", "x", "2")]);
    let sql = "UPDATE hooks SET value = '6' WHERE kind = 'dead'";
    assert_eq!(database(dir.path()).execute(sql, []).unwrap(), 1);
    assert!(store.hook_rows("dead").await.unwrap().is_empty());
    assert_eq!(faults(dir.path()), ["hooks: a row does not match its checksum; it is left out"]);
}

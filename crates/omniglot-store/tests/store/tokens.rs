//! Tokens, labels and the audit are kept, and damage to them is never taken for a right.

use omniglot_schema::{AuditCall, Label, Labels, Scope, TokenInfo};
use omniglot_store::{AuditQuery, ListFilter, Store, TokenRecord};

use crate::support::*;

fn token(id: &str) -> TokenRecord {
    let info = TokenInfo {
        id: id.into(),
        name: format!("name of {id}"),
        scope: Scope::Drive,
        sessions: Some(Label::new("app", "x").unwrap()),
        created_at: 1,
        expires_at: Some(2),
        revoked_at: None,
    };
    TokenRecord { info, hash: "00ff".into() }
}

fn call(what: &str) -> AuditCall {
    AuditCall {
        who: "admin".into(),
        token_id: None,
        from: Some("127.0.0.1".into()),
        what: what.into(),
        session_id: Some(id("a")),
        outcome: "204".into(),
    }
}

async fn told(store: &Store, query: AuditQuery) -> Vec<(u64, String)> {
    let entries = store.audit(query).await.unwrap();
    entries.into_iter().map(|entry| (entry.number, entry.call.what)).collect()
}

#[tokio::test]
async fn tokens_survive_a_restart_and_a_damaged_one_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for id in ["tok_1", "tok_2"] {
        store.put_token(token(id)).await.unwrap().unwrap();
    }
    let mut revoked = token("tok_2");
    revoked.info.revoked_at = Some(9);
    store.put_token(revoked.clone()).await.unwrap().unwrap();
    store.close().await.unwrap();
    drop(store);
    let store = open(dir.path());
    assert_eq!(store.tokens().await.unwrap(), [token("tok_1"), revoked.clone()]);
    // As if somebody had taken the revocation back.
    let sql = "UPDATE tokens SET info = (SELECT info FROM tokens WHERE id = 'tok_1') WHERE id = 'tok_2'";
    assert_eq!(database(dir.path()).execute(sql, []).unwrap(), 1);
    assert_eq!(store.tokens().await.unwrap(), [token("tok_1")]);
    assert_eq!(faults(dir.path()), ["tokens: a row does not match its checksum; its token is refused"]);
}

#[tokio::test]
async fn the_audit_only_grows_and_is_read_from_a_number_or_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for what in ["one", "two", "three"] {
        drop(store.record_call(call(what)));
    }
    let all = AuditQuery { limit: 10, ..AuditQuery::default() };
    assert_eq!(told(&store, all.clone()).await, [(1, "one".into()), (2, "two".into()), (3, "three".into())]);
    assert_eq!(told(&store, AuditQuery { after: 1, limit: 1, ..all.clone() }).await, [(2, "two".into())]);
    assert!(told(&store, AuditQuery { since_ms: i64::MAX, ..all }).await.is_empty());
    assert_eq!(
        store.audit(AuditQuery { limit: 1, ..AuditQuery::default() }).await.unwrap()[0].call,
        call("one")
    );
    for sql in ["DELETE FROM audit WHERE no = 2", "UPDATE audit SET time_ms = 0 WHERE no = 2"] {
        let refused = database(dir.path()).execute(sql, []).unwrap_err();
        assert!(refused.to_string().contains("append-only"), "{refused}");
    }
    assert!(faults(dir.path()).is_empty());
}

/// An owner of the file can take the triggers away.
#[tokio::test]
async fn rows_that_are_missing_in_the_audit_or_were_changed_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    for what in ["one", "two", "three", "four"] {
        drop(store.record_call(call(what)));
    }
    store.close().await.unwrap();
    drop(store);
    let database = database(dir.path());
    for sql in [
        "DROP TRIGGER audit_keeps_rows",
        "DROP TRIGGER audit_keeps_content",
        "DELETE FROM audit WHERE no = 2",
        "UPDATE audit SET time_ms = time_ms + 1 WHERE no = 4",
    ] {
        database.execute(sql, []).unwrap();
    }
    let said = ["audit: entries are missing before number 3", "audit: entry 4 does not match its checksum"];
    assert_eq!(faults(dir.path()), said);
}

#[tokio::test]
async fn sessions_are_found_by_their_labels_also_after_a_change() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let labels = |value: &str| Labels::from([("app".to_owned(), value.to_owned())]);
    let mut new = new_session("a");
    new.labels = labels("x");
    let a = store.create(new).await.unwrap().unwrap();
    let b = create(&store, "b").await;
    let found = async |value: &str| {
        let filter = ListFilter { labels: vec![Label::new("app", value).unwrap()], ..ListFilter::default() };
        let found = store.list(filter).await.unwrap();
        found.into_iter().map(|record| record.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(found("x").await, ["a"]);
    store.label(b.no, labels("x")).await.unwrap().unwrap();
    store.label(a.no, Labels::new()).await.unwrap().unwrap();
    append(&store, deltas(&b, 2..=2)).await;
    assert_eq!(found("x").await, ["b"]);
    assert!(found("y").await.is_empty());
    assert!(faults(dir.path()).is_empty());
    let sql = "UPDATE sessions SET labels = '{\"app\":\"y\"}' WHERE id = 'a'";
    assert_eq!(database(dir.path()).execute(sql, []).unwrap(), 1);
    assert!(found("y").await.is_empty(), "a label that somebody wrote into the file");
}

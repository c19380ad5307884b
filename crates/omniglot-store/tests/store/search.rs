//! Words of completed items are found, newest first, with their sessions and no longer.

use bytes::Bytes;
use omniglot_schema::UniversalEventType;
use omniglot_store::{Batch, Found, NewEvent, SearchQuery, SessionRecord, Store, search_terms};
use serde_json::json;

use crate::support::*;

fn said(session: &SessionRecord, seq: u64, text: &str) -> NewEvent {
    let item = json!({
        "item_id": format!("itm_{seq}"), "native_item_id": null, "parent_id": null, "kind": "message",
        "role": "assistant", "status": "completed", "content": [{ "type": "text", "text": text }],
    });
    item_event(session, seq, &item)
}

fn item_event(session: &SessionRecord, seq: u64, item: &serde_json::Value) -> NewEvent {
    let json = json!({
        "event_id": format!("evt_{seq}"), "sequence": seq, "time": "2026-01-01T00:00:00Z",
        "session_id": session.id, "native_session_id": null, "source": "agent", "synthetic": false,
        "type": "item.completed", "data": { "item": item }, "raw": null,
    });
    let kind = UniversalEventType::ItemCompleted;
    NewEvent { seq, kind, time_us: 2_000_000, json: Bytes::from(json.to_string()), frame_no: None }
}

async fn say(store: &Store, session: &SessionRecord, seq: u64, text: &str) {
    append(store, Batch { events: vec![said(session, seq, text)], ..Batch::new(session.no) }).await;
}

async fn found(store: &Store, words: &str) -> Vec<(i64, u64)> {
    let query = SearchQuery { terms: search_terms(words), before: None, limit: 10 };
    let found = store.search(query).await.unwrap();
    found.into_iter().map(|Found { session, seq }| (session.0, seq)).collect()
}

#[tokio::test]
async fn all_words_are_found_in_any_order_and_the_last_may_go_on() {
    let (_dir, store) = temporary();
    let (one, two) = (create(&store, "one").await, create(&store, "two").await);
    say(&store, &one, 2, "The heron stands in the Ärmel of a river.").await;
    say(&store, &two, 2, "A heron, at last").await;
    say(&store, &one, 3, "No bird here").await;
    let call = json!({
        "item_id": "itm_4", "native_item_id": null, "parent_id": null, "kind": "tool_call", "role": "assistant",
        "status": "completed",
        "content": [{ "type": "tool_call", "name": "bash", "arguments": "{\"secret\":\"unsaid\"}", "call_id": "c",
            "kind": "execute", "subject": { "command": "cargo test", "paths": [{ "path": "/w/src/main.rs" }] } }],
    });
    append(&store, Batch { events: vec![item_event(&one, 4, &call)], ..Batch::new(one.no) }).await;
    assert_eq!(found(&store, "heron").await, [(two.no.0, 2), (one.no.0, 2)]);
    assert_eq!(found(&store, "river HERON").await, [(one.no.0, 2)]);
    assert_eq!(found(&store, "armel").await, [(one.no.0, 2)], "accents do not matter");
    assert_eq!(found(&store, "src/main.rs").await, [(one.no.0, 4)]);
    assert_eq!(found(&store, "cargo te").await, [(one.no.0, 4)]);
    assert_eq!(found(&store, "unsaid").await, []);
    assert_eq!(found(&store, "her heron").await, [], "only the last word may go on");
    let before = Some(Found { session: two.no, seq: 2 });
    let next = store.search(SearchQuery { terms: search_terms("heron"), before, limit: 1 }).await.unwrap();
    assert_eq!(next, [Found { session: one.no, seq: 2 }]);
}

#[tokio::test]
async fn a_deleted_session_is_not_found_once_its_rows_are_gone() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let (one, two) = (create(&store, "one").await, create(&store, "two").await);
    for seq in 2..600 {
        say(&store, &one, seq, "heron").await;
    }
    say(&store, &two, 2, "heron").await;
    store.delete(one.no).await.unwrap().unwrap();
    store.close().await.unwrap();
    drop(store);
    let store = open(dir.path());
    assert_eq!(found(&store, "heron").await, [(two.no.0, 2)]);
    assert_eq!(faults(dir.path()), [""; 0]);
}

#[tokio::test]
async fn sessions_that_are_older_than_the_index_are_added_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let one = create(&store, "one").await;
    for seq in 2..600 {
        say(&store, &one, seq, if seq == 3 { "kingfisher" } else { "heron" }).await;
    }
    store.close().await.unwrap();
    drop(store);
    let sql = "INSERT INTO words (words) VALUES ('delete-all');
               INSERT INTO unindexed SELECT no, last_seq FROM sessions;";
    database(dir.path()).execute_batch(sql).unwrap();
    let store = open(dir.path());
    say(&store, &one, 600, "egret").await;
    store.close().await.unwrap();
    drop(store);
    let store = open(dir.path());
    assert_eq!(found(&store, "kingfisher").await, [(one.no.0, 3)]);
    assert_eq!(found(&store, "egret").await, [(one.no.0, 600)]);
}

#[tokio::test]
async fn a_damaged_index_keeps_no_event_from_being_written() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let one = create(&store, "one").await;
    say(&store, &one, 2, "heron").await;
    store.close().await.unwrap();
    drop(store);
    database(dir.path()).execute("UPDATE words_data SET block = x'00'", []).unwrap();
    let store = open(dir.path());
    say(&store, &one, 3, "egret").await;
    say(&store, &one, 4, "kingfisher").await;
    assert_eq!(found(&store, "kingfisher").await, [(one.no.0, 4)]);
    store.close().await.unwrap();
    drop(store);
    let store = open(dir.path());
    store.close().await.unwrap();
    drop(store);
    let store = open(dir.path());
    for (word, seq) in [("heron", 2), ("egret", 3), ("kingfisher", 4)] {
        assert_eq!(found(&store, word).await, [(one.no.0, seq)], "the index is made again");
    }
}

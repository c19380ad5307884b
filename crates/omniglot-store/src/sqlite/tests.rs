//! Tests the engine with the test's own clock.

use super::*;
use crate::types::{Batch, NewSession, RecordUpdate};

const DAY_MS: i64 = 24 * 3600 * 1000;

fn create() -> Change {
    let new = NewSession {
        id: SessionId::parse("a").unwrap(),
        agent: "mock".into(),
        request: "{}".into(),
        labels: Default::default(),
        created_ms: 0,
        record: RecordUpdate { fold: "{}".into(), ended: false, open_from: None },
        frames: vec![],
        copied: 0,
        blobs: vec![],
        events: vec![],
    };
    let (uuid, epoch) = ("u".into(), "e".into());
    Change::Create(Box::new(crate::engine::Creation {
        new,
        packs: vec![],
        words: vec![],
        uuid,
        epoch,
        replaces: None,
    }))
}

fn keep(receipt: &Receipt) -> Change {
    let batch = Batch { receipt: Some(receipt.clone()), ..Batch::new(SessionNo(1)) };
    Change::Append { batch: Box::new(batch), pack: None, words: vec![] }
}

#[test]
fn a_receipt_is_kept_for_a_day() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Sqlite::open(dir.path(), None, None).unwrap();
    let receipt = |key: &str| Receipt { key: key.into(), body_hash: "00ff".into(), answer: "{}".into() };
    let outcomes = engine.commit(&[create(), keep(&receipt("k1"))], 5).unwrap();
    assert!(outcomes.iter().all(Result::is_ok));
    let found = |key, now_ms| engine.receipt(SessionNo(1), key, now_ms).unwrap();
    assert_eq!(found("k1", 5 + DAY_MS), Some(receipt("k1")));
    assert_eq!(found("k1", 6 + DAY_MS), None);
    engine.commit(&[keep(&receipt("k2"))], 6 + DAY_MS).unwrap();
    assert_eq!(found("k1", 5), None, "removed");
    assert_eq!(found("k2", 6 + DAY_MS), Some(receipt("k2")));
}

//! For any history of any sessions, a cursor of one yields that session's events and no other's.

use omniglot_store::{Next, ReadQuery};
use proptest::prelude::*;

use crate::support::*;

const NAMES: [&str; 4] = ["a", "a.", "A", "b"];

#[derive(Debug, Clone)]
struct Probe {
    session: usize,
    cursor: u64,
    limit: usize,
    max_bytes: usize,
}

fn probes() -> impl Strategy<Value = Vec<Probe>> {
    let probe = (0..NAMES.len(), 0..60_u64, 0..20_usize, 0..2_000_usize)
        .prop_map(|(session, cursor, limit, max_bytes)| Probe { session, cursor, limit, max_bytes });
    prop::collection::vec(probe, 1..20)
}

/// Appends `history` (session, number of events), then reads and follows from every probe.
async fn check(history: Vec<(usize, u64)>, probes: Vec<Probe>) {
    let (_dir, store) = temporary();
    let mut sessions = Vec::new();
    for name in NAMES {
        sessions.push(create(&store, name).await);
    }
    for (index, count) in history {
        let session = &mut sessions[index];
        let next = session.last_seq + 1;
        session.last_seq += count;
        append(&store, deltas(session, next..=session.last_seq)).await;
    }
    for Probe { session, cursor, limit, max_bytes } in probes {
        let session = &sessions[session];
        let page = read(&store, session.no, ReadQuery { limit, max_bytes, ..after(cursor) }).await;
        let end = cursor + page.events.len() as u64;
        assert_suffix(&page.events, session.id.as_str(), cursor, end);
        assert_eq!(page.has_more, end < session.last_seq);
        assert!(page.events.len() <= limit);
        if cursor < session.last_seq {
            let next = store.subscribe(session.no, cursor).next(max_bytes).await.unwrap();
            let Next::Events(events) = next else { panic!("not deleted") };
            assert_suffix(&events, session.id.as_str(), cursor, cursor + events.len() as u64);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_cursor_of_one_session_never_yields_events_of_another(
        history in prop::collection::vec((0..NAMES.len(), 0..12_u64), 0..20),
        probes in probes(),
    ) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(check(history, probes));
    }
}

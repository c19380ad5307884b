//! Reads whole sessions over HTTP and checks them: lawful, of their schema, and folding to the state that the
//! daemon serves.
//!
//! The rules and schemas themselves are `validate.rs`; starting daemons is `daemon.rs`.

use omniglot_client::{Client, EventsQuery, SessionFilter, Trust};
use omniglot_schema::{SessionDetail, SessionId, UniversalEvent};
use omniglot_timeline::Fold;
use omniglot_timeline::check::Allow;

use crate::validate::{assert_lawful_but, outline};

/// A session that the test does not check itself may end in mid-turn, or contain unparsed messages.
pub(crate) const ANY_SESSION: Allow = Allow { open_turn: true, unparsed: true };

/// Reads and checks the whole log of a session.
pub async fn session(client: &Client, id: &SessionId, allow: Allow) -> Vec<UniversalEvent> {
    let events = read(client, id).await;
    assert_lawful_but(&events, allow);
    let detail = client.detail(id).await.expect("the session");
    // A session that has grown meanwhile cannot be compared.
    if detail.info.event_count == events.len() as u64 {
        assert_folds_to(&events, &detail);
    }
    events
}

/// Checks every session of the daemon at `url`. Called at the end of a test, from inside its runtime or none.
pub fn all_sessions(url: &str, token: &str) {
    all_sessions_but(url, token, &Trust::default(), ANY_SESSION);
}

/// As [`all_sessions`], of a daemon that may speak TLS, and with another allowance.
pub fn all_sessions_but(url: &str, token: &str, trust: &Trust, allow: Allow) {
    let (url, token, trust) = (url.to_owned(), token.to_owned(), trust.clone());
    // The test's own runtime waits for this thread: neither it nor a connection of its client can be used.
    let judge = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let client = Client::trusting(&url, Some(token), trust).expect("a client");
            for info in client.list(&SessionFilter::default()).await.expect("the sessions") {
                session(&client, &info.session_id, allow).await;
            }
        });
    });
    if let Err(complaint) = judge.join() {
        std::panic::resume_unwind(complaint);
    }
}

/// Reads the events up to those that were committed when the last page was read.
async fn read(client: &Client, id: &SessionId) -> Vec<UniversalEvent> {
    let mut events: Vec<UniversalEvent> = vec![];
    loop {
        let offset = events.last().map_or(0, |event| event.sequence);
        let query = EventsQuery { offset, limit: Some(10_000), ..EventsQuery::default() };
        let page = client.events(id, &query).await.expect("a page");
        events.extend(page.events);
        if !page.has_more {
            return events;
        }
    }
}

#[track_caller]
fn assert_folds_to(events: &[UniversalEvent], served: &SessionDetail) {
    let mut fold = Fold::default();
    events.iter().for_each(|event| fold.apply(event));
    let status = fold.status();
    let pending: Vec<_> = fold.pending.values().cloned().collect();
    let folded = (&fold.state, &pending, status, fold.ended, &fold.native_session_id);
    let (info, state) = (&served.info, &served.state);
    let served = (state, &served.pending, served.status, info.ended, &info.native_session_id);
    assert_eq!(folded, served, "the events do not fold to the served state:\n{}", outline(events));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A session whose events set a title, served as `title`.
    fn titled(title: &str) -> (Vec<UniversalEvent>, SessionDetail) {
        let event = json!({
            "event_id": "evt_1", "sequence": 1, "time": "2026-01-01T00:00:00Z", "session_id": "s",
            "native_session_id": null, "source": "daemon", "synthetic": true,
            "type": "session.updated", "data": {"title": "told"}, "raw": null,
        });
        let detail = json!({
            "sessionId": "s", "agent": "mock", "agentMode": "build", "permissionMode": "default",
            "ended": false, "eventCount": 1, "createdAt": 0, "updatedAt": 0,
            "status": "idle", "state": {"title": title}, "pending": [], "stats": {},
        });
        let event = serde_json::from_str(&event.to_string()).expect("an event");
        (vec![event], serde_json::from_value(detail).expect("a session"))
    }

    #[test]
    fn a_state_that_the_events_tell_passes() {
        let (events, detail) = titled("told");
        assert_folds_to(&events, &detail);
    }

    #[test]
    #[should_panic(expected = "do not fold to the served state")]
    fn a_state_that_no_event_has_told_is_found() {
        let (events, detail) = titled("made up");
        assert_folds_to(&events, &detail);
    }
}

//! Places in a log: sequences, cursors, epochs.

use omniglot_client::{EventsQuery, StreamFrom};

use super::{Log, Service, json};

pub async fn pages_of_any_size_join_to_the_whole_log(service: &mut impl Service) {
    let log = Log::with_turn(service, "s").await;
    let whole = log.events().await;
    let sequences: Vec<u64> = whole.iter().map(|event| event.sequence).collect();
    assert_eq!(sequences, (1..=whole.len() as u64).collect::<Vec<_>>(), "dense from 1");
    for limit in [1, 2, 3, whole.len() as u64] {
        let mut joined = vec![];
        loop {
            let offset = joined.len() as u64;
            let query = EventsQuery { offset, limit: Some(limit), ..EventsQuery::default() };
            let page = log.client.events(&log.id, &query).await.expect("a page");
            assert!(page.events.len() as u64 <= limit);
            joined.extend(page.events);
            if !page.has_more {
                break;
            }
        }
        joined.truncate(whole.len());
        assert_eq!(json(&joined), json(&whole), "pages of {limit}");
    }
}

pub async fn a_place_beyond_the_end_is_gone_and_the_end_itself_is_not(service: &mut impl Service) {
    let log = Log::with_turn(service, "s").await;
    let page = async |offset| {
        let query = EventsQuery { offset, ..EventsQuery::default() };
        log.client.events(&log.id, &query).await.map(|page| page.events.len()).map_err(|error| error.status())
    };
    // An agent may say a last word after its turn: only answers of a log that has not grown meanwhile count.
    loop {
        let end = log.events().await.len() as u64;
        let pages = (page(end).await, page(end + 1).await);
        let refusals =
            (log.refusal(StreamFrom::Offset(end)).await, log.refusal(StreamFrom::Offset(end + 1)).await);
        if log.events().await.len() as u64 == end {
            assert_eq!(pages, (Ok(0), Err(Some(410))));
            assert_eq!(refusals, (None, Some(410)));
            break;
        }
    }
}

pub async fn what_is_no_cursor_is_refused(service: &mut impl Service) {
    let log = Log::create(service, "s").await;
    for nonsense in ["nonsense", ".", "x.-1", "-1"] {
        assert_eq!(log.refusal(StreamFrom::Id(nonsense.into())).await, Some(400), "{nonsense}");
    }
}

pub async fn a_cursor_of_a_deleted_session_is_gone_when_its_name_is_used_again(service: &mut impl Service) {
    let log = Log::create(service, "s").await;
    let first = log.replay(StreamFrom::Start).await.remove(0);
    log.client.delete(&log.id).await.expect("the session is deleted");
    assert_eq!(log.refusal(StreamFrom::Id(first.cursor.clone())).await, Some(404));
    let again = Log::create(service, "s").await;
    assert_eq!(again.refusal(StreamFrom::Id(first.cursor.clone())).await, Some(410));
    let other = again.replay(StreamFrom::Start).await.remove(0);
    assert_ne!(other.epoch(), first.epoch(), "another log of the same name");
}

pub async fn a_cursor_of_one_session_is_none_of_another(service: &mut impl Service) {
    let (one, other) = (Log::create(service, "one").await, Log::create(service, "other").await);
    let cursor = one.replay(StreamFrom::Start).await.remove(0).cursor;
    assert_eq!(other.refusal(StreamFrom::Id(cursor)).await, Some(410));
}

pub async fn cursors_outlive_a_crash_and_name_the_same_events(service: &mut impl Service) {
    let before = Log::with_turn(service, "s").await.replay(StreamFrom::Start).await;
    service.crash();
    let log = Log::of(service, "s");
    let after = log.replay(StreamFrom::Start).await;
    assert_eq!(after.get(..before.len()), Some(&*before), "told again as it was told");
    let last = before.last().expect("events").cursor.clone();
    assert_eq!(log.replay(StreamFrom::Id(last)).await, after.get(before.len()..).unwrap_or_default());
}

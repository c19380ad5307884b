//! Event streams: replay, then what comes.

use futures_util::StreamExt as _;
use omniglot_client::{SseItem, StreamFrom};
use omniglot_schema::UniversalEventType;

use super::{Log, Service, json};

pub async fn a_stream_tells_the_log_as_it_is_written(service: &mut impl Service) {
    let log = Log::with_turn(service, "s").await;
    let told = log.replay(StreamFrom::Start).await;
    let mut written = json(&log.events().await);
    written.truncate(told.len());
    assert_eq!(told.iter().map(|event| event.json.clone()).collect::<Vec<_>>(), written);
    let epoch = told.first().expect("events").epoch();
    assert!(told.iter().all(|event| event.epoch() == epoch), "one log has one epoch");
}

pub async fn a_stream_that_begins_after_any_event_goes_on_with_the_next(service: &mut impl Service) {
    let log = Log::with_turn(service, "s").await;
    let whole = log.replay(StreamFrom::Start).await;
    for (seen, event) in whole.iter().enumerate() {
        let rest = whole.get(seen + 1..).unwrap_or_default();
        assert_eq!(log.replay(StreamFrom::Id(event.cursor.clone())).await, rest, "after {}", event.cursor);
        assert_eq!(log.replay(StreamFrom::Offset(event.sequence)).await, rest, "after {}", event.sequence);
    }
}

pub async fn a_stream_goes_on_with_what_comes(service: &mut impl Service) {
    let log = Log::create(service, "s").await;
    let mut stream = log.stream(StreamFrom::Start).await;
    let mut told = stream.until_caught_up().await;
    log.turn(service).await;
    told.extend(stream.until(UniversalEventType::TurnEnded).await);
    assert_eq!(told, log.replay(StreamFrom::Start).await.get(..told.len()).unwrap_or_default());
}

pub async fn a_stream_ends_with_the_deletion_of_its_session(service: &mut impl Service) {
    let log = Log::create(service, "s").await;
    let mut stream = log.stream(StreamFrom::Start).await;
    stream.until_caught_up().await;
    log.client.delete(&log.id).await.expect("the session is deleted");
    let mut rest = stream.stream;
    // The deletion ends the process of the agent, which may be told first.
    loop {
        match rest.next().await.expect("the stream tells its end").expect("an item") {
            SseItem::Deleted => break,
            SseItem::Event { .. } | SseItem::CaughtUp => {}
        }
    }
    assert!(rest.next().await.is_none());
}

pub async fn a_stream_stays_open_over_the_end_of_its_session_and_goes_on_when_it_is_resumed(
    service: &mut impl Service,
) {
    let log = Log::create(service, "s").await;
    let mut stream = log.stream(StreamFrom::Start).await;
    log.client.terminate(&log.id).await.expect("the session is ended");
    let mut told = stream.until(UniversalEventType::SessionEnded).await;
    log.client.post(&log.id, &service.message(1), None).await.expect("the message is taken");
    told.extend(stream.until(UniversalEventType::TurnEnded).await);
    let starts = told.iter().filter(|event| event.kind == UniversalEventType::SessionStarted).count();
    assert_eq!(starts, 2, "{told:?}");
    assert_eq!(told, log.replay(StreamFrom::Start).await.get(..told.len()).unwrap_or_default());
}

//! Commands that are repeated: a key makes several of them one.

use futures_util::future::join_all;
use omniglot_client::StreamFrom;
use omniglot_schema::UniversalEventType;

use super::{Log, Service};
use crate::session_driver::status_of;

pub async fn a_repeated_message_with_the_same_key_is_one_message(service: &mut impl Service) {
    let log = Log::create(service, "s").await;
    let post = async |log: &Log, number| log.client.post(&log.id, &service.message(number), Some("k1")).await;
    let first = post(&log, 1).await.expect("the message is taken");
    assert_eq!(post(&log, 1).await.expect("the first receipt"), first);
    assert_eq!(status_of(post(&log, 2).await), 409, "another message with the same key");
    log.stream(StreamFrom::Start).await.until(UniversalEventType::TurnEnded).await;
    service.crash();
    let log = Log::of(service, "s");
    let again = log.client.post(&log.id, &service.message(1), Some("k1")).await;
    assert_eq!(again.expect("the first receipt"), first);
    assert_eq!(log.turns().await, 1);
}

pub async fn messages_that_come_at_once_with_one_key_are_one_message(service: &mut impl Service) {
    let log = Log::create(service, "s").await;
    let message = service.message(1);
    let posts = (0..8).map(|_| log.client.post(&log.id, &message, Some("k1")));
    let receipts = join_all(posts).await.into_iter().map(|receipt| receipt.expect("a receipt"));
    let ids: std::collections::BTreeSet<String> =
        receipts.map(|receipt| receipt.message_id.as_str().to_owned()).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
    log.stream(StreamFrom::Start).await.until(UniversalEventType::TurnEnded).await;
    assert_eq!(log.turns().await, 1);
}

pub async fn a_key_counts_in_its_own_session_alone(service: &mut impl Service) {
    for name in ["one", "other"] {
        let log = Log::create(service, name).await;
        log.client.post(&log.id, &service.message(1), Some("k1")).await.expect("the message is taken");
        log.stream(StreamFrom::Start).await.until(UniversalEventType::TurnEnded).await;
        assert_eq!(log.turns().await, 1, "{name}");
    }
}

//! The load on one session: messages, one after the other, each posted until it is acknowledged.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::ensure;
use omniglot_client::{ClientError, EventsQuery};
use omniglot_schema::{
    EventData, PendingRequest, PermissionReply, PermissionReplyRequest, SessionStatus, UniversalEvent,
};
use omniglot_testkit::session_driver::{SessionDriver, message};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::chance::Chance;

const WORDS: [&str; 8] = [
    "[[text:40]]",
    "[[text:400]]",
    "[[reasoning]]",
    "[[edit]]",
    "[[permission]]",
    "[[crash]]",
    "[[text:1]]",
    "[[recall]]",
];
const PAUSE: Duration = Duration::from_millis(200);
/// The time for the last turns to end.
const SETTLE_TRIES: usize = 600;

/// The messages that the daemon has acknowledged, by the ids that it gave them.
pub(crate) struct Written {
    pub(crate) acknowledged: Vec<String>,
}

pub(crate) async fn write(
    session: SessionDriver,
    mut chance: Chance,
    stopped: watch::Receiver<bool>,
) -> Written {
    let mut acknowledged = vec![];
    let mut number = 0_u64;
    while !*stopped.borrow() {
        number += 1;
        let text = chance.pick(&WORDS).unwrap_or("[[text:1]]");
        if let Some(id) = posted(&session, text, &format!("{}-{number}", session.id), &stopped).await {
            acknowledged.push(id);
        }
        // Most messages wait for their turn; some queue up.
        while chance.below(8) != 0 && !*stopped.borrow() && !is_free(&session).await {
            sleep(PAUSE).await;
        }
    }
    Written { acknowledged }
}

/// Posts a message until the daemon says that it has it; the key makes all tries one.
async fn posted(
    session: &SessionDriver,
    text: &str,
    key: &str,
    stopped: &watch::Receiver<bool>,
) -> Option<String> {
    loop {
        match session.client.post(&session.id, &message(text), Some(key)).await {
            Ok(receipt) => return Some(receipt.message_id.to_string()),
            Err(ClientError::Problem(problem)) if !matches!(problem.status, 429 | 503) => {
                panic!("{}: {problem:?}", session.id)
            }
            Err(_) if *stopped.borrow() => return None,
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Answers what the agent waits for; returns whether the session waits for a message.
async fn is_free(session: &SessionDriver) -> bool {
    let Ok(detail) = session.client.detail(&session.id).await else { return false };
    for request in &detail.pending {
        let PendingRequest::Permission(asked) = request else { continue };
        let reply = PermissionReplyRequest { reply: PermissionReply::Once, message: None };
        // It may have been withdrawn meanwhile.
        let _late =
            session.client.reply_permission(&session.id, asked.permission_id.as_str(), &reply).await.is_err();
    }
    detail.status == SessionStatus::Idle
}

/// Waits until nothing runs any more, and returns the log. Every acknowledged message has one turn that has ended.
pub(crate) async fn settled(session: &SessionDriver, written: &Written) -> anyhow::Result<Vec<String>> {
    let mut tries = 0;
    while !is_free(session).await {
        tries += 1;
        ensure!(tries < SETTLE_TRIES, "{}: the last turn does not end", session.id);
        sleep(PAUSE).await;
    }
    let (mut log, mut offset) = (vec![], 0);
    loop {
        let query = EventsQuery { offset, limit: Some(5_000), ..EventsQuery::default() };
        let page = session.client.events(&session.id, &query).await?;
        for event in &page.events {
            offset = event.sequence;
            log.push(serde_json::to_string(event)?);
        }
        if !page.has_more {
            break;
        }
    }
    let events: Vec<UniversalEvent> =
        log.iter().map(|json| serde_json::from_str(json)).collect::<Result<_, _>>()?;
    let (mut started, mut open) = (BTreeMap::<String, usize>::new(), None);
    for event in &events {
        match &event.data {
            EventData::TurnStarted(turn) => {
                ensure!(open.replace(turn.turn_id.clone()).is_none(), "{}: two turns at once", session.id);
                if let Some(id) = &turn.metadata.message_id {
                    *started.entry(id.to_string()).or_default() += 1;
                }
            }
            EventData::TurnEnded(turn) => {
                ensure!(open.take().as_ref() == Some(&turn.turn_id), "{}: an end without a turn", session.id);
            }
            _ => {}
        }
    }
    for id in &written.acknowledged {
        let turns = started.get(id).copied().unwrap_or_default();
        ensure!(turns == 1, "{}: the message {id} has {turns} turns", session.id);
    }
    Ok(log)
}

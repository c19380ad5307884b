//! The load on one session: messages, one after the other, each posted until it is acknowledged.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{bail, ensure};
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
const PAUSE: Duration = Duration::from_millis(500);
/// The time for the last turns to end.
const SETTLE_TRIES: usize = 1_200;

/// The end of the load on a session.
pub(crate) struct Written {
    /// How many messages the daemon has acknowledged.
    pub(crate) messages: usize,
    pub(crate) log: Vec<String>,
}

pub(crate) async fn write(
    session: SessionDriver,
    mut chance: Chance,
    stopped: watch::Receiver<bool>,
) -> anyhow::Result<Written> {
    let mut acknowledged = vec![];
    let mut number = 0_u64;
    while !*stopped.borrow() {
        number += 1;
        let text = chance.pick(&WORDS).unwrap_or("[[text:1]]");
        if let Some(id) = posted(&session, text, &format!("{}-{number}", session.id), &stopped).await {
            acknowledged.push(id);
        }
        // Most messages wait for their turn; some queue up.
        let waits = chance.below(4) != 0;
        while waits && !*stopped.borrow() && !is_free(&session).await {
            sleep(PAUSE).await;
        }
    }
    let log = settled(&session, &acknowledged).await?;
    Ok(Written { messages: acknowledged.len(), log })
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

/// Waits until every acknowledged message has had its one turn and nothing runs any more, and returns the log. A
/// message that a killed daemon left in the queue is in no turn for a moment, though its session is idle.
async fn settled(session: &SessionDriver, acknowledged: &[String]) -> anyhow::Result<Vec<String>> {
    for _ in 0..SETTLE_TRIES {
        sleep(PAUSE).await;
        if !is_free(session).await {
            continue;
        }
        let log = log_of(session).await?;
        let turns = turns_of(session, &log)?;
        let count = |id: &String| turns.started.get(id).copied().unwrap_or_default();
        if let Some(id) = acknowledged.iter().find(|id| count(id) > 1) {
            bail!("{}: the message {id} has {} turns", session.id, count(id));
        }
        if !turns.is_open && acknowledged.iter().all(|id| count(id) == 1) {
            return Ok(log);
        }
    }
    bail!("{}: a message has no turn, or a turn has no end", session.id)
}

pub(crate) async fn log_of(session: &SessionDriver) -> anyhow::Result<Vec<String>> {
    let (mut log, mut offset) = (vec![], 0);
    loop {
        let query = EventsQuery { offset, limit: Some(5_000), ..EventsQuery::default() };
        let page = session.client.events(&session.id, &query).await?;
        for event in &page.events {
            offset = event.sequence;
            log.push(serde_json::to_string(event)?);
        }
        if !page.has_more {
            return Ok(log);
        }
    }
}

/// The turns of a log.
struct Turns {
    /// How many each message has begun.
    started: BTreeMap<String, usize>,
    is_open: bool,
}

/// Reads the turns of a log: one after the other, each with one end.
fn turns_of(session: &SessionDriver, log: &[String]) -> anyhow::Result<Turns> {
    let (mut started, mut open) = (BTreeMap::<String, usize>::new(), None);
    for json in log {
        match serde_json::from_str::<UniversalEvent>(json)?.data {
            EventData::TurnStarted(turn) => {
                ensure!(open.replace(turn.turn_id).is_none(), "{}: two turns at once", session.id);
                if let Some(id) = turn.metadata.message_id {
                    *started.entry(id.to_string()).or_default() += 1;
                }
            }
            EventData::TurnEnded(turn) => {
                ensure!(open.take() == Some(turn.turn_id), "{}: an end without a turn", session.id);
            }
            _ => {}
        }
    }
    Ok(Turns { started, is_open: open.is_some() })
}

//! The verdict: a reader's history is a beginning of the log, without a gap, a double or another order; the whole log
//! is lawful, and has every message once.

use bytes::Bytes;
use omniglot_schema::{ContentPart, EventData, ItemRole, SessionId, UniversalEvent};
use omniglot_store::StoredEvent;
use omniglot_store::simulation::Disk;
use omniglot_timeline::check::{Allow, check};

use crate::client::{MESSAGES, message};

/// Everything that one reader has seen of a session in one epoch.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) epoch: String,
    pub(crate) events: Vec<Bytes>,
}

impl History {
    /// Takes an event that follows the one of this sequence; it may have been seen before.
    pub(crate) fn take(
        &mut self,
        disk: &Disk,
        session: &SessionId,
        after: u64,
        event: &StoredEvent,
    ) -> Result<(), String> {
        let seq = event.seq;
        if seq != after + 1 {
            return Err(format!("event {seq} of {session} was served after {after}"));
        }
        let is_written = disk.event(session, seq).is_some_and(|written| written == event.json);
        let place = usize::try_from(after).unwrap();
        match self.events.get(place) {
            Some(seen) if *seen != event.json => {
                Err(format!("event {seq} of {session} is not what was served before"))
            }
            _ if !is_written => Err(format!("event {seq} of {session} was served before it was committed")),
            Some(_) => Ok(()),
            None if place > self.events.len() => {
                Err(format!("event {seq} of {session} was served after a gap"))
            }
            None => {
                self.events.push(event.json.clone());
                Ok(())
            }
        }
    }

    /// Refuses a history that is no beginning of the log.
    pub(crate) fn check(&self, disk: &Disk, session: &SessionId) -> Result<(), String> {
        let log = disk.committed(session);
        match self.events.len() <= log.len() && self.events.iter().eq(log.iter().take(self.events.len())) {
            true => Ok(()),
            false => Err(format!("the history of a reader of {session} is not what the log has")),
        }
    }
}

/// Refuses a log that breaks a rule of the stream, has an open turn, or lacks or doubles a message.
pub(crate) fn check_log(disk: &Disk, session: &SessionId) -> Result<(), String> {
    let log = disk.committed(session);
    let events: Vec<UniversalEvent> = log.iter().map(|json| serde_json::from_slice(json).unwrap()).collect();
    let report = check(&events, Allow { unparsed: true, ..Allow::default() });
    if !report.is_lawful() {
        return Err(format!("the log of {session} breaks a rule: {report}").replace('\n', " | "));
    }
    for number in 0..MESSAGES {
        let text = message(session, number);
        match events.iter().filter(|event| is_message(event, &text)).count() {
            1 => {}
            count => return Err(format!("{text:?} was answered, and is {count} times in the log")),
        }
    }
    Ok(())
}

fn is_message(event: &UniversalEvent, wanted: &str) -> bool {
    let EventData::ItemCompleted(completed) = &event.data else { return false };
    let is_text = |part: &ContentPart| matches!(part, ContentPart::Text { text } if text == wanted);
    completed.item.role == Some(ItemRole::User) && completed.item.content.iter().any(is_text)
}

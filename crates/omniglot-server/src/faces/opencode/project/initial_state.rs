//! The events that a new stream needs of a busy session: its status, the messages of its turn so far, and its
//! open requests. A client that was briefly disconnected is complete again with them.

use crate::faces::opencode::project::Projector;
use crate::faces::opencode::wire::{MessageInfo, MessageWithParts, OcEvent, Payload, Status};

pub(crate) fn initial_state(projector: &Projector) -> Vec<OcEvent> {
    let now = jiff::Timestamp::now().as_millisecond();
    let mut events = vec![];
    if *projector.status() != Status::Idle {
        let session_id = projector.session().id;
        let status = Payload::SessionStatus { session_id, status: projector.status().clone() };
        events.push(OcEvent::loose(now, status));
        let messages = unfinished(projector.messages()).iter().chain(projector.working_subagents());
        for MessageWithParts { info, parts } in messages {
            let session_id = info.session_id().clone();
            let info = Payload::MessageUpdated { session_id: session_id.clone(), info: info.clone() };
            events.push(OcEvent::loose(now, info));
            events.extend(parts.iter().map(|part| {
                let part = Box::new(part.clone());
                OcEvent::loose(now, Payload::PartUpdated { session_id: session_id.clone(), part, time: now })
            }));
        }
    }
    events.extend(projector.pending());
    events
}

/// The messages of the turn that runs, and those that wait behind it.
fn unfinished(messages: &[MessageWithParts]) -> &[MessageWithParts] {
    let is_done = |message: &MessageWithParts| match &message.info {
        MessageInfo::Assistant(assistant) => assistant.time.completed.is_some(),
        MessageInfo::User(_) => false,
    };
    let start = messages.iter().rposition(is_done).map_or(0, |place| place + 1);
    messages.get(start..).unwrap_or_default()
}

//! Requests of agents that are pending at the client: sent when a stream reaches them, withdrawn when another
//! client has answered. The log has the requests; this module has only the client's progress with them.

use agent_client_protocol_schema::v1::{
    CancelRequestNotification, ContentChunk, RequestId, SessionNotification, SessionUpdate,
};
use bytes::Bytes;
use omniglot_schema::SessionId;

use super::outbox::{Outbound, What};
use super::{Connection, lock};
use crate::faces::acp::project::inquiry::{ClientRequest, Inquiry};
use crate::faces::acp::wire::rpc;

/// An inquiry of a session's agent.
#[derive(Debug, Clone)]
pub(crate) struct Inquired {
    pub(crate) session: SessionId,
    pub(crate) inquiry: Inquiry,
}

impl Connection {
    /// Returns the request to send to the client: the current step, if it was asked before.
    pub(crate) fn inquire(&self, inquired: Inquired) -> Option<Bytes> {
        let name = inquired.inquiry.name().as_str().to_owned();
        let mut inquiries = lock(&self.inquiries);
        let inquired = inquiries.entry(name).or_insert(inquired);
        inquired.inquiry.ask().map(|ask| to_wire(&ask))
    }

    /// Takes the inquiry that a client answers with this id; no other answer is accepted meanwhile.
    pub(crate) fn take_inquiry(&self, id: &RequestId) -> Option<Inquired> {
        let mut inquiries = lock(&self.inquiries);
        let is_asked =
            |inquired: &Inquired| inquired.inquiry.ask().is_some_and(|ask| RequestId::Str(ask.id) == *id);
        let name = inquiries.iter().find(|(_, inquired)| is_asked(inquired)).map(|(name, _)| name.clone())?;
        inquiries.remove(&name)
    }

    /// Puts back an inquiry that the client declined to answer, or whose answer was not taken. Its next stream asks
    /// again.
    pub(crate) fn put_back(&self, inquired: Inquired) {
        lock(&self.inquiries).insert(inquired.inquiry.name().as_str().to_owned(), inquired);
    }

    /// Tells the client about its answer, as thought: the one text that is no part of the agent's message.
    pub(crate) fn tell(&self, session: &SessionId, text: &str) {
        let told = SessionUpdate::AgentThoughtChunk(ContentChunk::new(text.into()));
        let told = SessionNotification::new(session.as_str().to_owned(), told);
        self.send(session, rpc::notification("session/update", &told));
    }

    /// Asks the next of several questions.
    pub(crate) fn ask_on(&self, inquired: Inquired) {
        let session = inquired.session.clone();
        if let Some(ask) = self.inquire(inquired) {
            self.send(&session, ask);
        }
    }

    /// Removes an answered inquiry. A client that was asked receives a cancel notification for its dialog.
    pub(crate) fn settled(&self, name: &str) {
        let Some(Inquired { session, inquiry }) = lock(&self.inquiries).remove(name) else { return };
        let Some(ClientRequest { id, .. }) = inquiry.ask() else { return };
        let taken_back = CancelRequestNotification::new(RequestId::Str(id));
        self.send(&session, rpc::notification("$/cancel_request", &taken_back));
    }

    /// Sends a message about a session to the streams that are open.
    fn send(&self, session: &SessionId, json: Bytes) {
        self.outbox.push(What::Copy(Outbound { session: Some(session.clone()), json }), None);
    }
}

fn to_wire(ask: &ClientRequest) -> Bytes {
    rpc::request(&RequestId::Str(ask.id.clone()), ask.request.method(), &ask.request)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::registry::Connections;
    use super::*;
    use crate::faces::acp::project::{Audience, Blobs, Echo, Outgoing, Projector};

    fn inquired() -> Inquired {
        let event = serde_json::from_value(json!({
            "event_id": "evt_1", "sequence": 1, "time": "2026-01-01T00:00:00Z", "session_id": "s",
            "source": "agent", "synthetic": false, "type": "permission.requested",
            "data": { "permission_id": "perm_1", "action": "Write", "status": "requested" },
        }));
        let mut told =
            Projector::new(Audience::default(), Echo::All).event(&event.unwrap(), &Blobs::default());
        let Some(Outgoing::ClientRequest(inquiry)) = told.pop() else { panic!("{told:?}") };
        Inquired { session: SessionId::parse("s").unwrap(), inquiry: *inquiry }
    }

    #[test]
    fn what_a_client_was_not_willing_to_answer_it_can_still_answer() {
        let connection = Connections::new(9).find_or_create("c").unwrap();
        let id = RequestId::Str("perm_1".into());
        assert!(connection.inquire(inquired()).is_some());
        let taken = connection.take_inquiry(&id).unwrap();
        assert!(connection.take_inquiry(&id).is_none());
        connection.put_back(taken);
        assert!(connection.take_inquiry(&id).is_some());
    }
}

//! The pending requests in both directions: prompts of the client, and requests of ours to it.

use std::time::Duration;

use agent_client_protocol_schema::v1::{Error, RequestId};
use omniglot_schema::{MessageId, SessionId};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::outbox::{Outbound, What};
use super::{Connection, Prompt, Shared, lock};
use crate::faces::acp::state::client_host::{AskClient, Unanswered};
use crate::faces::acp::wire::rpc;

/// How long a client with a pending request of ours may be without a stream.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(30);

impl Connection {
    /// Posts a message of this client. No stream emits its turn before it is recorded as the client's own.
    pub(crate) async fn post<T, E>(
        &self,
        session: &SessionId,
        post: impl Future<Output = Result<T, E>>,
        message: impl Fn(&T) -> MessageId,
    ) -> Result<T, E> {
        let _posting = self.posting.read().await;
        let posted = post.await?;
        lock(&self.own).entry(session.clone()).or_default().insert(message(&posted));
        Ok(posted)
    }

    /// Whether this client posted the message; decided once no post is in progress.
    pub(crate) async fn is_own(&self, session: &SessionId, message: &MessageId) -> bool {
        let _none_posting = self.posting.write().await;
        lock(&self.own).get(session).is_some_and(|own| own.contains(message))
    }

    /// Removes the client's own messages of a session that it has left.
    pub(super) fn disown(&self, session: &SessionId) {
        lock(&self.own).remove(session);
    }

    pub(crate) fn begin_prompt(&self, prompt: Prompt) {
        lock(&self.prompts).insert(prompt.message.clone(), prompt);
    }

    pub(crate) fn end_prompt(&self, message: &MessageId) {
        lock(&self.prompts).remove(message);
    }

    pub(crate) fn prompt(&self, request: &RequestId) -> Option<Prompt> {
        lock(&self.prompts).values().find(|prompt| prompt.request == *request).cloned()
    }

    pub(crate) fn prompts_of(&self, session: &SessionId) -> Vec<Prompt> {
        lock(&self.prompts).values().filter(|prompt| prompt.session == *session).cloned().collect()
    }

    /// Passes an answer to the waiting task; `false` when it is the answer to an agent's request.
    pub(crate) fn answered(&self, id: &RequestId, result: &Result<Value, Error>) -> bool {
        let asked = lock(&self.asked).remove(id);
        // The task may have stopped waiting.
        asked.map(|asked| drop(asked.answer.send(result.clone()))).is_some()
    }

    /// Returns our pending requests, in order, for a stream that was opened after that number.
    pub(crate) fn asked_before(&self, opened: u64) -> Vec<Outbound> {
        let asked = lock(&self.asked);
        let mut waiting: Vec<_> = asked.values().filter(|asked| asked.number <= opened).collect();
        waiting.sort_by_key(|asked| asked.number);
        waiting.into_iter().map(|asked| asked.request.clone()).collect()
    }

    /// Asks the client for as long as the result is held.
    fn ask(
        self: &Shared,
        session: &SessionId,
        method: &str,
        params: &RawValue,
    ) -> (Asking, oneshot::Receiver<Answer>) {
        let id = RequestId::Str(format!("ask_{}", Uuid::now_v7().simple()));
        let json = rpc::request(&id, method, &params);
        let request = Outbound { session: Some(session.clone()), json };
        let (answer, answered) = oneshot::channel();
        let mut asked = lock(&self.asked);
        // Under the lock, so that a new stream either finds the request here or receives it.
        let number = self.outbox.push(What::Copy(request.clone()), None);
        asked.insert(id.clone(), OutboundRequest { number, request, answer });
        (Asking { connection: self.clone(), id }, answered)
    }
}

type Answer = Result<Value, Error>;

/// A request of ours to the client, and the sender of its answer.
pub(super) struct OutboundRequest {
    number: u64,
    request: Outbound,
    answer: oneshot::Sender<Answer>,
}

/// Removes the request when no task waits for its answer any more.
struct Asking {
    connection: Shared,
    id: RequestId,
}

impl Drop for Asking {
    fn drop(&mut self) {
        lock(&self.connection.asked).remove(&self.id);
    }
}

/// Asks the client of a connection about a session; fails when the client has no stream.
#[derive(Clone)]
pub(crate) struct Asker {
    connection: Shared,
    session: SessionId,
}

impl Asker {
    pub(crate) fn new(connection: &Shared, session: &SessionId) -> Self {
        Self { connection: connection.clone(), session: session.clone() }
    }
}

impl AskClient for Asker {
    async fn ask(&self, method: &'static str, params: Box<RawValue>) -> Result<Box<RawValue>, Unanswered> {
        let Self { connection, session } = self;
        if !connection.has_reader() {
            return Err(Unanswered::Gone);
        }
        let (_asking, answer) = connection.ask(session, method, &params);
        let answer = tokio::select! {
            answer = answer => answer.map_err(|_| Unanswered::Gone),
            () = connection.gone.cancelled() => Err(Unanswered::Gone),
            () = connection.outbox.readers.deserted(CLIENT_TIMEOUT) => Err(Unanswered::Gone),
        };
        match answer? {
            Ok(result) => serde_json::value::to_raw_value(&result).map_err(|_| Unanswered::Gone),
            Err(Error { code, message, .. }) => {
                Err(Unanswered::Refused { code: i32::from(code).into(), message })
            }
        }
    }
}

//! What a client waits for, and what we wait for from it: prompts under way and requests of ours.

use agent_client_protocol_schema::v1::{Error, RequestId};
use omniglot_schema::{MessageId, SessionId};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::outbox::What;
use super::{Connection, Prompt, Shared, lock};
use crate::acp::errands::{AskClient, Unanswered};
use crate::acp::rpc;

impl Connection {
    /// Posts a message of this client. No stream tells of its turn before it is known to be the client's own.
    pub(crate) async fn post<T, E>(
        &self,
        post: impl Future<Output = Result<T, E>>,
        message: impl Fn(&T) -> MessageId,
    ) -> Result<T, E> {
        let _posting = self.posting.read().await;
        let posted = post.await?;
        lock(&self.own).insert(message(&posted));
        Ok(posted)
    }

    /// Whether this client posted the message; known once no post is under way.
    pub(crate) async fn is_own(&self, message: &MessageId) -> bool {
        let _none_posting = self.posting.write().await;
        lock(&self.own).contains(message)
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

    /// Hands an answer to whoever asked the client; `false` when it is the answer to an agent's request.
    pub(crate) fn answered(&self, id: &RequestId, result: &Result<Value, Error>) -> bool {
        let asked = lock(&self.asked).remove(id);
        // Whoever asked may have stopped waiting.
        asked.map(|waiting| drop(waiting.send(result.clone()))).is_some()
    }
}

/// Asks the client of a connection; nobody is asked when nobody listens.
#[derive(Clone)]
pub(crate) struct Asker(pub(crate) Shared);

impl AskClient for Asker {
    async fn ask(&self, method: &'static str, params: Box<RawValue>) -> Result<Box<RawValue>, Unanswered> {
        let Self(connection) = self;
        if !connection.has_reader() {
            return Err(Unanswered::Gone);
        }
        let id = RequestId::Str(format!("ask_{}", Uuid::now_v7().simple()));
        let (sender, answer) = oneshot::channel();
        lock(&connection.asked).insert(id.clone(), sender);
        connection.outbox.push(What::Copy(rpc::request(&id, method, &params)), None);
        let answer = tokio::select! {
            answer = answer => answer.map_err(|_| Unanswered::Gone),
            () = connection.gone.cancelled() => Err(Unanswered::Gone),
        };
        lock(&connection.asked).remove(&id);
        match answer? {
            Ok(result) => serde_json::value::to_raw_value(&result).map_err(|_| Unanswered::Gone),
            Err(Error { code, message, .. }) => {
                Err(Unanswered::Refused { code: i32::from(code).into(), message })
            }
        }
    }
}

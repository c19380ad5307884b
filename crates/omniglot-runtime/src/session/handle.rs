//! The handle of a live session: the commands that it takes, and the answers that it gives.
//!
//! Commands are carried out in `commands`.

use omniglot_agents::Attachment;
use omniglot_schema::{Delivered, MessageId, MessageRequest, PermissionReply, QueueOnCancel, SessionPatch};
use omniglot_timeline::{Author, Replier};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use super::{Activity, FileWork, UserCommand};
use crate::error::RuntimeError;
use crate::snapshots::Before;

/// The receipt of a message: it is committed.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Posted {
    pub message_id: MessageId,
    pub delivered: Delivered,
    /// The last sequence before the message; its turn begins after it.
    pub after: u64,
}

/// A message's idempotency key and the hash of the body it came with.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    pub key: String,
    /// sha256 in hex.
    pub body_hash: String,
}

/// A message with its author, as the queue keeps it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Authored {
    #[serde(flatten)]
    pub(crate) request: MessageRequest,
    /// The name of the token with which it was posted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
}

impl Authored {
    pub(super) fn author(&self) -> Author {
        let MessageRequest { client_ids, metadata, .. } = &self.request;
        Author { client_ids: client_ids.clone(), by: self.by.clone(), metadata: metadata.clone() }
    }
}

/// A client's command to a session.
#[derive(Debug)]
pub(crate) enum SessionCommand {
    Post {
        message: Authored,
        files: Vec<Attachment>,
        key: Option<IdempotencyKey>,
        /// The snapshot of the directory, if it could be taken while the session was idle.
        before: Option<Before>,
    },
    RemoveQueued(MessageId),
    ReplyPermission {
        id: String,
        reply: PermissionReply,
        message: Option<String>,
        by: Option<Replier>,
    },
    ReplyQuestion {
        id: String,
        answers: Option<Vec<Vec<String>>>,
        by: Option<Replier>,
    },
    Cancel(QueueOnCancel),
    Configure(SessionPatch),
    /// Work on the session's files beside which no turn runs.
    WorkOnFiles(FileWork),
    RecordCommand(UserCommand),
    Terminate,
    /// End the process if it rests; the session goes on with its next message.
    Reap,
    /// Leave without a word to the log: the session is about to be deleted.
    Discard,
    /// The same for a session in which nothing was done; every other refuses.
    DiscardUnused,
    Shutdown,
}

#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) ask: SessionCommand,
    pub(crate) reply: oneshot::Sender<Answer>,
}

#[derive(Debug)]
pub(crate) enum Answer {
    /// Done and committed.
    Done(Option<Posted>),
    Refused(RuntimeError),
    /// The loop had ended: here is the question back.
    Retired(SessionCommand),
}

/// Talks to one session. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct SessionHandle {
    pub(super) requests: mpsc::Sender<Request>,
    pub(super) activity: Activity,
}

/// The session retired before it took the request: ask the hub for it again.
#[derive(Debug)]
pub(crate) struct Retired(pub(crate) SessionCommand);

impl SessionHandle {
    /// Asks, and waits until the effect is committed.
    pub(crate) async fn ask(
        &self,
        ask: SessionCommand,
    ) -> Result<Result<Option<Posted>, RuntimeError>, Retired> {
        let (reply, answer) = oneshot::channel();
        if let Err(mpsc::error::SendError(request)) = self.requests.send(Request { ask, reply }).await {
            return Err(Retired(request.ask));
        }
        match answer.await {
            Ok(Answer::Done(posted)) => Ok(Ok(posted)),
            Ok(Answer::Refused(error)) => Ok(Err(error)),
            Ok(Answer::Retired(ask)) => Err(Retired(ask)),
            Err(_) => Ok(Err(RuntimeError::Stopping)),
        }
    }

    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Waits until the session is nothing but its row.
    pub(crate) async fn retired(&self) {
        self.requests.closed().await;
    }

    pub(crate) fn same(&self, other: &Self) -> bool {
        self.requests.same_channel(&other.requests)
    }
}

/// A caller that stopped waiting is no error.
pub(super) fn answer(reply: oneshot::Sender<Answer>, answer: Answer) {
    drop(reply.send(answer));
}

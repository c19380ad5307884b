//! Sends the replies of a run to the daemon: beside the stream, so that nothing waits for the response.

use omniglot_client::{Client, ClientError};
use omniglot_schema::{PermissionReplyRequest, QuestionReplyRequest, SessionId};
use tokio::task::{JoinError, JoinSet};

use super::output::Output;
use super::prompt::Answer;

/// The replies in progress; their errors are reported.
pub(crate) type PendingReplies = JoinSet<Result<(), String>>;

/// Sends an answer; another client may have been faster, and the stream then has its answer.
pub(crate) async fn send(client: &Client, session: &SessionId, answer: Answer) -> Result<(), String> {
    let sent = match answer {
        Answer::Permission { id, reply } => {
            let request = PermissionReplyRequest { reply, message: None };
            client.reply_permission(session, id.as_str(), &request).await
        }
        Answer::Question { id, answers } => {
            return answer_question(client, session, id.as_str(), QuestionReplyRequest { answers }).await;
        }
        Answer::RejectQuestion { id } => client.reject_question(session, id.as_str()).await,
    };
    taken(sent)
}

/// Sends an answer; one that the agent does not allow must not leave the agent waiting.
async fn answer_question(
    client: &Client,
    session: &SessionId,
    question: &str,
    reply: QuestionReplyRequest,
) -> Result<(), String> {
    match client.reply_question(session, question, &reply).await {
        Err(error) if error.status() == Some(400) => {
            taken(client.reject_question(session, question).await)?;
            Err(format!("the question stays without answer: {error}"))
        }
        sent => taken(sent),
    }
}

fn taken(sent: Result<(), ClientError>) -> Result<(), String> {
    match sent {
        Err(error) if !matches!(error.status(), Some(404 | 409)) => {
            Err(format!("the answer was not taken: {error}"))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Waits for the replies in progress, which may still arrive.
pub(crate) async fn finish(mut replies: PendingReplies, output: &mut Output) {
    while let Some(done) = replies.join_next().await {
        report(done, output);
    }
}

pub(crate) fn report(done: Result<Result<(), String>, JoinError>, output: &mut Output) {
    match done {
        Ok(Ok(())) => {}
        Ok(Err(trouble)) => output.complain(&trouble),
        Err(error) => output.complain(&error.to_string()),
    }
}

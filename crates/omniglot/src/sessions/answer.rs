//! `omniglot sessions answer`: answers the request that an agent waits for, in place of a watching client.

use std::process::ExitCode;

use omniglot_client::Client;
use omniglot_schema::{
    PendingRequest, PermissionReply, PermissionReplyRequest, QuestionReplyRequest, SessionDetail, SessionId,
};
use serde::Serialize;

use super::find;
use crate::cli::AnswerArgs;
use crate::print;
use crate::run::prompt::{Answer, Asker, Step};
use crate::run::render::style::clean;
use crate::usage::UsageError;
use crate::with_daemon::with_daemon;

/// The answer that was sent, and its request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Done {
    session_id: SessionId,
    request_id: String,
    done: &'static str,
    /// Requests that still wait.
    waiting: usize,
}

pub(crate) async fn answer(args: &AnswerArgs) -> anyhow::Result<ExitCode> {
    let talk = &args.session.talk;
    let detail =
        with_daemon(&talk.data, async |client| find::session(client, &args.session.id).await).await?;
    let SessionDetail { info, pending, .. } = detail;
    let Some(request) = pending.first() else {
        anyhow::bail!("nothing waits for an answer in session {}", info.session_id);
    };
    let answer = meant(request, args)?;
    // The answer is chosen by now: over another connection it must not go to another request.
    with_daemon(&talk.data, async |client| {
        send(client, &info.session_id, &answer, args.message.as_deref()).await
    })
    .await?;
    let done = Done {
        request_id: answer.id().to_owned(),
        done: word(&answer),
        waiting: pending.len() - 1,
        session_id: info.session_id,
    };
    report(talk.json, &done)?;
    Ok(ExitCode::SUCCESS)
}

/// Interprets the arguments as the answer to the request.
fn meant(request: &PendingRequest, args: &AnswerArgs) -> Result<Answer, UsageError> {
    let mut asker = Asker::default();
    asker.add(request.clone());
    let mut step = if args.reject { asker.line(None) } else { Step::Next };
    let mut words = args.answers.iter();
    while let Step::Next = step {
        let prompt = asker.prompt().unwrap_or_default();
        let Some(word) = words.next() else {
            let prompt = prompt.trim().trim_end_matches('?');
            return Err(UsageError::new(format!("the agent waits for {}; {prompt}", waits_for(request))));
        };
        step = asker.line(Some(word));
        if let Step::Again(hint) = step {
            return Err(UsageError::new(format!("`{word}` does not answer {}; {hint}", waits_for(request))));
        }
    }
    match (step, words.next()) {
        (Step::Reply(answer), None) => {
            let rejects = matches!(answer, Answer::Permission { reply: PermissionReply::Reject, .. });
            if args.message.is_some() && !rejects {
                return Err(UsageError::new("--message says why a permission is rejected; leave it out"));
            }
            Ok(answer)
        }
        (_, surplus) => {
            let surplus = surplus.map(String::as_str).unwrap_or_default();
            Err(UsageError::new(format!("`{surplus}` is one answer too many for {}", waits_for(request))))
        }
    }
}

async fn send(
    client: &Client,
    session: &SessionId,
    answer: &Answer,
    message: Option<&str>,
) -> anyhow::Result<()> {
    match answer {
        Answer::Permission { id, reply } => {
            let request = PermissionReplyRequest { reply: *reply, message: message.map(str::to_owned) };
            client.reply_permission(session, id.as_str(), &request).await?;
        }
        Answer::Question { id, answers } => {
            let request = QuestionReplyRequest { answers: answers.clone() };
            client.reply_question(session, id.as_str(), &request).await?;
        }
        Answer::RejectQuestion { id } => client.reject_question(session, id.as_str()).await?,
    }
    Ok(())
}

fn word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Permission { reply: PermissionReply::Once, .. } => "allowed once",
        Answer::Permission { reply: PermissionReply::Always, .. } => "allowed always",
        Answer::Permission { reply: PermissionReply::Reject, .. } | Answer::RejectQuestion { .. } => {
            "rejected"
        }
        Answer::Question { .. } => "answered",
    }
}

fn report(json: bool, done: &Done) -> anyhow::Result<()> {
    if json {
        return print::json(done);
    }
    print::line(&format!("{}: {}", done.request_id, done.done))?;
    if done.waiting > 0 {
        print::note(&format!("{} more to answer in session {}", done.waiting, done.session_id));
    }
    Ok(())
}

/// Describes the request that an agent waits for.
pub(crate) fn waits_for(request: &PendingRequest) -> String {
    let words = match request {
        PendingRequest::Permission(data) => format!("permission {}: {}", data.permission_id, data.action),
        PendingRequest::Question(data) => format!("an answer to {}: {}", data.question_id, data.prompt),
    };
    clean(&words).replace('\n', " ")
}

/// Describes how to answer the request of a running turn; `None` when there is none.
pub(crate) fn how_to_answer(detail: &SessionDetail) -> Option<String> {
    let request = waits_for(detail.pending.first()?);
    let id = &detail.info.session_id;
    Some(format!("the running turn waits for {request}; answer it with `omniglot sessions answer {id} …`"))
}

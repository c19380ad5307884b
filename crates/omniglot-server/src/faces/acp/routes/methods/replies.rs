//! Processes a client's answers to requests: to an agent's request, or to one of ours.

use agent_client_protocol_schema::v1::{Error, RequestId};
use omniglot_runtime::RuntimeError;
use omniglot_schema::Scope;
use serde_json::Value;

use crate::app::App;
use crate::faces::acp::project::inquiry::Verdict;
use crate::faces::acp::state::connection::{Inquired, Shared};

/// An answer to an unknown request, and the second of two, change nothing.
pub(crate) async fn answered(app: &App, connection: &Shared, id: RequestId, result: Result<Value, Error>) {
    if connection.answered(&id, &result) || !app.hub.caller().may(Scope::Answer) {
        return;
    }
    let Some(mut inquired) = connection.take_inquiry(&id) else { return };
    let Inquired { session, inquiry } = &mut inquired;
    let (verdict, name) = (inquiry.answer(result), inquiry.name().clone());
    let replied = match (verdict, &name) {
        (Verdict::More, _) => {
            connection.ask_on(inquired);
            return;
        }
        (Verdict::Withdrawn, _) => {
            connection.put_back(inquired);
            return;
        }
        (Verdict::Permission(reply), name) => {
            app.hub.reply_permission(session, name.as_str(), reply, None).await
        }
        (Verdict::Question(answers), name) => {
            let replied = app.hub.reply_question(session, name.as_str(), answers).await;
            match replied {
                // No agent waits forever because a client sent an invalid answer.
                Err(RuntimeError::InvalidRequest(_)) => {
                    app.hub.reply_question(session, name.as_str(), None).await
                }
                other => other,
            }
        }
    };
    let outcome = if replied.is_ok() { "ok" } else { "error" };
    let what = format!("acp reply to {}", name.as_str());
    app.hub.record_call(app.hub.caller().call(what, Some(session.clone()), outcome));
    if let Err(error) = replied {
        tracing::info!(%session, request = name.as_str(), %error, "an answer of an ACP client was not taken");
        connection.tell(session, &error.to_string());
        let is_over =
            matches!(error, RuntimeError::RequestNotFound(_) | RuntimeError::AlreadyResolved { .. });
        if !is_over {
            // The agent may still wait: this client can answer again, or its next stream asks it.
            connection.put_back(inquired);
        }
    }
}

//! `omniglot sessions send`: sends a message, watched like a run unless the person does not want to wait.

use std::process::ExitCode;

use omniglot_client::Receipt;
use omniglot_schema::{Delivered, MessageId, MessageRequest, SessionId};
use serde::Serialize;
use uuid::Uuid;

use super::answer::how_to_answer;
use super::find;
use crate::cli::SendArgs;
use crate::connect::Home;
use crate::usage::UsageError;
use crate::with_daemon::with_daemon;
use crate::{print, run};

pub(crate) async fn send(args: SendArgs) -> anyhow::Result<ExitCode> {
    if !args.no_wait {
        return run::send(args).await;
    }
    let talk = &args.session.talk;
    // A daemon of our own would exit with us, and end the turn.
    if Home::of(&talk.data)?.running().await?.is_none() {
        let words = "--no-wait needs a daemon that stays; start one with `omniglot daemon start`";
        return Err(UsageError::new(words).into());
    }
    let (text, _) = run::prompt_text(&args.text)?;
    let key = Uuid::new_v4().to_string();
    let message = MessageRequest::new(text);
    let (detail, receipt) = with_daemon(&talk.data, async |client| {
        let detail = find::session(client, &args.session.id).await?;
        let receipt = client.post(&detail.info.session_id, &message, Some(&key)).await?;
        Ok((detail, receipt))
    })
    .await?;
    let waits = how_to_answer(&detail).filter(|_| receipt.delivered == Delivered::Queued);
    report(talk.json, detail.info.session_id, receipt)?;
    if let Some(waits) = waits {
        print::note(&waits);
    }
    Ok(ExitCode::SUCCESS)
}

fn report(json: bool, session_id: SessionId, receipt: Receipt) -> anyhow::Result<()> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Sent {
        session_id: SessionId,
        message_id: MessageId,
        delivered: Delivered,
    }
    let Receipt { message_id, delivered } = receipt;
    if json {
        return print::json(&Sent { session_id, message_id, delivered });
    }
    print::line(match delivered {
        Delivered::Started => "sent; its turn has begun",
        Delivered::Queued => "queued; its turn begins when the running one has ended",
        Delivered::Steered => "given to the running turn",
    })?;
    print::note(&format!("watch it with `omniglot sessions tail -f {session_id}`"));
    Ok(())
}

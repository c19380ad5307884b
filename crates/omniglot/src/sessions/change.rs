//! `omniglot sessions fork`, `compact` and `set`.

use std::process::ExitCode;

use anyhow::bail;
use omniglot_schema::{Delivered, SessionId, SessionPatch, TurnId};
use serde::Serialize;

use super::{find, show};
use crate::cli::{ForkArgs, OneArgs, SetArgs};
use crate::print;
use crate::token::random_hex;
use crate::usage::UsageError;
use crate::with_daemon::with_daemon;

const RANDOM_BYTES: usize = 5;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Forked {
    session_id: SessionId,
    forked_from: SessionId,
}

pub(crate) async fn fork(args: &ForkArgs) -> anyhow::Result<ExitCode> {
    let id = match &args.new {
        Some(typed) => find::id(typed)?,
        None => SessionId::parse(&format!("fork-{}", random_hex::<RANDOM_BYTES>()?))?,
    };
    let forked = with_daemon(&args.origin.talk.data, async |client| {
        let origin = find::session(client, &args.origin.id).await?.info.session_id;
        let made = client.fork_before(&origin, &id, args.before.clone().map(TurnId)).await?;
        if let Some(error) = made.error.filter(|_| !made.healthy) {
            bail!("session {id} cannot work yet: {}", error.message);
        }
        Ok(Forked { session_id: id.clone(), forked_from: origin })
    })
    .await?;
    if args.origin.talk.json {
        print::json(&forked)?;
    } else {
        print::line(&format!("{}: forked from {}", forked.session_id, forked.forked_from))?;
    }
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Compacted {
    session_id: SessionId,
    delivered: Delivered,
}

pub(crate) async fn compact(args: &OneArgs) -> anyhow::Result<ExitCode> {
    let done = with_daemon(&args.talk.data, async |client| {
        let session_id = find::session(client, &args.id).await?.info.session_id;
        let delivered = client.compact(&session_id).await?.delivered;
        Ok(Compacted { session_id, delivered })
    })
    .await?;
    if args.talk.json {
        print::json(&done)?;
    } else {
        let words = match done.delivered {
            Delivered::Queued => "will be compacted after the running turn",
            Delivered::Started | Delivered::Steered => "is being compacted",
        };
        print::line(&format!("{}: {words}", done.session_id))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn set(args: &SetArgs) -> anyhow::Result<ExitCode> {
    let patch = patch(args);
    if patch == SessionPatch::default() {
        return Err(UsageError::new("say what to change, such as --title or --model").into());
    }
    let talk = &args.session.talk;
    let detail = with_daemon(&talk.data, async |client| {
        let id = find::session(client, &args.session.id).await?.info.session_id;
        Ok(client.patch(&id, &patch).await?)
    })
    .await?;
    show::print(&detail, talk.json)?;
    Ok(ExitCode::SUCCESS)
}

fn patch(args: &SetArgs) -> SessionPatch {
    let set = args.labels.iter().map(|label| (label.key.clone(), Some(label.value.clone())));
    let removed = args.remove_labels.iter().map(|key| (key.clone(), None));
    let labels: std::collections::BTreeMap<_, _> = set.chain(removed).collect();
    SessionPatch {
        title: args.title.clone(),
        model: args.model.clone(),
        force: args.force_model,
        variant: args.variant.clone(),
        agent_mode: args.mode.clone(),
        permission_mode: args.permission_mode.clone(),
        labels: (!labels.is_empty()).then_some(labels),
    }
}

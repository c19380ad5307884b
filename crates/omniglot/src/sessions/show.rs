//! `omniglot sessions show`.

use std::process::ExitCode;

use jiff::Timestamp;
use omniglot_schema::{Listed, SessionDetail};

use super::answer::waits_for;
use super::{find, list};
use crate::cli::OneArgs;
use crate::print;
use crate::run::render::style::{clean, rounded};
use crate::run::render::tokens;
use crate::times::{ago, moment};
use crate::with_daemon::with_daemon;

pub(crate) async fn show(args: &OneArgs) -> anyhow::Result<ExitCode> {
    let detail = with_daemon(&args.talk.data, async |client| find::session(client, &args.id).await).await?;
    print(&detail, args.talk.json)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn print(detail: &SessionDetail, json: bool) -> anyhow::Result<()> {
    if json { print::json(detail) } else { print::text(&readable(detail, Timestamp::now())) }
}

fn readable(detail: &SessionDetail, now: Timestamp) -> String {
    let SessionDetail { info, status, state, pending, stats, .. } = detail;
    let time = |ms| format!("{} ({})", moment(ms), ago(now, ms));
    let model = [&info.model, &info.variant].into_iter().flatten().cloned().collect::<Vec<_>>().join(", ");
    let queued = state.queue.as_ref().map(count).filter(|count| *count != "0");
    let context =
        state.context.as_ref().map(|c| format!("{} of {} tokens", rounded(c.used), rounded(c.window)));
    let labels: Vec<String> = info.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut lines = vec![
        ("session", Some(info.session_id.to_string())),
        ("title", info.title.clone()),
        ("fork of", info.forked_from.as_ref().map(ToString::to_string)),
        ("agent", Some(info.agent.clone())),
        ("status", Some(list::status(info.ended, Some(*status)).to_owned())),
        ("directory", info.directory.clone()),
        ("model", Some(model).filter(|model| !model.is_empty())),
        ("modes", Some(format!("{}, permissions: {}", info.agent_mode, info.permission_mode))),
        ("created", Some(time(info.created_at))),
        ("updated", Some(time(info.updated_at))),
        ("events", Some(info.event_count.to_string())),
        ("labels", Some(labels.join(", ")).filter(|labels| !labels.is_empty())),
        ("context", context),
        ("tokens", state.usage.as_ref().and_then(tokens)),
        ("cost", state.cost_usd.map(|cost| format!("${cost:.4}"))),
        ("native id", info.native_session_id.clone()),
        ("queued", queued.map(|count| format!("{count} messages"))),
        ("unparsed", Some(stats.unparsed.to_string()).filter(|_| stats.unparsed > 0)),
    ];
    lines.extend(pending.iter().map(|request| ("waits for", Some(waits_for(request)))));
    let line = |(name, value): &(&str, Option<String>)| {
        value.as_ref().map(|value| format!("{name:<10}  {}\n", clean(value).replace('\n', " ")))
    };
    lines.iter().filter_map(line).collect()
}

fn count<T>(list: &Listed<T>) -> String {
    list.inline().map_or_else(|| "many".to_owned(), |list| list.len().to_string())
}

//! `omniglot hooks` and `omniglot notify test`: how the calls of the hooks go, and whether they arrive.

use std::process::ExitCode;

use jiff::Timestamp;
use omniglot_schema::{DeadLetter, HookInfo, HookTestResponse};
use serde_json::json;

use crate::cli::{
    DeadArgs, HooksArgs, HooksCommand, NotifyArgs, NotifyCommand, NotifyTestArgs, RetryArgs, TalkArgs,
};
use crate::print;
use crate::table::{Give, Sheet, Table};
use crate::times::ago;
use crate::with_daemon::with_daemon;

const NONE: &str = "there are no hooks; add [[hooks]] to omniglot.toml and restart the daemon";

pub(crate) async fn run(args: HooksArgs) -> anyhow::Result<ExitCode> {
    match args.command {
        HooksCommand::List(args) => list(&args).await?,
        HooksCommand::Dead(args) => dead(&args).await?,
        HooksCommand::Retry(args) => retry(&args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn notify(args: NotifyArgs) -> anyhow::Result<ExitCode> {
    let NotifyCommand::Test(args) = args.command;
    test(&args).await
}

async fn list(args: &TalkArgs) -> anyhow::Result<()> {
    let hooks = with_daemon(&args.data, async |client| Ok(client.hooks().await?)).await?;
    if args.json {
        return hooks.iter().try_for_each(print::json);
    }
    if hooks.is_empty() {
        print::note(NONE);
        return Ok(());
    }
    print::text(&hook_table(&hooks, Timestamp::now()).render(Sheet::of_stdout()))
}

fn hook_table(hooks: &[HookInfo], now: Timestamp) -> Table {
    let mut table = Table::new(&[
        ("NAME", Give::Whole),
        ("TARGET", Give::Shrinks),
        ("STATE", Give::Whole),
        ("QUEUED", Give::Whole),
        ("DEAD", Give::Whole),
        ("CALLED", Give::Whole),
        ("LAST OUTCOME", Give::Shrinks),
    ]);
    for hook in hooks {
        table.row([
            hook.name.clone(),
            hook.target.clone(),
            hook.state.as_str().to_owned(),
            hook.queued.to_string(),
            hook.dead.to_string(),
            hook.last_call_at.map_or_else(|| "–".to_owned(), |at| ago(now, at)),
            hook.last_outcome.clone().unwrap_or_default(),
        ]);
    }
    table
}

async fn dead(args: &DeadArgs) -> anyhow::Result<()> {
    let page =
        with_daemon(&args.talk.data, async |client| Ok(client.dead_letters(&args.hook).await?)).await?;
    if args.talk.json {
        return page.letters.iter().try_for_each(print::json);
    }
    if page.letters.is_empty() {
        print::note(&format!("hook {} has no dead letters", args.hook));
        return Ok(());
    }
    print::text(&letter_table(&page.letters, Timestamp::now()).render(Sheet::of_stdout()))?;
    if page.has_more {
        print::note("there are more; these died first");
    }
    Ok(())
}

fn letter_table(letters: &[DeadLetter], now: Timestamp) -> Table {
    let mut table = Table::new(&[
        ("ID", Give::Whole),
        ("SESSION", Give::Shrinks),
        ("EVENT", Give::Whole),
        ("TRIED", Give::Whole),
        ("DIED", Give::Whole),
        ("REASON", Give::Shrinks),
    ]);
    for letter in letters {
        table.row([
            letter.id.to_string(),
            letter.session_id.to_string(),
            letter.r#type.as_str().to_owned(),
            letter.attempts.to_string(),
            ago(now, letter.died_at),
            letter.reason.clone(),
        ]);
    }
    table
}

async fn retry(args: &RetryArgs) -> anyhow::Result<()> {
    let retried = with_daemon(&args.talk.data, async |client| {
        if args.ids.is_empty() {
            return Ok(client.retry_hook(&args.hook, None).await?.retried);
        }
        let mut retried = 0;
        for id in &args.ids {
            retried += client.retry_hook(&args.hook, Some(id)).await?.retried;
        }
        Ok(retried)
    })
    .await?;
    if args.talk.json {
        return print::json(&json!({ "hook": args.hook, "retried": retried }));
    }
    let letters = if retried == 1 { "letter is" } else { "letters are" };
    print::note(&format!("{retried} dead {letters} sent again"));
    Ok(())
}

/// Exits with 1 when a call was not taken.
async fn test(args: &NotifyTestArgs) -> anyhow::Result<ExitCode> {
    let tested = with_daemon(&args.talk.data, async |client| {
        let names = match &args.hook {
            Some(name) => vec![name.clone()],
            None => client.hooks().await?.into_iter().map(|hook| hook.name).collect(),
        };
        let mut tested: Vec<(String, HookTestResponse)> = vec![];
        for name in names {
            let outcome = client.test_hook(&name).await?;
            tested.push((name, outcome));
        }
        Ok(tested)
    })
    .await?;
    if tested.is_empty() {
        print::note(NONE);
        return Ok(ExitCode::FAILURE);
    }
    for (name, outcome) in &tested {
        if args.talk.json {
            let HookTestResponse { delivered, outcome, status } = outcome;
            print::json(
                &json!({ "hook": name, "delivered": delivered, "outcome": outcome, "status": status }),
            )?;
        } else {
            let result = if outcome.delivered { "arrived" } else { "did not arrive" };
            print::line(&format!("{name}: the call {result}: {}", outcome.outcome))?;
        }
    }
    let all = tested.iter().all(|(_, outcome)| outcome.delivered);
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

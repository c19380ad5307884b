//! Completion: prints the script that registers it in a shell, and answers the shell's questions.
//!
//! The answers come from the program itself, so that they name sessions and agents as they are now.

use std::ffi::OsStr;
use std::process::ExitCode;
use std::time::Duration;

use clap::CommandFactory as _;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use omniglot_agents::Registry;
use omniglot_client::{Client, SessionFilter};

use crate::cli::{Cli, CompletionsArgs, DataDirArgs};
use crate::connect::Home;
use crate::print;
use crate::usage::UsageError;

/// The variable with which a shell asks.
const VARIABLE: &str = "OMNIGLOT_COMPLETE";

/// A person waits for the answer with a finger on the key.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Answers a shell that asks, and exits then.
pub(crate) fn answer() {
    CompleteEnv::with_factory(Cli::command).var(VARIABLE).complete();
}

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let shells = Shells::builtins();
    let name = args.shell.to_string();
    let shell = shells.completer(&name).ok_or_else(|| UsageError::new(format!("no shell {name}")))?;
    let mut script = vec![];
    shell.write_registration(VARIABLE, "omniglot", "omniglot", "omniglot", &mut script)?;
    print::text(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Completes the id of a session.
pub(crate) fn session() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let found = asked(async |client| client.list(&SessionFilter::default()).await.ok());
        let named = found.unwrap_or_default().into_iter().map(|info| {
            let title = info.title.unwrap_or_default();
            (info.session_id.to_string(), format!("{} {title}", info.agent).trim_end().to_owned())
        });
        fitting(typed, named)
    })
}

/// Completes the id of an agent.
pub(crate) fn agent() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let ids = match asked(async |client| client.agents().await.ok()) {
            Some(known) => known.agents.into_iter().map(|agent| agent.id).collect(),
            None => Registry::default().ids().map(str::to_owned).collect::<Vec<_>>(),
        };
        fitting(typed, ids.into_iter().map(|id| (id, String::new())))
    })
}

fn fitting(typed: &OsStr, named: impl Iterator<Item = (String, String)>) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let named = named.filter(|(name, _)| name.starts_with(&*typed));
    let candidate = |(name, help): (String, String)| {
        let help = help.lines().next().map(|line| line.to_owned().into());
        CompletionCandidate::new(name).help(help)
    };
    named.map(candidate).collect()
}

/// Asks the daemon that runs; none is started for this.
fn asked<T>(ask: impl AsyncFnOnce(&Client) -> Option<T>) -> Option<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let found = async {
            let home = Home::of(&DataDirArgs::default()).ok()?;
            ask(&home.running().await.ok()??.client).await
        };
        tokio::time::timeout(TIMEOUT, found).await.ok()?
    })
}

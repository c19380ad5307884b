//! `omniglot sessions`: lists, shows, messages, exports and ends sessions.
//!
//! One file per command. All of them are clients of the daemon that owns the data directory; where none runs,
//! this process is the daemon for the duration of the command.

pub(crate) mod answer;
mod change;
mod end;
mod export;
pub(crate) mod find;
mod import;
mod list;
mod revert;
mod search;
mod send;
mod show;
mod tail;
mod turns;

use std::process::ExitCode;

use crate::cli::{SessionsArgs, SessionsCommand};
use crate::data_dir;

pub(crate) async fn run(args: SessionsArgs) -> anyhow::Result<ExitCode> {
    if let Some(data) = args.command.looks_into() {
        data_dir::must_exist(data)?;
    }
    match args.command {
        SessionsCommand::List(args) => list::list(&args).await,
        SessionsCommand::Search(args) => search::search(&args).await,
        SessionsCommand::Show(args) => show::show(&args).await,
        SessionsCommand::Turns(args) => turns::turns(&args).await,
        SessionsCommand::Tail(args) => tail::tail(&args).await,
        SessionsCommand::Send(args) => send::send(args).await,
        SessionsCommand::Answer(args) => answer::answer(&args).await,
        SessionsCommand::Cancel(args) => end::cancel(&args).await,
        SessionsCommand::Fork(args) => change::fork(&args).await,
        SessionsCommand::Compact(args) => change::compact(&args).await,
        SessionsCommand::Set(args) => change::set(&args).await,
        SessionsCommand::Terminate(args) => end::terminate(&args).await,
        SessionsCommand::Revert(args) => revert::revert(&args).await,
        SessionsCommand::Rm(args) => end::remove(&args).await,
        SessionsCommand::Export(args) => export::export(&args).await,
        SessionsCommand::Import(args) => import::import(&args).await,
    }
}

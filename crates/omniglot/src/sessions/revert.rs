//! `omniglot sessions revert`: restores the files that a turn changed.

use std::process::ExitCode;

use omniglot_schema::{RevertRequest, RevertResponse, TurnId};

use super::find;
use crate::cli::RevertArgs;
use crate::print;
use crate::with_daemon::with_daemon;

pub(crate) async fn revert(args: &RevertArgs) -> anyhow::Result<ExitCode> {
    let talk = &args.session.talk;
    let request = RevertRequest { turn: args.turn.clone().map(TurnId), force: args.force };
    with_daemon(&talk.data, async |client| {
        let id = find::session(client, &args.session.id).await?.info.session_id;
        let done = match args.undo {
            false => client.revert(&id, &request).await?,
            true => client.unrevert(&id, &request).await?,
        };
        if talk.json {
            print::json(&done)?
        } else {
            print::line(&told(&done, args.undo))?
        }
        Ok(ExitCode::SUCCESS)
    })
    .await
}

fn told(RevertResponse { turn, paths }: &RevertResponse, undo: bool) -> String {
    let what = if undo { "the revert is taken back" } else { "reverted" };
    let count = if paths.len() == 1 { "1 file".to_owned() } else { format!("{} files", paths.len()) };
    let lines = paths.iter().map(|path| format!("\n  {path}"));
    format!("{}: {what}, {count}{}", turn.as_str(), lines.collect::<String>())
}

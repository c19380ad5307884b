//! `omniglot db backup`, `restore` and `vacuum`.

use std::io::{self, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;
use omniglot_store::Restored;

use super::place_of_database;
use crate::cli::{DbFileArgs, DbVacuumArgs};
use crate::data_dir;

pub(super) fn backup(args: &DbFileArgs) -> anyhow::Result<ExitCode> {
    let dir = place_of_database(args.data_dir.as_deref())?;
    let file = args.file.display();
    omniglot_store::backup(&dir, &args.file).with_context(|| format!("no copy was made at {file}"))?;
    writeln!(io::stdout(), "copied the database of {} to {file}", dir.display())?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn restore(args: &DbFileArgs) -> anyhow::Result<ExitCode> {
    let dir = data_dir::place(args.data_dir.as_deref())?;
    let file = args.file.display();
    let Restored { sessions, replaced } =
        omniglot_store::restore(&dir, &args.file).with_context(|| format!("{file} was not restored"))?;
    let mut stdout = io::stdout();
    writeln!(stdout, "restored {sessions} sessions from {file} in {}", dir.display())?;
    if let Some(replaced) = replaced {
        writeln!(stdout, "the database that was there is now {}", replaced.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn vacuum(args: &DbVacuumArgs) -> anyhow::Result<ExitCode> {
    let dir = place_of_database(args.data_dir.as_deref())?;
    let (before, now) = omniglot_store::vacuum(&dir).context("the database was not made smaller")?;
    writeln!(io::stdout(), "the database of {} has {now} bytes; it had {before}", dir.display())?;
    Ok(ExitCode::SUCCESS)
}

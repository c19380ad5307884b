//! `omniglot man`: writes a manual page for each command.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::cli::{Cli, ManArgs};
use crate::print;

pub(crate) fn run(args: &ManArgs) -> anyhow::Result<ExitCode> {
    let dir = &args.dir;
    std::fs::create_dir_all(dir).with_context(|| format!("{} cannot be made", dir.display()))?;
    clap_mangen::generate_to(Cli::command(), dir)
        .with_context(|| format!("{} cannot be written", dir.display()))?;
    print::line(&format!("wrote the manual to {}; try `man {}/omniglot.1`", dir.display(), dir.display()))?;
    Ok(ExitCode::SUCCESS)
}

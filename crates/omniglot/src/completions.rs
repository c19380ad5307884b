//! `omniglot completions`: what a shell needs to complete our commands.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::cli::{Cli, CompletionsArgs};

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut Cli::command(), "omniglot", &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

//! `omniglot completions`: prints the completion script of a shell.

use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::cli::{Cli, CompletionsArgs};
use crate::print;

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut Cli::command(), "omniglot", &mut script);
    print::text(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}

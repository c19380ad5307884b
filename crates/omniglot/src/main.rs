//! Omniglot: one daemon that drives every coding agent. This file picks the command; each has its module.

mod acp_command;
mod agents;
mod amp_delegate;
mod attach;
mod audit;
mod cli;
mod completions;
mod config_command;
mod connect;
mod convert;
mod daemon;
mod daemon_command;
mod data_dir;
mod db;
mod env;
mod flag_words;
mod hooks;
mod logging;
mod man;
mod memory;
mod mock_agent;
mod notify;
mod opencode_command;
mod otel;
mod print;
mod rules_command;
mod run;
mod serve;
mod sessions;
mod signals;
mod table;
mod times;
mod token;
mod tokens;
mod ui_command;
mod usage;
mod with_daemon;

use std::future::Future;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;

use cli::{Cli, Command};
use logging::Verbosity;
use usage::UsageError;

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    if amp_delegate::is_called(args.next().as_deref()) {
        return amp_delegate::run();
    }
    let mut args = args.peekable();
    // A guard must be a single small thread, so it starts before anything else of the program does.
    if args.next_if(|first| first == "guard").is_some() {
        return omniglot_runtime::process::guard::run(args);
    }
    if args.next_if(|first| first == "launch").is_some() {
        return daemon_command::launch::run(args);
    }
    completions::answer();
    let done = match Cli::parse().command {
        Command::MockAgent(args) => return mock_agent::run(&args),
        Command::Serve(args) => block_on(Verbosity::Normal, serve::serve(args)),
        Command::Run(args) => block_on(Verbosity::Quiet, run::run(args)),
        Command::Attach(args) => block_on(Verbosity::Quiet, attach::attach(args)),
        Command::Acp(args) => block_on(Verbosity::Quiet, acp_command::run(args)),
        Command::Sessions(args) => block_on(Verbosity::Quiet, sessions::run(args)),
        Command::Agents(args) => block_on(Verbosity::Quiet, agents::run(args)),
        Command::Tokens(args) => block_on(Verbosity::Quiet, tokens::run(args)),
        Command::Audit(args) => block_on(Verbosity::Quiet, audit::run(args)),
        Command::Hooks(args) => block_on(Verbosity::Quiet, hooks::run(args)),
        Command::Notify(args) => block_on(Verbosity::Quiet, hooks::notify(args)),
        Command::Daemon(args) => block_on(Verbosity::Quiet, daemon_command::run(args)),
        Command::Opencode(args) => block_on(Verbosity::Quiet, opencode_command::run(args)),
        Command::Ui(args) => block_on(Verbosity::Quiet, ui_command::run(args)),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Config(args) => config_command::run(&args),
        Command::Rules(args) => rules_command::run(&args),
        Command::Db(args) => db::run(&args),
        Command::Doctor(args) => Err(doctor_is_elsewhere(&args).into()),
        Command::Openapi => openapi(),
        Command::Guard | Command::Launch => Err(UsageError::new("only omniglot itself starts this").into()),
    };
    done.unwrap_or_else(|error| complain(&error))
}

fn block_on(
    verbosity: Verbosity,
    command: impl Future<Output = anyhow::Result<ExitCode>>,
) -> anyhow::Result<ExitCode> {
    logging::init(verbosity);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(command);
    // A thread that still blocks has no work left that matters.
    runtime.shutdown_timeout(Duration::from_secs(1));
    done
}

fn doctor_is_elsewhere(args: &cli::ElsewhereArgs) -> UsageError {
    let agent = args.words.first().map_or("AGENT", String::as_str);
    UsageError::new(format!(
        "`omniglot agents doctor {agent}` checks an agent; `omniglot agents list` shows all, \
         `omniglot config check` checks the configuration, `omniglot daemon status` the daemon"
    ))
}

fn openapi() -> anyhow::Result<ExitCode> {
    let mut text = serde_json::to_string_pretty(&omniglot_server::openapi())?;
    text.push('\n');
    print::text(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn complain(error: &anyhow::Error) -> ExitCode {
    let code = if error.is::<UsageError>() { 2 } else { 1 };
    match writeln!(io::stderr(), "omniglot: {error:#}") {
        Ok(()) => ExitCode::from(code),
        // Stderr is closed, but the exit code still reports the failure.
        Err(_) => ExitCode::from(code),
    }
}

//! The built-in mock agent: `omniglot mock-agent` speaks real ACP (protocol 1) on stdin and stdout,
//! so that a demo or a test takes exactly the path that a real agent takes.
//!
//! Deterministic: the same words give the same bytes; no clock and no chance reaches its output.
//! Words in a prompt such as `[[edit]]` choose built-in scripts; [`words`] holds the one table of them.
//! It knows nothing of the daemon: all it shares with the rest of the program is the binary.
//!
//! ```text
//! rpc         framing: lines in, lines out     session  one conversation: mode, model, history
//! agent       methods and the main loop        store    sessions in memory or in files
//! turn        one running prompt               words    the table of words
//! permission  asking before a tool runs        scripts  what each word does
//! workdir     files, only below the cwd        shell    small real commands
//! usage       tokens and cost of a turn        script_file  a script of the user's own
//! ```

mod agent;
mod permission;
mod rpc;
mod script_file;
mod scripts;
mod session;
mod shell;
mod store;
mod turn;
mod usage;
mod words;
mod workdir;

#[cfg(test)]
mod tests;

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use agent::Agent;
use script_file::{Player, ScriptFile};
use store::Store;

/// Runs the built-in mock agent: a scripted ACP agent on stdin and stdout.
#[derive(Debug, clap::Args)]
pub(crate) struct MockAgentArgs {
    /// Keep sessions as files in this directory, so that they can be loaded and resumed later
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,

    /// Play this script of JSON lines instead of the words (see docs/MOCK.md)
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    pub(crate) script: Option<PathBuf>,

    /// Print every word that a prompt may contain, and what it does
    #[arg(long)]
    pub(crate) list: bool,
}

/// Plays the agent until stdin ends, or prints the words.
pub(crate) fn run(args: &MockAgentArgs) -> ExitCode {
    if args.list {
        return match io::stdout().write_all(words::list().as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let script = match args.script.as_deref().map(ScriptFile::open).transpose() {
        Ok(script) => script,
        Err(error) => return refuse(2, &error.to_string()),
    };
    let store = match Store::open(args.state_dir.as_deref()) {
        Ok(store) => store,
        Err(error) => return refuse(1, &format!("{error}; choose another --state-dir")),
    };
    let streams = Streams {
        input: Box::new(io::stdin()),
        output: Box::new(io::stdout()),
        errors: Box::new(io::stderr()),
    };
    ExitCode::from(serve(streams, store, script))
}

fn refuse(code: u8, why: &str) -> ExitCode {
    // Nothing is left to report to when stderr is closed as well.
    drop(writeln!(io::stderr(), "omniglot mock-agent: {why}"));
    ExitCode::from(code)
}

/// The three pipes of the agent; tests bring their own.
struct Streams {
    input: Box<dyn Read + Send>,
    output: Box<dyn Write + Send>,
    errors: Box<dyn Write + Send>,
}

/// Serves one connection and returns the exit code of the process.
fn serve(streams: Streams, store: Store, script: Option<ScriptFile>) -> u8 {
    let inbox = rpc::read_in_background(streams.input);
    let agent = Agent::new(inbox, rpc::Wire::new(streams.output), streams.errors, store);
    match script {
        Some(script) => Player::new(agent, script).run(),
        None => agent.run(),
    }
}

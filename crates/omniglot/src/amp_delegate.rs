//! The delegate that Amp starts before a tool runs: asks the daemon whether it may, and exits with the answer.
//!
//! Amp starts it by a link with its name and without arguments. Whatever goes wrong refuses the tool.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use omniglot_agents::amp::delegate::{Answer, PROGRAM, Question, SOCKET, TOOL};

/// Whether the program was started by the name of the delegate.
pub(crate) fn is_called(program: Option<&OsStr>) -> bool {
    program.map(Path::new).and_then(Path::file_name) == Some(OsStr::new(PROGRAM))
}

pub(crate) fn run() -> ExitCode {
    let answer = ask().unwrap_or_else(|error| {
        Answer::reject(format!("Omniglot was not asked, so this tool was refused: {error:#}"))
    });
    // Nobody reads it if that fails, and the exit code says enough.
    drop(writeln!(std::io::stderr(), "{}", answer.stderr));
    ExitCode::from(answer.exit_code)
}

fn ask() -> anyhow::Result<Answer> {
    let socket = std::env::var_os(SOCKET).context("no daemon has started this agent")?;
    let tool = std::env::var(TOOL).with_context(|| format!("Amp did not tell the tool in {TOOL}"))?;
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).context("Amp did not tell the input of the tool")?;
    let mut daemon = UnixStream::connect(socket).context("the daemon does not listen")?;
    let mut question = serde_json::to_string(&Question { tool, input })?;
    question.push('\n');
    daemon.write_all(question.as_bytes()).context("the daemon does not listen")?;
    let mut answer = String::new();
    BufReader::new(daemon).read_line(&mut answer).context("the daemon does not answer")?;
    serde_json::from_str(&answer).context("the daemon does not answer")
}

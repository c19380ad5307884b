//! Runs one small real command and returns its output line by line.
//!
//! Line by line, because the cut of the bytes in the pipe is random and must not reach our output. `scripts`
//! report the output.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Serialize;

use super::turn::{Flow, Halt};

/// The result of a command; also the `rawOutput` of its tool call.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    /// Absent when the command could not be started or was killed by a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Runs `sh -c command`. `on_line` receives all output so far after each line, and may stop the command.
pub(super) fn run(cwd: &Path, command: &str, mut on_line: impl FnMut(&str) -> Flow) -> Result<Outcome, Halt> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(cwd);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match shell.spawn() {
        Ok(child) => child,
        Err(error) => {
            return Ok(Outcome { exit_code: None, stdout: String::new(), stderr: error.to_string() });
        }
    };
    let mut stdout = String::new();
    if let Some(pipe) = child.stdout.take() {
        let streamed = stream(pipe, &mut stdout, &mut on_line);
        if let Err(halt) = streamed {
            // The turn is over whether or not the command could still be stopped.
            drop(child.kill().and_then(|()| child.wait()));
            return Err(halt);
        }
    }
    let mut stderr = String::new();
    if let Some(mut pipe) = child.stderr.take()
        && let Err(error) = pipe.read_to_string(&mut stderr)
    {
        stderr = error.to_string();
    }
    let exit_code = child.wait().ok().and_then(|status| status.code());
    Ok(Outcome { exit_code, stdout, stderr })
}

fn stream(pipe: impl Read, carryover: &mut String, on_line: &mut impl FnMut(&str) -> Flow) -> Flow {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while pipe.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
        carryover.push_str(&String::from_utf8_lossy(&line));
        line.clear();
        on_line(carryover)?;
    }
    Ok(())
}

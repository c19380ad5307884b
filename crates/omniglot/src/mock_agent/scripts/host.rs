//! Words that use the client as host: its files, also forbidden ones, and its terminals.

use std::path::PathBuf;

use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES as CLIENT, CreateTerminalRequest, CreateTerminalResponse, EnvVariable, Error,
    KillTerminalRequest, McpServer, ReadTextFileRequest, ReadTextFileResponse, ReleaseTerminalRequest,
    Terminal, TerminalExitStatus, TerminalId, TerminalOutputRequest, TerminalOutputResponse, ToolCall,
    ToolCallContent, ToolCallId, ToolCallStatus, ToolCallUpdateFields, ToolKind, WaitForTerminalExitRequest,
    WaitForTerminalExitResponse, WriteTextFileRequest,
};
use serde_json::{Value, json};

use super::tools::{README, cwd, running};
use crate::mock_agent::turn::{Flow, Halt, Turn};

pub(in crate::mock_agent) fn read(turn: &mut Turn<'_>, _: u64) -> Flow {
    let text = match read_file(turn, README.into(), None, None)? {
        Ok(file) => format!("The client gave me {} characters of README.md.", file.chars().count()),
        Err(error) => refusal("", &error),
    };
    turn.say(&text)
}

pub(in crate::mock_agent) fn read_lines(turn: &mut Turn<'_>, _: u64) -> Flow {
    match read_file(turn, README.into(), Some(2), Some(2))? {
        Ok(lines) => turn.say(&format!("Two lines from the second on: {lines:?}")),
        Err(error) => turn.say(&refusal("", &error)),
    }
}

pub(in crate::mock_agent) fn write(turn: &mut Turn<'_>, _: u64) -> Flow {
    match write_file(turn, "made/by-agent.txt".into(), "Written by the client.\n")? {
        Ok(()) => turn.say("The client has written made/by-agent.txt."),
        Err(error) => turn.say(&refusal("", &error)),
    }
}

/// Tries every way out of the session's directory; `link` is one if a test has put it there.
pub(in crate::mock_agent) fn escape(turn: &mut Turn<'_>, _: u64) -> Flow {
    for way in ["../outside.txt", "/etc/hostname", "link", "link/outside.txt"] {
        let text = match read_file(turn, way.into(), None, None)? {
            Ok(_) => format!("I could read {way}! "),
            Err(error) => refusal("reading ", &error),
        };
        turn.say(&text)?;
        let text = match write_file(turn, way.into(), "I was here.")? {
            Ok(()) => format!("I could write {way}! "),
            Err(error) => refusal("writing ", &error),
        };
        turn.say(&text)?;
    }
    Ok(())
}

pub(in crate::mock_agent) fn terminal(turn: &mut Turn<'_>, _: u64) -> Flow {
    let line = "printf 'one %s\\n' \"$WORD\"; printf 'two\\n' >&2; pwd";
    let mut command = Command::start(turn, shell(line), None)?;
    let status = command.wait(turn)?;
    let (output, _) = command.output(turn)?;
    command.release(turn)?;
    command.finish(turn, ToolCallStatus::Completed)?;
    turn.say(&format!("It ended with {} and said {output:?}.", told(&status)))
}

pub(in crate::mock_agent) fn terminal_fail(turn: &mut Turn<'_>, _: u64) -> Flow {
    let mut command = Command::start(turn, shell("echo oh no; exit 3"), None)?;
    let status = command.wait(turn)?;
    command.release(turn)?;
    command.finish(turn, ToolCallStatus::Failed)?;
    turn.say(&format!("It ended with {}.", told(&status)))
}

/// Eight bytes hold two and a half of these characters.
pub(in crate::mock_agent) fn terminal_limit(turn: &mut Turn<'_>, _: u64) -> Flow {
    let mut command = Command::start(turn, shell("printf '€€€€€'"), Some(8))?;
    command.wait(turn)?;
    let (output, truncated) = command.output(turn)?;
    command.release(turn)?;
    command.finish(turn, ToolCallStatus::Completed)?;
    turn.say(&format!("I see {output:?}, truncated {truncated}."))
}

pub(in crate::mock_agent) fn terminal_kill(turn: &mut Turn<'_>, _: u64) -> Flow {
    let mut command = Command::start(turn, shell(LONG), None)?;
    command.kill(turn)?;
    let status = command.wait(turn)?;
    command.release(turn)?;
    let gone = command.output(turn);
    command.finish(turn, ToolCallStatus::Failed)?;
    let after = match gone {
        Err(Halt::Failed(error)) => refusal("after release ", &error),
        Err(halt) => return Err(halt),
        Ok(_) => "It is still there after its release!".to_owned(),
    };
    turn.say(&format!("It ended with {}. {after}", told(&status)))
}

/// Waits for a command that does not end by itself.
pub(in crate::mock_agent) fn terminal_wait(turn: &mut Turn<'_>, _: u64) -> Flow {
    let mut command = Command::start(turn, shell(LONG), None)?;
    command.wait(turn).map(drop)
}

/// Leaves a command running that has left its own process group, and never releases its terminal.
pub(in crate::mock_agent) fn terminal_leave(turn: &mut Turn<'_>, _: u64) -> Flow {
    let mut command = Command::start(turn, shell(LONG), None)?;
    while command.output(turn)?.0.lines().count() < 2 {}
    turn.say("I leave it running.")
}

pub(in crate::mock_agent) fn mcp(turn: &mut Turn<'_>, _: u64) -> Flow {
    let servers: Vec<String> = turn.state()?.mcp.iter().map(server).collect();
    turn.say(&format!("My MCP servers: {}.", servers.join("; ")))
}

/// Tells the name of each folder of skills, and the lines that describe it.
pub(in crate::mock_agent) fn skills(turn: &mut Turn<'_>, _: u64) -> Flow {
    let folders = std::fs::read_dir(cwd(turn)?.join(".mock/skills")).into_iter().flatten().flatten();
    let describe = |folder: std::fs::DirEntry| {
        let text = std::fs::read_to_string(folder.path().join("SKILL.md")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("description: ")).unwrap_or("nothing");
        format!("{} = {line}", folder.file_name().to_string_lossy())
    };
    let mut skills: Vec<String> = folders.map(describe).collect();
    skills.sort();
    turn.say(&format!("My skills: {}.", skills.join("; ")))
}

fn server(server: &McpServer) -> String {
    match server {
        McpServer::Stdio(server) => {
            let env = server.env.iter().map(|variable| format!(" {}={}", variable.name, variable.value));
            let args = server.args.join(" ");
            format!("{} = {} {args}{}", server.name, server.command.display(), env.collect::<String>())
        }
        McpServer::Http(server) => {
            let headers = server.headers.iter().map(|header| format!(" {}={}", header.name, header.value));
            format!("{} = http {}{}", server.name, server.url, headers.collect::<String>())
        }
        McpServer::Sse(server) => format!("{} = sse {}", server.name, server.url),
        _ => "one that I do not know".to_owned(),
    }
}

/// The command prints its pid and that of a child of another session first.
const LONG: &str = "echo $$; setsid sleep 600 & echo $!; wait";

fn shell(line: &str) -> Vec<String> {
    vec!["-c".to_owned(), line.to_owned()]
}

/// A command in a terminal of the client, displayed by a tool call.
struct Command {
    call: ToolCallId,
    terminal: TerminalId,
}

impl Command {
    fn start(turn: &mut Turn<'_>, args: Vec<String>, limit: Option<u64>) -> Result<Self, Halt> {
        let line = args.last().cloned().unwrap_or_default();
        let request = CreateTerminalRequest::new(turn.session.clone(), "sh")
            .args(args)
            .env(vec![EnvVariable::new("WORD", "word")])
            .cwd(cwd(turn)?)
            .output_byte_limit(limit);
        let answer: Result<CreateTerminalResponse, Error> =
            turn.call_client(CLIENT.terminal_create, &request)?;
        let terminal = answer?.terminal_id;
        let call = turn.next_call()?;
        let shown = ToolCallContent::Terminal(Terminal::new(terminal.clone()));
        let announced = ToolCall::new(call.clone(), line.clone())
            .name("terminal")
            .kind(ToolKind::Execute)
            .raw_input(json!({ "command": line }));
        turn.start_call(announced)?;
        turn.change_call(&call, running().content(vec![shown]))?;
        Ok(Self { call, terminal })
    }

    fn wait(&mut self, turn: &mut Turn<'_>) -> Result<TerminalExitStatus, Halt> {
        let request = WaitForTerminalExitRequest::new(turn.session.clone(), self.terminal.clone());
        let answer: Result<WaitForTerminalExitResponse, Error> =
            turn.call_client(CLIENT.terminal_wait_for_exit, &request)?;
        Ok(answer?.exit_status)
    }

    fn output(&mut self, turn: &mut Turn<'_>) -> Result<(String, bool), Halt> {
        let request = TerminalOutputRequest::new(turn.session.clone(), self.terminal.clone());
        let answer: Result<TerminalOutputResponse, Error> =
            turn.call_client(CLIENT.terminal_output, &request)?;
        let TerminalOutputResponse { output, truncated, .. } = answer?;
        Ok((output, truncated))
    }

    fn kill(&mut self, turn: &mut Turn<'_>) -> Flow {
        let request = KillTerminalRequest::new(turn.session.clone(), self.terminal.clone());
        let answer: Result<Value, Error> = turn.call_client(CLIENT.terminal_kill, &request)?;
        Ok(answer.map(drop)?)
    }

    fn release(&mut self, turn: &mut Turn<'_>) -> Flow {
        let request = ReleaseTerminalRequest::new(turn.session.clone(), self.terminal.clone());
        let answer: Result<Value, Error> = turn.call_client(CLIENT.terminal_release, &request)?;
        Ok(answer.map(drop)?)
    }

    fn finish(&self, turn: &mut Turn<'_>, status: ToolCallStatus) -> Flow {
        turn.change_call(&self.call, ToolCallUpdateFields::new().status(status))
    }
}

fn read_file(
    turn: &mut Turn<'_>,
    path: PathBuf,
    line: Option<u32>,
    limit: Option<u32>,
) -> Result<Result<String, Error>, Halt> {
    let path = cwd(turn)?.join(path);
    let request = ReadTextFileRequest::new(turn.session.clone(), path).line(line).limit(limit);
    let answer: Result<ReadTextFileResponse, Error> = turn.call_client(CLIENT.fs_read_text_file, &request)?;
    Ok(answer.map(|file| file.content))
}

fn write_file(turn: &mut Turn<'_>, path: PathBuf, text: &str) -> Result<Result<(), Error>, Halt> {
    let path = cwd(turn)?.join(path);
    let request = WriteTextFileRequest::new(turn.session.clone(), path, text);
    let answer: Result<Value, Error> = turn.call_client(CLIENT.fs_write_text_file, &request)?;
    Ok(answer.map(drop))
}

fn refusal(what: &str, error: &Error) -> String {
    format!("The client answered {what}with error {}: {}. ", i32::from(error.code), error.message)
}

fn told(status: &TerminalExitStatus) -> String {
    match (&status.exit_code, &status.signal) {
        (Some(code), _) => format!("code {code}"),
        (None, Some(signal)) => signal.clone(),
        (None, None) => "nothing".to_owned(),
    }
}

//! Words that use tools: reading, commands with and without permission, and tool calls that break the rules.
//! Editing and the client's host duties have files of their own.

use std::path::PathBuf;

use agent_client_protocol_schema::v1::{
    SessionUpdate, ToolCall, ToolCallContent, ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind,
};
use serde_json::json;

use crate::mock_agent::permission::Verdict;
use crate::mock_agent::shell::{self, Outcome};
use crate::mock_agent::turn::{Flow, Halt, Turn};
use crate::mock_agent::workdir;

pub(super) const README: &str = "README.md";
const SHELL: &str = "shell";

pub(in crate::mock_agent) fn read(turn: &mut Turn<'_>, _: u64) -> Flow {
    turn.say("Let me read README.md.")?;
    match read_file(turn, README)? {
        Some(text) => turn.say(&format!("README.md has {} lines.", text.lines().count())),
        None => turn.say("I could not read README.md."),
    }
}

/// Makes a tool call that reads a file; returns its text if there was one.
pub(super) fn read_file(turn: &mut Turn<'_>, name: &str) -> Result<Option<String>, Halt> {
    let cwd = cwd(turn)?;
    let path = cwd.join(name);
    let id = turn.next_call()?;
    let call = ToolCall::new(id.clone(), format!("Read {name}"))
        .name("read")
        .kind(ToolKind::Read)
        .locations(vec![ToolCallLocation::new(path.clone())])
        .raw_input(json!({ "path": path }));
    turn.start_call(call)?;
    turn.change_call(&id, running())?;
    let (text, fields) = match workdir::read(&cwd, name) {
        Ok(Some(text)) => {
            let fields =
                ended(ToolCallStatus::Completed, text.clone()).raw_output(json!({ "content": text }));
            (Some(text), fields)
        }
        Ok(None) => (None, ended(ToolCallStatus::Failed, format!("There is no {name}."))),
        Err(error) => (None, ended(ToolCallStatus::Failed, error.to_string())),
    };
    turn.change_call(&id, fields)?;
    Ok(text)
}

pub(in crate::mock_agent) fn permission(turn: &mut Turn<'_>, _: u64) -> Flow {
    let command = "echo hello";
    let id = announce(turn, command)?;
    let request = ToolCallUpdateFields::new()
        .title(command)
        .name(SHELL)
        .kind(ToolKind::Execute)
        .status(ToolCallStatus::Pending)
        .raw_input(json!({ "command": command }));
    match turn.ask(SHELL, ToolCallUpdate::new(id.clone(), request))? {
        Verdict::Allowed => {
            let outcome = execute(turn, &id, command)?;
            turn.say(&format!("It ran, and said {}.", outcome.stdout.trim_end()))
        }
        Verdict::Rejected => {
            turn.change_call(&id, ended(ToolCallStatus::Failed, "Rejected by the user."))?;
            turn.say("Understood, I do not run it.")
        }
    }
}

pub(in crate::mock_agent) fn shell(turn: &mut Turn<'_>, _: u64) -> Flow {
    command(turn, "printf 'one\\n'; printf 'two\\n'; printf 'three\\n'").map(drop)
}

pub(in crate::mock_agent) fn shell_fail(turn: &mut Turn<'_>, _: u64) -> Flow {
    command(turn, "printf 'about to fail\\n'; printf 'it went wrong\\n' >&2; exit 3").map(drop)
}

/// Makes a tool call that runs a command without asking.
pub(super) fn command(turn: &mut Turn<'_>, command: &str) -> Result<Outcome, Halt> {
    let id = announce(turn, command)?;
    execute(turn, &id, command)
}

fn announce(turn: &mut Turn<'_>, command: &str) -> Result<ToolCallId, Halt> {
    let id = turn.next_call()?;
    let call = ToolCall::new(id.clone(), command)
        .name(SHELL)
        .kind(ToolKind::Execute)
        .raw_input(json!({ "command": command }));
    turn.start_call(call)?;
    Ok(id)
}

fn execute(turn: &mut Turn<'_>, id: &ToolCallId, command: &str) -> Result<Outcome, Halt> {
    let cwd = cwd(turn)?;
    turn.change_call(id, running())?;
    let outcome = shell::run(&cwd, command, |carryover| {
        turn.change_call(id, running().content(vec![carryover.into()]))
    })?;
    let status =
        if outcome.exit_code == Some(0) { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
    let fields = ended(status, format!("{}{}", outcome.stdout, outcome.stderr)).raw_output(json!(outcome));
    turn.change_call(id, fields)?;
    Ok(outcome)
}

/// Leaves a call open, as real agents do after a reject or a cancel.
pub(in crate::mock_agent) fn open_call(turn: &mut Turn<'_>, _: u64) -> Flow {
    let id = announce(turn, "sleep 1")?;
    turn.change_call(&id, running())
}

/// Updates a call that was never announced, as real agents do.
pub(in crate::mock_agent) fn unannounced_call(turn: &mut Turn<'_>, _: u64) -> Flow {
    let id = turn.next_call()?;
    let fields = ended(ToolCallStatus::Completed, "Found by chance.").title("Unannounced");
    turn.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields)))
}

pub(super) fn cwd(turn: &mut Turn<'_>) -> Result<PathBuf, Halt> {
    Ok(turn.state()?.record.cwd.clone())
}

pub(super) fn running() -> ToolCallUpdateFields {
    ToolCallUpdateFields::new().status(ToolCallStatus::InProgress)
}

pub(super) fn ended(status: ToolCallStatus, text: impl Into<String>) -> ToolCallUpdateFields {
    let text: String = text.into();
    ToolCallUpdateFields::new().status(status).content(vec![ToolCallContent::from(text)])
}

//! The word that really edits a file below the working directory: reads it, proposes a diff, asks, writes.

use agent_client_protocol_schema::v1::{
    Diff, ToolCall, ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    ToolKind,
};
use serde_json::json;

use super::tools::{self, README};
use crate::mock_agent::permission::Verdict;
use crate::mock_agent::session::Mode;
use crate::mock_agent::turn::{Flow, Halt, Turn};
use crate::mock_agent::workdir;

pub(in crate::mock_agent) const TOOL: &str = "edit";

pub(in crate::mock_agent) fn edit(turn: &mut Turn<'_>, _: u64) -> Flow {
    let change = propose(turn)?;
    let end = carry_out(turn, &change)?;
    turn.say(&end.tell(change.name))
}

/// A change that appends one line to a file.
pub(super) struct Change {
    pub(super) name: &'static str,
    old: Option<String>,
    new: String,
}

/// The result of an edit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Written,
    Rejected,
    OnlyPlanned,
    Failed,
}

impl End {
    pub(super) fn tell(self, name: &str) -> String {
        match self {
            Self::Written => format!("Done: {name} has one more line at the end."),
            Self::Rejected => format!("Understood, I leave {name} as it is."),
            Self::OnlyPlanned => {
                format!("I am in plan mode, so I edit nothing: I would add a line at the end of {name}.")
            }
            Self::Failed => format!("I could not edit {name}."),
        }
    }
}

/// Reads README.md and makes the change; without a README.md it is a new notes.txt.
pub(super) fn propose(turn: &mut Turn<'_>) -> Result<Change, Halt> {
    let cwd = tools::cwd(turn)?;
    let there = !matches!(workdir::read(&cwd, README), Ok(None));
    let name = if there { README } else { NOTES };
    let old = match there {
        true => tools::read_file(turn, README)?,
        false => workdir::read(&cwd, NOTES).ok().flatten(),
    };
    let mut new = old.clone().unwrap_or_default();
    if !new.is_empty() && !new.ends_with('\n') {
        new.push('\n');
    }
    new.push_str(LINE);
    Ok(Change { name, old, new })
}

/// Asks for permission and writes the change.
pub(super) fn carry_out(turn: &mut Turn<'_>, change: &Change) -> Result<End, Halt> {
    if turn.mode()? == Mode::Plan {
        return Ok(End::OnlyPlanned);
    }
    let id = announce(turn, change)?;
    let fields = describe(turn, change)?.status(ToolCallStatus::Pending);
    match turn.ask(TOOL, ToolCallUpdate::new(id.clone(), fields))? {
        Verdict::Allowed => write(turn, &id, change),
        Verdict::Rejected => {
            turn.change_call(&id, tools::ended(ToolCallStatus::Failed, "Rejected by the user."))?;
            Ok(End::Rejected)
        }
    }
}

/// Sends the bare call first, then its arguments and the diff, as real agents do while they still stream.
fn announce(turn: &mut Turn<'_>, change: &Change) -> Result<ToolCallId, Halt> {
    let id = turn.next_call()?;
    turn.start_call(ToolCall::new(id.clone(), "Edit").name(TOOL).kind(ToolKind::Edit))?;
    let fields = describe(turn, change)?;
    turn.change_call(&id, fields)?;
    Ok(id)
}

fn describe(turn: &mut Turn<'_>, change: &Change) -> Result<ToolCallUpdateFields, Halt> {
    let path = tools::cwd(turn)?.join(change.name);
    let diff = Diff::new(path.clone(), change.new.clone()).old_text(change.old.clone());
    Ok(ToolCallUpdateFields::new()
        .title(format!("Edit {}", change.name))
        .name(TOOL)
        .kind(ToolKind::Edit)
        .content(vec![diff.into()])
        .locations(vec![ToolCallLocation::new(path.clone())])
        .raw_input(json!({ "path": path, "append": LINE })))
}

fn write(turn: &mut Turn<'_>, id: &ToolCallId, change: &Change) -> Result<End, Halt> {
    turn.change_call(id, tools::running())?;
    let cwd = tools::cwd(turn)?;
    // The permission may take an hour: the proposal must still fit the file.
    let unchanged = workdir::read(&cwd, change.name).is_ok_and(|now| now == change.old);
    let written = match unchanged {
        true => workdir::write(&cwd, change.name, &change.new).map_err(|error| error.to_string()),
        false => Err(format!("{} cannot be edited, or was changed meanwhile.", change.name)),
    };
    let (end, fields) = match written {
        Ok(()) => {
            let fields = describe(turn, change)?.status(ToolCallStatus::Completed);
            (End::Written, fields.raw_output(json!({ "written": change.new.len() })))
        }
        Err(problem) => (End::Failed, tools::ended(ToolCallStatus::Failed, problem)),
    };
    turn.change_call(id, fields)?;
    Ok(end)
}

const NOTES: &str = "notes.txt";
const LINE: &str = "One more line, added by the Omniglot mock agent.\n";

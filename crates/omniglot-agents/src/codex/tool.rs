//! The calls of a session that have no result yet (T5).
//!
//! `tool/shape` and `tool/unnamed` map items to calls. Codex announces a call when its arguments are final, so
//! it is ready at once.

pub(crate) mod shape;
pub(crate) mod unnamed;

use std::collections::HashMap;

use omniglot_schema::ContentPart;
use omniglot_timeline::{CallEnd, CallStart, ItemKey, Outcome, ToolResult};

pub(crate) use shape::{Call, Done};

use super::text::Spot;
use crate::contract::{Draft, DropReason, Output};

#[derive(Debug, Default)]
pub(crate) struct Tools {
    /// Calls without their result, by thread and native id.
    open: HashMap<(String, String), Tool>,
    /// How many there were: keys stay unique when a model repeats its ids.
    made: u64,
}

#[derive(Debug)]
struct Tool {
    number: u64,
    call: ItemKey,
    /// The turn that it began in.
    turn: u64,
    name: String,
    server: Option<String>,
    files: Vec<ContentPart>,
    command: Option<Command>,
}

#[derive(Debug)]
struct Command {
    process: Option<String>,
}

/// The facts of a call that its permission request needs.
pub(crate) struct CallFacts {
    pub(crate) call: ItemKey,
    pub(crate) name: String,
    pub(crate) files: Vec<ContentPart>,
}

impl Tools {
    /// Only commands outlive the turn after theirs.
    pub(crate) fn turn_started(&mut self, turn: u64) {
        self.open.retain(|_, tool| tool.command.is_some() || tool.turn + 1 >= turn);
    }

    pub(crate) fn begin(&mut self, spot: &Spot, call: Call, out: &mut Vec<Output>) -> ItemKey {
        self.made += 1;
        let number = self.made;
        let key = ItemKey(format!("call:{number}:{}", spot.id));
        let tool = Tool {
            number,
            call: key.clone(),
            turn: spot.turn.unwrap_or(0),
            name: call.name.clone(),
            server: call.server,
            files: call.files,
            command: call.is_command.then_some(Command { process: call.process }),
        };
        self.open.insert(spot.name(), tool);
        let (native_id, parent) = (spot.native.clone(), spot.parent.clone());
        let begun = call.about.call(call.name, call.arguments);
        out.push(Draft::CallStarted(CallStart { key: key.clone(), native_id, parent, call: begun }).into());
        out.push(Draft::CallReady { key: key.clone(), call: None }.into());
        if call.runs && spot.turn.is_some() {
            out.push(Draft::CallOutput { key: key.clone(), delta: String::new() }.into());
        }
        key
    }

    /// More output. That of a turn which has ended comes whole, at the end of the command.
    pub(crate) fn output(&self, spot: &Spot, delta: String, out: &mut Vec<Output>) {
        match self.open.get(&spot.name()).filter(|tool| spot.turn == Some(tool.turn)) {
            Some(tool) => out.push(Draft::CallOutput { key: tool.call.clone(), delta }.into()),
            None => out.push(superseded()),
        }
    }

    /// The call has its result, perhaps long after its turn.
    pub(crate) fn finish(&mut self, spot: &Spot, done: Done, out: &mut Vec<Output>) {
        let Some(tool) = self.open.remove(&spot.name()) else { return };
        let Done { outcome, output, exit_code, duration_ms, parts } = done;
        let result = ToolResult {
            output,
            is_error: Some(outcome == Outcome::Failed),
            exit_code,
            duration_ms,
            parts,
            ..ToolResult::default()
        };
        out.push(Draft::CallEnded(CallEnd { key: tool.call, outcome, result }).into());
    }

    /// Tells of the commands of this turn that run that they go on; their ends are told when they come.
    pub(crate) fn go_on(&self, turn: u64, out: &mut Vec<Output>) {
        let runs = |tool: &&Tool| tool.command.is_some() && tool.turn == turn;
        let mut running: Vec<&Tool> = self.open.values().filter(runs).collect();
        running.sort_by_key(|tool| tool.number);
        for tool in running {
            let result = ToolResult { is_error: Some(false), goes_on: true, ..ToolResult::default() };
            let end = CallEnd { key: tool.call.clone(), outcome: Outcome::Completed, result };
            out.push(Draft::CallEnded(end).into());
        }
    }

    /// The call that an approval is about.
    pub(crate) fn asked(&self, thread: &str, id: &str) -> Option<CallFacts> {
        self.open.get(&(thread.to_owned(), id.to_owned())).map(Tool::asked)
    }

    /// The newest open call of an MCP server: its approval does not name the call.
    pub(crate) fn asked_by_server(&self, thread: Option<&str>, server: &str) -> Option<CallFacts> {
        let of_server = self.open.iter().filter(|((of, _), tool)| {
            tool.server.as_deref() == Some(server) && thread.is_none_or(|thread| thread == of)
        });
        of_server.max_by_key(|(_, tool)| tool.number).map(|(_, tool)| tool.asked())
    }

    /// The native ids of commands that began before this turn: they were meant to outlive their own.
    pub(crate) fn older_commands(&self, turn: u64) -> Vec<String> {
        let is_older = |tool: &Tool| tool.command.is_some() && (1..turn).contains(&tool.turn);
        let older = self.open.iter().filter(|(_, tool)| is_older(tool));
        let mut ids: Vec<String> = older.map(|((_, id), _)| id.clone()).collect();
        ids.sort();
        ids
    }

    /// The commands of this turn that run: their thread, and their number if it is known.
    pub(crate) fn running_commands(&self, turn: u64) -> Vec<(String, Option<String>)> {
        let mut commands: Vec<(u64, String, Option<String>)> = self
            .open
            .iter()
            .filter(|(_, tool)| tool.turn == turn)
            .filter_map(|((thread, _), tool)| {
                let command = tool.command.as_ref()?;
                Some((tool.number, thread.clone(), command.process.clone()))
            })
            .collect();
        commands.sort();
        commands.into_iter().map(|(_, thread, process)| (thread, process)).collect()
    }
}

impl Tool {
    fn asked(&self) -> CallFacts {
        CallFacts { call: self.call.clone(), name: self.name.clone(), files: self.files.clone() }
    }
}

fn superseded() -> Output {
    Output::dropped(DropReason::Superseded)
}

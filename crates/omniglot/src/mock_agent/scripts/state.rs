//! Words that report state: plan, commands, mode, title, usage. None of them emits a text.

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandsUpdate, CompactionStatus, CompactionUpdate, ContentBlock,
    CurrentModeUpdate, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionInfoUpdate, SessionUpdate,
};

use crate::mock_agent::session::Mode;
use crate::mock_agent::turn::{Flow, Turn};

pub(in crate::mock_agent) fn plan(turn: &mut Turn<'_>, _: u64) -> Flow {
    let goals = ["Look at the files", "Make the change", "Check the result"];
    show_plan(turn, goals, Progress::Drafted)?;
    for done in 0..goals.len() {
        show_plan(turn, goals, Progress::Done(done))?;
    }
    show_plan(turn, goals, Progress::Done(goals.len()))
}

/// The progress of a plan.
#[derive(Clone, Copy)]
pub(super) enum Progress {
    Drafted,
    /// This many entries are completed, and the next one is in progress.
    Done(usize),
}

pub(super) fn show_plan<const N: usize>(turn: &mut Turn<'_>, goals: [&str; N], progress: Progress) -> Flow {
    let status = |index: usize| match progress {
        Progress::Done(done) if index < done => PlanEntryStatus::Completed,
        Progress::Done(done) if index == done => PlanEntryStatus::InProgress,
        Progress::Done(_) | Progress::Drafted => PlanEntryStatus::Pending,
    };
    let entries = goals
        .iter()
        .enumerate()
        .map(|(index, goal)| PlanEntry::new(*goal, PlanEntryPriority::Medium, status(index)));
    turn.update(SessionUpdate::Plan(Plan::new(entries.collect())))
}

pub(in crate::mock_agent) fn commands(turn: &mut Turn<'_>, _: u64) -> Flow {
    let commands = COMMANDS.iter().map(|(name, about)| AvailableCommand::new(*name, *about));
    let update = AvailableCommandsUpdate::new(commands.collect());
    turn.update(SessionUpdate::AvailableCommandsUpdate(update))
}

pub(in crate::mock_agent) fn many_commands(turn: &mut Turn<'_>, count: u64) -> Flow {
    let command = |n| AvailableCommand::new(format!("command-{n}"), "Does nothing, and does it well.");
    let update = AvailableCommandsUpdate::new((0..count).map(command).collect());
    turn.update(SessionUpdate::AvailableCommandsUpdate(update))
}

pub(in crate::mock_agent) fn mode(turn: &mut Turn<'_>, _: u64) -> Flow {
    let record = &mut turn.state()?.record;
    record.mode = if record.mode == Mode::AcceptEdits { Mode::Default } else { Mode::AcceptEdits };
    let id = record.mode.id();
    turn.update(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(id)))
}

pub(in crate::mock_agent) fn title(turn: &mut Turn<'_>, _: u64) -> Flow {
    turn.state()?.record.title = Some(TITLE.to_owned());
    turn.update(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(TITLE)))
}

pub(in crate::mock_agent) fn usage(turn: &mut Turn<'_>, _: u64) -> Flow {
    let session = turn.agent.session(&turn.session);
    let Some(fill) = session.map(|session| turn.tally.fill(&session.record)) else { return Ok(()) };
    turn.update(SessionUpdate::UsageUpdate(fill))
}

/// Drops most of the context, and reports the rest.
pub(in crate::mock_agent) fn compact(turn: &mut Turn<'_>, _: u64) -> Flow {
    let record = &mut turn.state()?.record;
    record.messages += 1;
    let id = format!("compaction-{}", record.messages);
    let summary = format!("{} prompts so far, in short.", record.prompts().count());
    record.context /= 10;
    let update = |status| CompactionUpdate::new(id.clone(), status);
    turn.update(SessionUpdate::CompactionUpdate(update(CompactionStatus::InProgress)))?;
    let done = update(CompactionStatus::Completed).summary(vec![ContentBlock::from(summary)]);
    turn.update(SessionUpdate::CompactionUpdate(done))?;
    usage(turn, 0)
}

/// Slash commands and their descriptions; each is also a word.
pub(in crate::mock_agent) const COMMANDS: &[(&str, &str)] = &[
    ("demo", "Play the short tour"),
    ("compact", "Shorten what I remember"),
    ("plan", "Show a plan and work through it"),
    ("recall", "Tell what I remember of earlier prompts"),
];

const TITLE: &str = "A talk with the mock agent";

//! The tour that a prompt without any word gets: a bit of everything, made for
//! "Read README.md and add a line at the end".

use std::time::Duration;

use super::edit::{self, Change, End};
use super::state::{self, Progress, show_plan};
use super::tools;
use crate::mock_agent::turn::{Flow, Turn};

/// Plays the demo at a pace for people to watch.
pub(in crate::mock_agent) fn paced(turn: &mut Turn<'_>) -> Flow {
    turn.pace = PACE;
    unpaced(turn, 0)
}

pub(in crate::mock_agent) fn unpaced(turn: &mut Turn<'_>, _: u64) -> Flow {
    turn.think(
        "I should read README.md before I touch it. Then one line at the end, and a look at the result.",
    )?;
    show_plan(turn, PLAN, Progress::Drafted)?;
    turn.say("I will read the file first.")?;
    show_plan(turn, PLAN, Progress::Done(0))?;
    let change = edit::propose(turn)?;
    show_plan(turn, PLAN, Progress::Done(1))?;
    turn.say(&format!("Now I add one line at the end of {}.", change.name))?;
    let end = edit::carry_out(turn, &change)?;
    if end != End::Written {
        turn.say(&end.tell(change.name))?;
    }
    show_plan(turn, PLAN, Progress::Done(2))?;
    look_back(turn, &change, end)?;
    show_plan(turn, PLAN, Progress::Done(PLAN.len()))?;
    turn.say(&closing(&change, end))?;
    state::usage(turn, 0)
}

fn look_back(turn: &mut Turn<'_>, change: &Change, end: End) -> Flow {
    let command = match end {
        End::Written => format!("tail -n 1 {}", change.name),
        End::Rejected | End::OnlyPlanned | End::Failed => "echo nothing was changed".to_owned(),
    };
    tools::command(turn, &command).map(drop)
}

fn closing(change: &Change, end: End) -> String {
    let result = match end {
        End::Written => format!("Done: {} has one more line at the end.", change.name),
        End::Rejected | End::OnlyPlanned | End::Failed => format!("Done: {} is unchanged.", change.name),
    };
    format!(
        "{result} I am the mock agent: no model, no key, but a real process that speaks ACP like any other. \
         `omniglot mock-agent --list` shows what else I can play."
    )
}

const PLAN: [&str; 3] = ["Read README.md", "Add a line at the end", "Check the result"];
const PACE: Duration = Duration::from_millis(20);

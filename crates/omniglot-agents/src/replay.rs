//! Recorded traffic through a translator and the Timeline, as if the agent were alive.
//!
//! Where the recording comes from, and what is done with the transcript, is left to the caller. The
//! commands that a person gave are not in a recording: what was written to the agent is, and drafts
//! are made from that.

pub mod capture;
pub mod show;

use jiff::{SignedDuration, Timestamp};
use omniglot_schema::{ResolvedBy, StopReason, UniversalEvent};
use omniglot_timeline::{Emitted, Identity, SessionEnd, Stamp, Timeline, TurnEnd};

pub use capture::{CaptureError, Ending, Row, Step};

use crate::contract::{Input, LineFault, Output, Translator};

#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The translator broke its contract: a frame vanished.
    #[error("line {line}: the translator said nothing about this frame")]
    Silent { line: usize },
}

/// What a translator makes of a recording: the outputs of each row, in order.
pub fn outputs(
    translator: &mut dyn Translator,
    capture: &str,
) -> Result<Vec<(Row, Vec<Output>)>, ReplayError> {
    let mut steps = Vec::new();
    for row in capture::read(capture)? {
        let mut out = Vec::new();
        step(translator, &row.step, &mut out);
        if out.is_empty() && is_from_agent(&row.step) {
            return Err(ReplayError::Silent { line: row.line });
        }
        steps.push((row, out));
    }
    Ok(steps)
}

fn step(translator: &mut dyn Translator, step: &Step, out: &mut Vec<Output>) {
    let input = match step {
        Step::Started { argv } => Input::Started { argv },
        Step::Sent(frame) => Input::Sent(frame),
        Step::Frame(frame) => Input::Frame(frame),
        Step::Garbage(line) => Input::Garbage { line: line.as_bytes(), fault: LineFault::NotJson },
        Step::Exited(Ending { exit, stderr, .. }) => {
            Input::Exited { code: exit.code, signal: exit.signal, stderr }
        }
        Step::Remark => return,
    };
    translator.handle(input, out);
}

fn is_from_agent(step: &Step) -> bool {
    match step {
        Step::Frame(_) | Step::Garbage(_) => true,
        Step::Started { .. } | Step::Sent(_) | Step::Exited(_) | Step::Remark => false,
    }
}

/// The transcript of a recording: the events that a client would have seen.
pub fn events(
    translator: &mut dyn Translator,
    capture: &str,
    identity: Identity,
) -> Result<Vec<UniversalEvent>, ReplayError> {
    let mut timeline = Timeline::new(identity, "r");
    let mut emitted = Vec::new();
    for (row, outputs) in outputs(translator, capture)? {
        let now = START + SignedDuration::from_millis(i64::try_from(row.time).unwrap_or(i64::MAX / 2));
        let stamp = if is_from_agent(&row.step) {
            Stamp::agent(now, u64::try_from(row.line).unwrap_or(u64::MAX))
        } else {
            Stamp::daemon(now)
        };
        for output in outputs {
            apply(&mut timeline, output, stamp, &mut emitted);
        }
        if let Step::Exited(ending) = row.step {
            exited(&mut timeline, ending, stamp, &mut emitted);
        }
    }
    Ok(emitted.into_iter().map(|emitted| emitted.event).collect())
}

fn apply(timeline: &mut Timeline, output: Output, stamp: Stamp, emitted: &mut Vec<Emitted>) {
    match output {
        Output::Draft(draft) => timeline.apply(draft, stamp, emitted),
        Output::Unparsed(unparsed) => timeline.unparsed(unparsed, stamp, emitted),
        Output::Dropped { reason } => timeline.dropped(reason),
        // In a recording the answer is already there, and whoever refused was asked again or not.
        Output::Send(_) | Output::Refused(_) | Output::Configured(_) => {}
    }
}

/// What the runtime does about the end of a process.
fn exited(timeline: &mut Timeline, ending: Ending, stamp: Stamp, emitted: &mut Vec<Emitted>) {
    let Ending { exit, expected, stderr } = ending;
    if expected {
        timeline.close_turn(TurnEnd::new(StopReason::Cancelled), ResolvedBy::Cancel, stamp, emitted);
        return timeline.forget_run();
    }
    let message = format!("the agent's process {exit}");
    let crash = SessionEnd::Crashed { message, exit_code: exit.code, stderr: Some(stderr) };
    timeline.end_session(crash, stamp, emitted);
}

/// Recordings count from zero; any fixed day serves.
const START: Timestamp = Timestamp::constant(1_767_225_600, 0);

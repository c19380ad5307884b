//! Recorded traffic through a translator and the Timeline, as if the agent were alive.
//!
//! Where the recording comes from, and what is done with the transcript, is left to the caller. The
//! commands that a person gave are not in a recording: what was written to the agent is, and drafts
//! are made from that.

pub mod capture;
pub mod show;
mod split;

use jiff::{SignedDuration, Timestamp};
use omniglot_schema::{ErrorCode, ResolvedBy, SessionId, StatePatch, StopReason, UniversalEvent};
use omniglot_timeline::{Emitted, Failure, Identity, SessionEnd, Stamp, Timeline, TurnEnd};

pub use capture::{CaptureError, Ending, Row, Step};
pub use split::sessions;

use crate::adapter::{Adapter, Lifetime};
use crate::contract::{
    Carryover, CommandAnswer, Draft, Input, LineFault, Output, Refusal, RefusalKind, Translator,
};
use crate::history::{Source, Told};

#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The translator broke its contract: a frame vanished.
    #[error("the translator said nothing about this frame")]
    Silent { line: usize },
    #[error("{message}: this recording cannot be converted")]
    Protocol { line: usize, message: String },
}

impl ReplayError {
    /// Where in the recording, counted from 1.
    pub fn line(&self) -> usize {
        match self {
            Self::Capture(error) => error.line(),
            Self::Silent { line } | Self::Protocol { line, .. } => *line,
        }
    }
}

fn heard(
    translator: &mut dyn Translator,
    row: &Row,
    carryover: &Carryover,
) -> Result<Vec<Output>, ReplayError> {
    let mut out = Vec::new();
    step(translator, &row.step, carryover, &mut out);
    if out.is_empty() && is_from_agent(&row.step) {
        return Err(ReplayError::Silent { line: row.line });
    }
    match out.iter().find_map(other_protocol) {
        Some(message) => Err(ReplayError::Protocol { line: row.line, message }),
        None => Ok(out),
    }
}

fn other_protocol(output: &Output) -> Option<String> {
    match output {
        Output::Answer(CommandAnswer::Refused(Refusal { kind: RefusalKind::Protocol, message, .. })) => {
            Some(message.clone())
        }
        Output::Answer(_) | Output::Stream(_) | Output::Transport(_) => None,
    }
}

fn step(translator: &mut dyn Translator, step: &Step, carryover: &Carryover, out: &mut Vec<Output>) {
    let input = match step {
        Step::Started { argv } => Input::Started { argv, carryover },
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

/// The transcript of a recording of this agent: the events that a client would have seen.
pub fn events(
    agent: &Adapter,
    capture: &str,
    identity: Identity,
) -> Result<Vec<UniversalEvent>, ReplayError> {
    events_of(agent, capture, Timeline::new(identity, "r"))
}

/// The transcript of a recording of this agent, as the session `id`. The same input gives the same bytes:
/// ids hold that of the session, and the time is the recording's own, on a day of no meaning. A file in which
/// the agent itself keeps a session does as well, and tells the true time.
pub fn convert(agent: &Adapter, id: SessionId, capture: &str) -> Result<Vec<UniversalEvent>, ReplayError> {
    let seed = id.to_string();
    let identity = Identity { session_id: id, agent: agent.id.to_owned() };
    if let Some(history) = agent.history.filter(|files| (files.recognises)(capture)) {
        return Ok(events_of_history((history.read)(capture), Timeline::new(identity, seed)));
    }
    events_of(agent, capture, Timeline::new(identity, seed))
}

fn events_of(
    agent: &Adapter,
    capture: &str,
    mut timeline: Timeline,
) -> Result<Vec<UniversalEvent>, ReplayError> {
    let mut translator = (agent.translator)();
    let mut emitted = Vec::new();
    let mut last = START;
    for row in capture::read(capture)? {
        let outputs = heard(&mut *translator, &row, &Carryover::of(&timeline.fold().state))?;
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
            exited(agent.lifetime, &mut timeline, ending, stamp, &mut emitted);
        }
        last = now;
    }
    let cut = Failure::new(ErrorCode::Aborted, "the recording ends in the middle of this turn");
    timeline.close_turn(TurnEnd::failed(cut), ResolvedBy::TurnEnd, Stamp::daemon(last), &mut emitted);
    Ok(emitted.into_iter().map(|emitted| emitted.event).collect())
}

fn events_of_history(told: Vec<Told>, mut timeline: Timeline) -> Vec<UniversalEvent> {
    let mut emitted = Vec::new();
    for Told { line, at, source, outputs } in told {
        let stamp = match source {
            Source::Agent => Stamp::agent(at, u64::try_from(line).unwrap_or(u64::MAX)),
            Source::Us => Stamp::daemon(at),
        };
        for output in outputs {
            apply(&mut timeline, output, stamp, &mut emitted);
        }
    }
    emitted.into_iter().map(|emitted| emitted.event).collect()
}

fn apply(timeline: &mut Timeline, output: Output, stamp: Stamp, emitted: &mut Vec<Emitted>) {
    match output {
        Output::Stream(output) => output.apply(timeline, stamp, emitted),
        // In a recording the answer is already there, and whoever refused was asked again or not.
        Output::Transport(_) | Output::Answer(_) => {}
    }
}

/// Does what the runtime does at the end of a process.
fn exited(
    lifetime: Lifetime,
    timeline: &mut Timeline,
    ending: Ending,
    stamp: Stamp,
    emitted: &mut Vec<Emitted>,
) {
    let Ending { exit, expected, stderr } = ending;
    if timeline.fold().state.connection.is_some() {
        let gone = StatePatch { connection: Some(None), ..StatePatch::default() };
        timeline.apply(Draft::State(Box::new(gone)), stamp, emitted);
    }
    let message = format!("the agent's process {exit}");
    if let Lifetime::Turn = lifetime {
        let crash = Failure::crashed(message, exit.code, Some(&stderr));
        timeline.close_turn(TurnEnd::failed(crash), ResolvedBy::Crash, stamp, emitted);
        return timeline.forget_run(stamp, emitted);
    }
    // Not every recording tells that stdin was closed; an agent that rests and then leaves was asked to, and
    // whoever sent SIGTERM asked.
    let rests = timeline.fold().open_turn.is_none();
    if expected || (rests && (exit.code == Some(0) || exit.signal == Some(15))) {
        timeline.close_turn(TurnEnd::new(StopReason::Cancelled), ResolvedBy::Cancel, stamp, emitted);
        return timeline.forget_run(stamp, emitted);
    }
    let crash = SessionEnd::Crashed { message, exit_code: exit.code, stderr: Some(stderr) };
    timeline.end_session(crash, stamp, emitted);
}

/// Recordings count from zero; any fixed day serves.
const START: Timestamp = Timestamp::constant(1_767_225_600, 0);

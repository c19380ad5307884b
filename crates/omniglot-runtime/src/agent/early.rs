//! Output of an agent before its session is open, kept within bounds in lines and bytes.
//!
//! Until then nothing is written to the log, so everything that is kept is kept in memory, and the agent may
//! be any program at all. Reading goes on over the bounds, since an agent whose pipe is full never answers;
//! what is over them is dropped and counted, and the count is told with the outcome of the start.

use std::fmt;

use bytes::Bytes;
use omniglot_agents::{Draft, DropReason, StreamOutput};
use omniglot_schema::{ErrorCode, EventSource, StderrOutput};
use omniglot_timeline::{Failure, Secrets};

use crate::agent::Translated;
use crate::metrics::AgentMetrics;
use crate::process::lines::Line;

/// Messages of the agent that its adapter knows. An agent that loads a session may tell much.
const UNDERSTOOD: Bounds = Bounds { lines: 1024, bytes: 8 * 1024 * 1024 };

/// Messages that we send. They answer what the agent says, so they are bounded like it.
const SENT: Bounds = UNDERSTOOD;

/// Lines that are not of the agent's protocol: a banner, or a program that is no agent. Bounded by themselves,
/// so that they never take the room of what is understood.
const UNPARSED: Bounds = Bounds { lines: 64, bytes: 256 * 1024 };

/// Lines of a shared server that are for nobody yet.
const UNCLAIMED: Bounds = Bounds { lines: 32, bytes: 256 * 1024 };

#[derive(Debug, Clone, Copy)]
struct Bounds {
    lines: usize,
    bytes: usize,
}

/// How much of some bounds is used.
#[derive(Debug, Default)]
struct Usage {
    lines: usize,
    bytes: usize,
}

impl Usage {
    /// Whether there is room for one more line of that size; if so, it is taken.
    fn take(&mut self, bounds: Bounds, bytes: usize) -> bool {
        let fits = self.lines < bounds.lines && self.bytes.saturating_add(bytes) <= bounds.bytes;
        if fits {
            self.lines += 1;
            self.bytes += bytes;
        }
        fits
    }
}

/// Output that was read and not kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Discarded {
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

impl Discarded {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.lines += 1;
        self.bytes += bytes as u64;
    }

    pub(crate) fn is_empty(self) -> bool {
        self.lines == 0
    }

    /// Tells a person that the agent wrote more than it should have.
    pub(crate) fn hint(self) -> Option<String> {
        let hint = || {
            format!(
                "discarded {self} of its output; see that the command starts the agent in its protocol mode"
            )
        };
        (!self.is_empty()).then(hint)
    }

    /// Adds what another attempt to start has discarded.
    fn merge(&mut self, other: Self) {
        self.lines += other.lines;
        self.bytes += other.bytes;
    }
}

impl fmt::Display for Discarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = if self.lines == 1 { "line" } else { "lines" };
        write!(f, "{} {lines} ({} bytes)", self.lines, self.bytes)
    }
}

/// The messages of a start, in order, as far as they are kept.
#[derive(Debug, Default)]
pub(crate) struct EarlyOutput {
    pub(crate) translated: Vec<Translated>,
    /// Messages of a replayed history, which the log has already: they are counted only.
    pub(crate) replayed: u64,
    pub(crate) discarded: Discarded,
    /// The stderr of an agent that refused, until then.
    pub(crate) stderr: Option<StderrOutput>,
    /// The values that the session must not show.
    pub(crate) secrets: Option<Secrets>,
    understood: Usage,
    unparsed: Usage,
    sent: Usage,
}

impl EarlyOutput {
    /// Counts what the messages carried.
    pub(crate) fn count(&self, metrics: &AgentMetrics) {
        metrics.dropped(DropReason::Replay, self.replayed);
        metrics.heard(self.translated.iter().flat_map(|translated| &translated.stream));
    }

    /// Keeps a message if there is room for it. The one that opens the session is always kept.
    pub(crate) fn push(&mut self, translated: Translated) {
        if translated.is_replay() {
            self.replayed += translated.stream.len() as u64;
            return;
        }
        let bytes = translated.size();
        let is_agents = translated.source == EventSource::Agent;
        let fits = match (is_agents, translated.is_understood()) {
            (false, _) => self.sent.take(SENT, bytes),
            (true, true) => self.understood.take(UNDERSTOOD, bytes),
            (true, false) => self.unparsed.take(UNPARSED, bytes),
        };
        if fits || translated.opens_session() {
            self.translated.push(translated.detached());
        } else if is_agents {
            self.discarded.add(translated.frame.as_ref().map_or(0, Bytes::len));
        }
    }

    /// Goes on with another attempt to start; the refusal of the first one is not told.
    pub(crate) fn without_refusals(mut self) -> Self {
        self.translated = self.translated.into_iter().map(Translated::without_refusal).collect();
        self
    }

    /// Appends what a second attempt has kept; both are bounded.
    pub(crate) fn append(&mut self, mut later: Self) {
        self.translated.append(&mut later.translated);
        self.secrets = later.secrets.take().or(self.secrets.take());
        self.replayed += later.replayed;
        self.discarded.merge(later.discarded);
        self.stderr = later.stderr.or(self.stderr.take());
    }

    /// The same, and a warning in the session if anything is missing: the session opened all the same, so no
    /// error tells it.
    pub(crate) fn with_warning(mut self) -> Self {
        if !self.discarded.is_empty() {
            let discarded = self.discarded;
            let message = format!("discarded {discarded} that the agent wrote before the session was open");
            // An error outside a turn is a warning.
            let warning = Draft::Error(Failure::new(ErrorCode::Unknown, message));
            let (stream, answers) = (vec![StreamOutput::Draft(warning)], vec![]);
            self.translated.push(Translated { frame: None, source: EventSource::Daemon, stream, answers });
        }
        self
    }
}

impl Translated {
    /// Whether all of it was told before, in a history that the agent replays.
    fn is_replay(&self) -> bool {
        let replay = |output: &StreamOutput| matches!(output, StreamOutput::Dropped(DropReason::Replay));
        !self.stream.is_empty() && self.stream.iter().all(replay) && self.answers.is_empty()
    }

    pub(crate) fn opens_session(&self) -> bool {
        let opens = |output: &StreamOutput| matches!(output, StreamOutput::Draft(Draft::SessionStarted(_)));
        self.stream.iter().any(opens)
    }

    fn size(&self) -> usize {
        self.frame.as_ref().map_or(0, Bytes::len) + self.stream.len() * size_of::<StreamOutput>()
    }

    /// The same with a frame of its own: a slice would keep the whole buffer that was read.
    fn detached(mut self) -> Self {
        self.frame = self.frame.map(|frame| Bytes::copy_from_slice(&frame));
        self
    }
}

/// Lines of a shared server that are for nobody yet, kept for its first session.
#[derive(Debug, Default)]
pub(crate) struct EarlyLines {
    lines: Vec<Line>,
    usage: Usage,
    pub(crate) discarded: Discarded,
}

impl EarlyLines {
    pub(crate) fn push(&mut self, line: &Line) {
        if self.usage.take(UNCLAIMED, line.size()) {
            self.lines.push(line.detached());
        } else {
            self.discarded.add(line.size());
        }
    }

    /// Hands the lines over, and begins anew.
    pub(crate) fn take(&mut self) -> Vec<Line> {
        std::mem::take(self).lines
    }
}

#[cfg(test)]
mod tests {
    use omniglot_agents::Unparsed;
    use omniglot_timeline::SessionStarted;

    use super::*;

    fn said(frame: &'static [u8], output: StreamOutput) -> Translated {
        Translated {
            frame: Some(Bytes::from_static(frame)),
            source: EventSource::Agent,
            stream: vec![output],
            answers: vec![],
        }
    }

    fn nonsense(frame: &'static [u8]) -> Translated {
        let unparsed = Unparsed { error: "no JSON".into(), location: "stdout".into(), raw_hash: None };
        said(frame, StreamOutput::Unparsed(unparsed))
    }

    fn understood() -> Translated {
        said(b"{}", StreamOutput::Dropped(DropReason::Internal))
    }

    #[test]
    fn what_is_kept_of_a_flood_is_bounded_in_lines_and_the_rest_is_counted() {
        let mut early = EarlyOutput::default();
        for _ in 0..100_000 {
            early.push(nonsense(b"y"));
            early.push(understood());
        }
        let kept = UNPARSED.lines + UNDERSTOOD.lines;
        assert_eq!(early.translated.len(), kept);
        assert_eq!(early.discarded.lines, 200_000 - kept as u64);
        let bytes = 300_000 - (UNPARSED.lines + 2 * UNDERSTOOD.lines) as u64;
        assert_eq!(early.discarded.bytes, bytes);
    }

    #[test]
    fn what_is_kept_of_long_lines_is_bounded_in_bytes() {
        static LONG: [u8; 100 * 1024] = [b'x'; 100 * 1024];
        let mut early = EarlyOutput::default();
        (0..10).for_each(|_| early.push(nonsense(&LONG)));
        assert_eq!((early.translated.len(), early.discarded.lines), (2, 8));
        let mut lines = EarlyLines::default();
        (0..10).for_each(|_| lines.push(&Line::Whole(Bytes::from_static(&LONG))));
        assert_eq!((lines.discarded.lines, lines.take().len()), (8, 2));
    }

    #[test]
    fn nonsense_leaves_room_for_what_is_understood_and_the_opening_is_always_kept() {
        let mut early = EarlyOutput::default();
        (0..1000).for_each(|_| early.push(nonsense(b"welcome")));
        (0..UNDERSTOOD.lines).for_each(|_| early.push(understood()));
        assert_eq!(early.translated.len(), UNPARSED.lines + UNDERSTOOD.lines);
        early.push(understood());
        early.push(said(b"{}", StreamOutput::Draft(Draft::SessionStarted(SessionStarted::default()))));
        assert_eq!(early.translated.len(), UNPARSED.lines + UNDERSTOOD.lines + 1);
        assert!(early.translated.last().is_some_and(Translated::opens_session));
    }

    #[test]
    fn an_answer_that_only_had_us_send_the_next_request_is_understood() {
        let translated = Translated { stream: vec![], ..understood() };
        assert!(translated.is_understood());
        assert!(!Translated { source: EventSource::Daemon, ..translated }.is_understood());
    }

    #[test]
    fn a_replayed_history_is_counted_however_long_it_is_and_nothing_is_missing() {
        let mut early = EarlyOutput::default();
        for _ in 0..50_000 {
            early.push(said(b"{}", StreamOutput::Dropped(DropReason::Replay)));
        }
        assert_eq!((early.replayed, early.translated.len()), (50_000, 0));
        assert!(early.with_warning().translated.is_empty());
    }
}

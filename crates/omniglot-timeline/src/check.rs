//! The stream checker: says where a session's events break the rules of the stream.
//!
//! It knows nothing of the Timeline that keeps those rules, so that the two can be held against each
//! other: every session that a test produces goes through here. It reads typed events only; that an
//! event has the right fields is a matter of the types and of the JSON Schema.
//!
//! One file per group of rules: `check/session.rs` (envelope and session), `check/turns.rs`,
//! `check/items.rs`, `check/requests.rs`.

mod items;
mod requests;
mod session;
#[cfg(test)]
mod tests;
mod turns;

use std::fmt;

use indexmap::IndexMap;
use omniglot_schema::{SessionId, UniversalEvent};

use self::session::Session;

/// The deviations that a check accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allow {
    /// The stream was cut while a turn ran.
    pub open_turn: bool,
    /// The agent spoke nonsense on purpose.
    pub unparsed: bool,
}

/// Checks whole streams, each from sequence 1. Events of several sessions may be mixed; each session
/// is judged on its own.
#[derive(Debug, Default)]
pub struct Checker {
    sessions: IndexMap<SessionId, Session>,
    events: usize,
}

impl Checker {
    pub fn event(&mut self, event: &UniversalEvent) {
        self.events += 1;
        self.sessions.entry(event.session_id.clone()).or_default().event(event);
    }

    pub fn finish(self, allow: Allow) -> Report {
        let mut report = Report { events: self.events, ..Report::default() };
        for mut session in self.sessions.into_values() {
            session.finish(allow);
            report.items += session.items.count();
            report.turns += session.turns.count;
            report.unparsed += session.unparsed;
            report.violations.append(&mut session.violations);
        }
        report
    }
}

/// Checks `events` as they stand.
pub fn check<'a>(events: impl IntoIterator<Item = &'a UniversalEvent>, allow: Allow) -> Report {
    let mut checker = Checker::default();
    events.into_iter().for_each(|event| checker.event(event));
    checker.finish(allow)
}

/// The counts and the violations that a check has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub violations: Vec<Violation>,
    pub events: usize,
    pub items: usize,
    pub turns: usize,
    pub unparsed: usize,
}

impl Report {
    pub fn is_lawful(&self) -> bool {
        self.violations.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for violation in &self.violations {
            writeln!(f, "{violation}")?;
        }
        let Self { events, items, turns, unparsed, .. } = self;
        write!(f, "events={events} items={items} turns={turns} unparsed={unparsed} ")?;
        write!(f, "violations={}", self.violations.len())
    }
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub code: Code,
    /// The event that shows it.
    pub sequence: u64,
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<22} #{:<5} {}", self.code.as_str(), self.sequence, self.text)
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Which rule is broken.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[$doc])* $variant,)*
        }

        impl Code {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

codes! {
    /// Sequences are dense from 1.
    Sequence = "sequence",
    /// An event id is used once.
    EventId = "event_id",
    /// Every id of ours begins with its prefix.
    IdPrefix = "id_prefix",
    /// An event of the agent is not synthetic; one that the daemon made is, and `agent.unparsed` always.
    Synthetic = "synthetic",
    /// Time never goes backwards.
    Time = "time",

    /// The events that a fork has copied stand between its first event and its own.
    Copied = "copied",

    /// A stream begins with `session.started`.
    SessionFirst = "session_first",
    /// Only `session.started` and `session.updated` follow the end of a session.
    SessionClosed = "session_closed",
    /// Starts and ends of a session alternate.
    SessionAlternation = "session_alternation",
    /// Every later start says that, and how, the session goes on.
    ResumedFlag = "resumed_flag",
    /// An agent that has forgotten is never resumed silently.
    MemoryLost = "memory_lost",
    /// Reason, cause and details of an end fit together.
    SessionEnded = "session_ended",
    /// `session.updated` changes something.
    StateEmpty = "state_empty",
    /// The agent was not understood.
    Unparsed = "unparsed",
    /// `raw_hash` is a sha256 in hex.
    RawHash = "raw_hash",

    /// Starts and ends of turns alternate.
    TurnAlternation = "turn_alternation",
    /// A turn's id is its own and the same at both ends.
    TurnId = "turn_id",
    /// No turn outlives its session or the stream.
    TurnOpen = "turn_open",
    /// `phase` agrees with the type of the event.
    Phase = "phase",
    /// The user's item follows the start of the user's turn.
    UserItem = "user_item",
    /// Usage adds up.
    Usage = "usage",
    /// Cost is a number that can be paid.
    Cost = "cost",
    /// A turn that ends with `error` has one.
    ErrorMissing = "error_missing",
    /// Any other turn has none, and none has two.
    ErrorExtra = "error_extra",
    ErrorOutsideTurn = "error_outside_turn",
    /// Nothing but state stands between `error` and `turn.ended`.
    ErrorNotLast = "error_not_last",
    /// An error has a code and a message.
    ErrorData = "error_data",

    /// The status of an item fits the event that carries it.
    ItemStatus = "item_status",
    ItemStartedTwice = "item_started_twice",
    ItemCompletedTwice = "item_completed_twice",
    CompletedBeforeStart = "completed_before_start",
    /// No item outlives its turn; late text that comes between two turns ends before the next begins.
    ItemOpen = "item_open",
    /// An item of a person, the model or a tool belongs to a turn.
    ItemOutsideTurn = "item_outside_turn",
    ItemKind = "item_kind",
    /// The role fits the kind and never changes.
    Role = "role",
    /// The parent is an earlier item and never changes.
    Parent = "parent",
    /// The content fits the kind.
    ItemContent = "item_content",
    /// A status item has a label of the closed list.
    StatusLabel = "status_label",
    ReasoningMixed = "reasoning_mixed",
    DeltaBeforeStart = "delta_before_start",
    DeltaAfterEnd = "delta_after_end",
    /// The part that a delta extends fits the kind of its item.
    DeltaPartType = "delta_part_type",
    /// The deltas of a message are its text.
    DeltaText = "delta_text",
    /// The arguments of a call are JSON.
    Arguments = "arguments",
    /// The bytes of an image are a blob, never in the stream.
    InlineImage = "inline_image",
    /// A call id names one call, and a result names a known one.
    CallId = "call_id",
    ResultTwice = "result_twice",
    CallWithoutResult = "call_without_result",
    /// A call is complete before its result starts.
    ResultBeforeCall = "result_before_call",

    /// The status of a request fits the event that carries it.
    RequestStatus = "request_status",
    RequestTwice = "request_twice",
    RequestUnknown = "request_unknown",
    RequestOutsideTurn = "request_outside_turn",
    /// No request outlives its turn.
    RequestOpen = "request_open",
    /// A request names the tool call that waits for it.
    RequestItem = "request_item",
    /// Every answer says whose it is, and only people and agents say yes.
    ResolvedBy = "resolved_by",
    /// A question is the first of its questions, and an answer has a response.
    QuestionShape = "question_shape",
}

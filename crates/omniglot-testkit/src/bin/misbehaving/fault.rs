//! The faults, each with a name that the command line and the tests use.

macro_rules! faults {
    ($($name:ident = $word:literal,)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Fault { $($name,)* }

        impl Fault {
            pub(crate) fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$name),)* _ => None }
            }
        }
    };
}

faults! {
    // At the start.
    NeverReads = "never-reads",
    ExitsAtOnce = "exits-at-once",
    NeverAnswers = "never-answers",
    GarbageAtStart = "garbage-at-start",
    FloodAtStart = "flood-at-start",
    DiesInHandshake = "dies-in-handshake",
    ClosesOutputAtStart = "closes-output-at-start",
    HugeLineAtStart = "huge-line-at-start",
    EndlessLineAtStart = "endless-line-at-start",
    AnswersTwice = "answers-twice",
    // In a turn.
    Silent = "silent",
    DiesUnanswered = "dies-unanswered",
    DiesInMidLine = "dies-in-mid-line",
    DiesInMidTurn = "dies-in-mid-turn",
    KillsItself = "kills-itself",
    ClosesOutput = "closes-output",
    ClosesInput = "closes-input",
    EndsTwice = "ends-twice",
    EndsWithoutBeginning = "ends-without-beginning",
    NeverEnds = "never-ends",
    SpeaksAfterTheEnd = "speaks-after-the-end",
    AsksAfterTheEnd = "asks-after-the-end",
    FloodsAfterTheEnd = "floods-after-the-end",
    Garbage = "garbage",
    NotUtf8 = "not-utf8",
    NulBytes = "nul-bytes",
    EmptyLines = "empty-lines",
    CarriageReturns = "carriage-returns",
    HugeLine = "huge-line",
    HugeSum = "huge-sum",
    Floods = "floods",
    DeepJson = "deep-json",
    UnknownFrames = "unknown-frames",
    WrongTypes = "wrong-types",
    StrayAnswer = "stray-answer",
    AnswersItself = "answers-itself",
    OtherSession = "other-session",
    EndlessRequests = "endless-requests",
    RepeatsRequest = "repeats-request",
    RepeatsFrames = "repeats-frames",
    IgnoresSignals = "ignores-signals",
    LeavesChild = "leaves-child",
    LeavesDaemon = "leaves-daemon",
    FloodsStderr = "floods-stderr",
    Drips = "drips",
    EatsMemory = "eats-memory",
    FillsDisk = "fills-disk",
}

//! Whatever drafts come, in whatever order: the stream that goes out is lawful and of its schema, and folds
//! to its state.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use jiff::Timestamp;
use omniglot_schema::{
    Activity, ContentPart, ErrorCode, ItemRole, Listed, MessageId, PermissionStatus, QuestionInfo,
    QuestionOption, ReasoningVisibility, ResolvedBy, Resume, SessionId, StatePatch, StatusLabel, StopReason,
    Todo, TodoStatus, UniversalEvent, UniversalEventType, Usage,
};
use omniglot_testkit::validate::validate_event;
use omniglot_timeline::check::{Allow, check};
use omniglot_timeline::{
    Body, Bounds, CallEnd, CallStart, Draft, DropReason, Emitted, Failure, Fold, ForkSourceReader, Identity,
    ItemEnd, ItemKey, ItemStart, Origin, Outcome, PermissionAsk, QuestionAsk, RequestKey, SessionEnd,
    SessionStarted, Stamp, Timeline, ToolCall, ToolResult, TurnEnd, Unparsed, inline_image,
};
use proptest::prelude::*;

/// Anything that can happen to a Timeline.
#[derive(Debug, Clone)]
enum Step {
    Draft(Box<Draft>),
    Unparsed,
    Dropped,
    RefuseQuestions,
    Withdraw(ResolvedBy),
    Close(StopReason, ResolvedBy),
    End(SessionEnd),
    ForgetRun,
    /// The daemon dies and reads everything back.
    Restart,
}

fn key() -> impl Strategy<Value = ItemKey> {
    (0..6u8).prop_map(|n| ItemKey(format!("k{n}")))
}

fn request() -> impl Strategy<Value = RequestKey> {
    (0..3u8).prop_map(|n| RequestKey(format!("r{n}")))
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("Hel".into()),
        Just("Hello".into()),
        Just("other".into()),
        "[a-z\"\\\\]{0,4}"
    ]
}

fn parts() -> impl Strategy<Value = Vec<ContentPart>> {
    let part = prop_oneof![
        text().prop_map(ContentPart::text),
        Just(ContentPart::Json { json: serde_json::json!({"a": 1}) }),
        Just(inline_image("image/png", "aGVsbG8=")),
        Just(inline_image("image/png", "no base64")),
    ];
    proptest::collection::vec(part, 0..3)
}

fn body() -> impl Strategy<Value = Body> {
    let role = prop_oneof![Just(ItemRole::User), Just(ItemRole::Assistant), Just(ItemRole::System)];
    prop_oneof![
        3 => (role, parts()).prop_map(|(role, parts)| Body::Message { role, parts }),
        1 => text().prop_map(|text| Body::Reasoning { text, visibility: ReasoningVisibility::Public }),
        1 => parts().prop_map(|parts| Body::System { parts }),
        1 => text().prop_map(|text| Body::Status { label: StatusLabel::Warning, detail: Some(text) }),
        1 => text().prop_map(|text| Body::Step { detail: Some(text), usage: Some(Usage::default()) }),
        1 => parts().prop_map(|parts| Body::Unknown { parts }),
    ]
}

fn call() -> impl Strategy<Value = ToolCall> {
    text().prop_map(|arguments| ToolCall::new("tool", arguments))
}

fn result() -> impl Strategy<Value = ToolResult> {
    (text(), parts(), any::<bool>()).prop_map(|(output, parts, goes_on)| ToolResult {
        output,
        parts,
        goes_on,
        ..ToolResult::default()
    })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![Just(Outcome::Completed), Just(Outcome::Failed)]
}

fn stop() -> impl Strategy<Value = StopReason> {
    prop_oneof![
        Just(StopReason::EndTurn),
        Just(StopReason::MaxTokens),
        Just(StopReason::Cancelled),
        Just(StopReason::Error)
    ]
}

fn by() -> impl Strategy<Value = ResolvedBy> {
    prop_oneof![
        Just(ResolvedBy::Person),
        Just(ResolvedBy::Cancel),
        Just(ResolvedBy::Agent),
        Just(ResolvedBy::Crash)
    ]
}

fn failure() -> impl Strategy<Value = Failure> {
    text().prop_map(|message| Failure::new(ErrorCode::ApiError, message))
}

fn turn_end() -> impl Strategy<Value = TurnEnd> {
    let tokens = proptest::option::of(prop_oneof![0u64..9, Just(u64::MAX)]);
    let numbers = (tokens.clone(), tokens.clone(), tokens.clone(), tokens);
    (stop(), proptest::option::of(failure()), numbers).prop_map(|(stop, error, numbers)| {
        let (input_tokens, output_tokens, reasoning_tokens, total_tokens) = numbers;
        let usage = Usage { input_tokens, output_tokens, reasoning_tokens, total_tokens, ..Usage::default() };
        TurnEnd { error, usage: Some(usage), cost_usd: Some(0.5), ..TurnEnd::new(stop) }
    })
}

fn question() -> QuestionInfo {
    let options = vec![QuestionOption { label: "yes".into(), description: None }];
    QuestionInfo { prompt: "sure?".into(), options, free_text: true, ..QuestionInfo::default() }
}

/// Short lists stand in place, long ones are blobs.
fn todos(count: usize) -> Listed<Todo> {
    let todo = Todo { text: "t".repeat(80), status: TodoStatus::Pending };
    vec![todo; count].into()
}

fn draft() -> impl Strategy<Value = Draft> {
    let resume = prop_oneof![Just(None), Just(Some(Resume::None)), Just(Some(Resume::Native))];
    let origin = prop_oneof![
        Just(Origin::Agent),
        parts().prop_map(|content| Origin::User { message_id: Some(MessageId("msg_1".into())), content }),
        parts().prop_map(|content| Origin::Echoed { message_id: None, content }),
    ];
    let status = prop_oneof![
        Just(PermissionStatus::Accept),
        Just(PermissionStatus::AcceptForSession),
        Just(PermissionStatus::Reject),
        Just(PermissionStatus::Requested)
    ];
    let patch = prop_oneof![
        Just(StatePatch::default()),
        Just(StatePatch { title: Some(Some("t".into())), ..StatePatch::default() }),
        Just(StatePatch {
            title: Some(None),
            activity: Some(Some(Activity::Retrying)),
            ..StatePatch::default()
        }),
        (1_usize..300)
            .prop_map(|count| StatePatch { todos: Some(Some(todos(count))), ..StatePatch::default() }),
    ];
    prop_oneof![
        1 => resume.prop_map(|resume| {
            let native_session_id = Some("native".into());
            Draft::SessionStarted(SessionStarted { native_session_id, resume, ..SessionStarted::default() })
        }),
        4 => origin.prop_map(Draft::TurnStarted),
        2 => proptest::option::of(key()).prop_map(|item| {
            Draft::UserEcho { item, native_id: "native".into() }
        }),
        3 => turn_end().prop_map(Draft::TurnEnded),
        8 => (key(), proptest::option::of(key()), body()).prop_map(|(key, parent, body)| {
            Draft::ItemStarted(ItemStart { key, native_id: Some("native".into()), parent, body })
        }),
        2 => (key(), body()).prop_map(|(key, body)| {
            let start = ItemStart { key, native_id: None, parent: None, body };
            Draft::Steered { message_id: Some(MessageId("msg".into())), start }
        }),
        8 => (key(), text()).prop_map(|(key, delta)| Draft::ItemDelta { key, delta }),
        8 => (key(), outcome(), proptest::option::of(body())).prop_map(|(key, outcome, body)| {
            Draft::ItemCompleted(ItemEnd { key, outcome, body })
        }),
        4 => (key(), proptest::option::of(key()), call()).prop_map(|(key, parent, call)| {
            Draft::CallStarted(CallStart { key, native_id: Some("native".into()), parent, call })
        }),
        3 => (key(), text()).prop_map(|(key, delta)| Draft::CallInput { key, delta }),
        4 => (key(), proptest::option::of(call())).prop_map(|(key, call)| Draft::CallReady { key, call }),
        4 => (key(), text()).prop_map(|(key, delta)| Draft::CallOutput { key, delta }),
        4 => (key(), outcome(), result()).prop_map(|(key, outcome, result)| {
            Draft::CallEnded(CallEnd { key, outcome, result })
        }),
        3 => (request(), proptest::option::of(key()), any::<bool>()).prop_map(|(key, call, covered)| {
            let pattern = covered.then(|| "p".to_owned());
            Draft::PermissionRequested(PermissionAsk {
                key, native_id: None, action: "do it".into(), call, tool: Some("tool".into()), pattern,
                options: vec![], files: vec![], detail: None, kind: None, subject: None,
            })
        }),
        3 => (request(), status, by()).prop_map(|(key, status, by)| {
            Draft::PermissionResolved { key, status, by, message: None }
        }),
        2 => (request(), proptest::option::of(key())).prop_map(|(key, call)| {
            Draft::QuestionRequested(QuestionAsk { key, native_id: None, call, questions: vec![question()] })
        }),
        2 => (request(), any::<bool>(), by()).prop_map(|(key, answered, by)| {
            Draft::QuestionResolved { key, answers: answered.then(|| vec![vec!["yes".into()]]), by }
        }),
        2 => failure().prop_map(Draft::Error),
        2 => patch.prop_map(|patch| Draft::State(Box::new(patch))),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let crash = SessionEnd::Crashed { message: "gone".into(), exit_code: Some(1), stderr: None };
    let reason = prop_oneof![Just(crash), Just(SessionEnd::Terminated)];
    prop_oneof![
        40 => draft().prop_map(|draft| Step::Draft(Box::new(draft))),
        1 => Just(Step::Unparsed),
        1 => Just(Step::Dropped),
        1 => Just(Step::RefuseQuestions),
        1 => by().prop_map(Step::Withdraw),
        1 => (stop(), by()).prop_map(|(stop, by)| Step::Close(stop, by)),
        1 => reason.prop_map(Step::End),
        1 => Just(Step::ForgetRun),
        1 => Just(Step::Restart),
    ]
}

fn identity() -> Identity {
    Identity { session_id: SessionId::parse("s").unwrap(), agent: "mock".into() }
}

/// The bounds that every other agent goes beyond.
const TIGHT: Bounds = Bounds { item_bytes: 3, open_requests: 1 };

/// Plays the steps with a clock that also jumps backwards.
fn play(steps: Vec<Step>) -> (Timeline, Vec<UniversalEvent>) {
    let mut timeline = Timeline::new(identity(), "seed");
    if !steps.len().is_multiple_of(2) {
        timeline.bound(TIGHT);
    }
    let mut events: Vec<UniversalEvent> = vec![];
    for (n, step) in steps.into_iter().enumerate() {
        let now = Timestamp::from_millisecond(1_000_000 + [5, 3, 9, 1][n % 4] * 100 + n as i64 * 50).unwrap();
        let mut out = vec![];
        take(&mut timeline, step, now, &events, &mut out);
        events.extend(out.into_iter().map(|emitted| emitted.event));
        timeline.take_effects();
    }
    let mut out = vec![];
    timeline.close_turn(
        TurnEnd::new(StopReason::Cancelled),
        ResolvedBy::Cancel,
        Stamp::daemon(Timestamp::UNIX_EPOCH),
        &mut out,
    );
    events.extend(out.into_iter().map(|emitted| emitted.event));
    (timeline, events)
}

fn take(
    timeline: &mut Timeline,
    step: Step,
    now: Timestamp,
    events: &[UniversalEvent],
    out: &mut Vec<Emitted>,
) {
    let (agent, daemon) = (Stamp::agent(now, 1), Stamp::daemon(now));
    match step {
        Step::Draft(draft) => timeline.apply(*draft, agent, out),
        Step::Unparsed => {
            let unparsed = Unparsed { error: "e".into(), location: "stdout".into(), raw_hash: None };
            timeline.unparsed(unparsed, agent, out);
        }
        Step::Dropped => timeline.dropped(DropReason::Heartbeat),
        Step::RefuseQuestions => timeline.refuse_questions(),
        Step::Withdraw(by) => timeline.withdraw_requests(by, daemon, out),
        Step::Close(stop, by) => timeline.close_turn(TurnEnd::new(stop), by, daemon, out),
        Step::End(reason) => {
            timeline.end_session(reason, daemon, out);
        }
        Step::ForgetRun => timeline.forget_run(daemon, out),
        Step::Restart => {
            let snapshot =
                serde_json::from_str(&serde_json::to_string(&timeline.snapshot()).unwrap()).unwrap();
            let from = timeline.fold().open_turn.as_ref().map_or(u64::MAX, |turn| turn.seq);
            let open: Vec<_> = events.iter().filter(|event| event.sequence >= from).cloned().collect();
            *timeline = Timeline::restore(identity(), snapshot, &open);
            timeline.recover(Failure::daemon_restarted(), daemon, out);
        }
    }
}

/// Forks a session after these events, and lets the fork do a turn of its own.
fn fork(name: &str, origin: &Timeline, events: &[UniversalEvent]) -> (Timeline, Vec<UniversalEvent>) {
    let session = events[0].session_id.clone();
    let mut source = ForkSourceReader::new(session, &origin.snapshot());
    events.iter().for_each(|event| source.read(event.clone()));
    let identity = Identity { session_id: SessionId::parse(name).unwrap(), agent: "mock".into() };
    let mut fork = Timeline::forked(identity, format!("seed{name}"), source.finish());
    let (now, mut out) = (Timestamp::from_second(9_000_000).unwrap(), vec![]);
    let started = SessionStarted { native_session_id: Some(name.into()), ..SessionStarted::default() };
    let turn = Draft::TurnStarted(Origin::User { message_id: None, content: vec![] });
    let end = Draft::TurnEnded(TurnEnd::new(StopReason::EndTurn));
    for draft in [Draft::SessionStarted(started), turn, end] {
        fork.apply(draft, Stamp::agent(now, 1), &mut out);
    }
    (fork, out.into_iter().map(|emitted| emitted.event).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_drafts_in_any_order_give_a_lawful_stream(steps in proptest::collection::vec(step(), 0..60)) {
        let (_, events) = play(steps);
        prop_assume!(!events.is_empty());
        let report = check(&events, Allow { unparsed: true, ..Allow::default() });
        prop_assert!(report.violations.is_empty(), "{:#?}\n{}", report.violations, dump(&events));
    }

    #[test]
    fn folding_the_served_events_gives_the_served_state(steps in proptest::collection::vec(step(), 0..60)) {
        let (timeline, events) = play(steps);
        let mut fold = Fold::default();
        for event in &events {
            let wire = serde_json::to_string(event).unwrap();
            fold.apply(&serde_json::from_str(&wire).unwrap());
        }
        prop_assert_eq!(&fold, timeline.fold());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_fork_of_anything_is_lawful_and_counts_nothing_twice(steps in proptest::collection::vec(step(), 0..60)) {
        let (timeline, events) = play(steps);
        prop_assume!(!events.is_empty());
        let (first, of_first) = fork("t", &timeline, &events);
        let (second, of_second) = fork("u", &first, &of_first);
        for (timeline, events) in [(first, &of_first), (second, &of_second)] {
            let report = check(events, Allow::default());
            prop_assert!(report.violations.is_empty(), "{:#?}\n{}", report.violations, dump(events));
            let copies = events.iter().filter(|event| event.copied_from().is_some()).count() as u64;
            let fold = timeline.fold();
            prop_assert_eq!((timeline.copied(), fold.turns, &fold.state), (copies, 1, &Default::default()));
            prop_assert!(fold.pending.is_empty() && fold.grants.is_empty());
        }
        let ended = |events: &[UniversalEvent]| {
            let turns = events.iter().filter(|event| event.kind() == UniversalEventType::TurnEnded);
            turns.count()
        };
        prop_assert_eq!(ended(&of_first), ended(&events) + 1, "every whole turn is copied");
        prop_assert_eq!(ended(&of_second), ended(&events) + 2);
    }
}

proptest! {
    // A schema takes longer than all the rules together, and has far fewer corners.
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_event_is_of_the_schema_of_its_type(steps in proptest::collection::vec(step(), 0..60)) {
        for event in play(steps).1 {
            let wire = serde_json::to_value(&event).unwrap();
            prop_assert_eq!(validate_event(&wire), Ok(()), "{}", wire);
        }
    }
}

fn dump(events: &[UniversalEvent]) -> String {
    events.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect()
}

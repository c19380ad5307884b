//! Tests the rules for late text, unfinished results and covered requests, each by its name. That no input
//! breaks them is in `tests/properties.rs`.

mod bounds;
mod durations;
mod lasting;
mod late;
mod masking;
mod sources;
mod user;

use jiff::Timestamp;
use omniglot_schema::{
    AuthMethodInfo, AuthState, AuthStatus, ContentPart, ErrorCode, EventData, FileAction, ItemKind, ItemRole,
    ItemStatus, PermissionStatus, QuestionInfo, ResolvedBy, SessionId, StatePatch, StopReason, ToolKind,
    ToolSubject, UniversalEventType, UniversalItem,
};

use super::{Effect, Emitted, Identity, Stamp, Timeline};
use crate::check::{Allow, check};
use crate::draft::{
    Body, CallEnd, CallStart, Draft, Failure, ItemEnd, ItemStart, Origin, Outcome, PermissionAsk,
    QuestionAsk, RequestKey, ToolCall, ToolResult, TurnEnd,
};

struct Session {
    timeline: Timeline,
    /// The events before the ones that a test looks at.
    earlier: Vec<Emitted>,
    said: Vec<Emitted>,
}

impl Session {
    fn new() -> Self {
        let identity = Identity { session_id: SessionId::parse("s").unwrap(), agent: "mock".into() };
        let mut session = Self { timeline: Timeline::new(identity, "x"), earlier: vec![], said: vec![] };
        session.turn();
        session
    }

    fn draft(&mut self, draft: Draft) {
        self.timeline.apply(draft, Stamp::agent(Timestamp::UNIX_EPOCH, 1), &mut self.said);
    }

    fn turn(&mut self) {
        self.draft(Draft::TurnStarted(Origin::User { message_id: None, content: vec![] }));
    }

    fn end_turn(&mut self) {
        self.draft(Draft::TurnEnded(TurnEnd::new(StopReason::EndTurn)));
    }

    fn call_begins(&mut self, key: &str) {
        let call = ToolCall::new("shell", "{}");
        self.draft(Draft::CallStarted(CallStart { key: key.into(), native_id: None, parent: None, call }));
    }

    fn call(&mut self, key: &str) {
        self.call_begins(key);
        self.draft(Draft::CallReady { key: key.into(), call: None });
    }

    fn runs(&mut self, call: &str) {
        self.output(call, "");
    }

    fn output(&mut self, call: &str, delta: &str) {
        self.draft(Draft::CallOutput { key: call.into(), delta: delta.into() });
    }

    fn finish(&mut self, call: &str, outcome: Outcome, result: ToolResult) {
        self.draft(Draft::CallEnded(CallEnd { key: call.into(), outcome, result }));
    }

    fn start(&mut self, key: &str, body: Body) {
        self.draft(Draft::ItemStarted(ItemStart { key: key.into(), native_id: None, parent: None, body }));
    }

    fn end(&mut self, key: &str, outcome: Outcome, body: Option<Body>) {
        self.draft(Draft::ItemCompleted(ItemEnd { key: key.into(), outcome, body }));
    }

    fn ask(&mut self, key: &str) {
        self.draft(Draft::PermissionRequested(asked(key)));
    }

    fn resolve(&mut self, key: &str, status: PermissionStatus) {
        let (key, by) = (RequestKey::from(key), ResolvedBy::Person);
        self.draft(Draft::PermissionResolved { key, status, by, message: None });
    }

    /// The items that have ended, in their order; the stream so far is lawful.
    fn ended(&mut self) -> Vec<UniversalItem> {
        let said = || self.earlier.iter().chain(&self.said);
        let events: Vec<_> = said().map(|emitted| emitted.event.clone()).collect();
        let report = check(&events, Allow { open_turn: true, ..Allow::default() });
        assert!(report.violations.is_empty(), "{:#?}", report.violations);
        let ended = |event: &Emitted| match &event.event.data {
            EventData::ItemCompleted(data) => Some(data.item.clone()),
            _ => None,
        };
        said().filter_map(ended).collect()
    }

    fn last(&mut self) -> UniversalItem {
        self.ended().pop().unwrap()
    }

    fn count(&self, kind: &str) -> usize {
        self.said.iter().filter(|emitted| emitted.event.kind().as_str() == kind).count()
    }
}

/// A request without a call of its own.
fn asked(key: &str) -> PermissionAsk {
    PermissionAsk {
        key: key.into(),
        native_id: None,
        action: "go".into(),
        call: None,
        tool: Some("rights".into()),
        pattern: Some("all".into()),
        options: vec![],
        files: vec![],
        detail: None,
        kind: None,
        subject: None,
    }
}

fn shown(item: &UniversalItem) -> String {
    serde_json::to_string(&item.content).unwrap()
}

#[test]
fn a_late_result_tells_all_that_it_is() {
    let mut session = Session::new();
    session.call("c");
    session.runs("c");
    session.end_turn();
    let cut = session.last();
    let parts = vec![ContentPart::file("/w/a".into(), FileAction::Write, None)];
    let (exit_code, duration_ms) = (Some(3), Some(20));
    let body = ToolResult { output: "x".into(), exit_code, duration_ms, parts, ..ToolResult::default() };
    session.finish("c", Outcome::Failed, body);
    let late = session.last();
    assert_eq!(late.parent_id, Some(cut.item_id));
    assert_eq!(
        shown(&late),
        r#"[{"type":"status","label":"mock.late","detail":"failed, exit code 3, 20 ms\nx"},{"type":"json","json":{"is_error":true,"exit_code":3,"duration_ms":20}},{"type":"file_ref","path":"/w/a","action":"write"}]"#
    );
}

#[test]
fn a_late_result_without_output_is_told_by_how_it_ended() {
    let mut session = Session::new();
    session.call("c");
    session.runs("c");
    session.end_turn();
    let body = ToolResult { is_error: Some(false), ..ToolResult::default() };
    session.finish("c", Outcome::Completed, body);
    assert!(shown(&session.last()).contains(r#""detail":"completed""#));
}

#[test]
fn a_command_may_outlive_many_turns_and_its_result_is_late_in_each() {
    let mut session = Session::new();
    session.call("c");
    session.runs("c");
    session.end_turn();
    let cut = session.last();
    for _ in 0..3 {
        session.turn();
        session.end_turn();
    }
    session.turn();
    let body = ToolResult { output: "done".into(), ..ToolResult::default() };
    session.finish("c", Outcome::Completed, body);
    let late = session.last();
    assert_eq!(late.parent_id, Some(cut.item_id));
    assert_eq!(shown(&late), r#"[{"type":"status","label":"mock.late","detail":"done"}]"#);
}

#[test]
fn a_result_that_comes_twice_after_its_turn_is_told_once() {
    let mut session = Session::new();
    session.call("c");
    session.end_turn();
    for _ in 0..3 {
        session.turn();
        session.end_turn();
    }
    let before = session.ended().len();
    for _ in 0..2 {
        session.finish("c", Outcome::Completed, ToolResult { output: "x".into(), ..ToolResult::default() });
    }
    assert_eq!(session.ended().len(), before + 1);
}

#[test]
fn a_call_that_begins_between_turns_has_a_late_result_in_the_next() {
    let mut session = Session::new();
    session.end_turn();
    session.call("c");
    let call = session.last();
    assert_eq!(shown(&call), r#"[{"type":"status","label":"mock.late","detail":"shell {}"}]"#);
    session.turn();
    let body = ToolResult { output: "done".into(), ..ToolResult::default() };
    session.finish("c", Outcome::Completed, body);
    let late = session.last();
    assert_eq!(late.parent_id, Some(call.item_id));
    assert_eq!(shown(&late), r#"[{"type":"status","label":"mock.late","detail":"done"}]"#);
}

#[test]
fn a_result_that_its_turn_cuts_short_is_an_error_and_says_why() {
    let mut session = Session::new();
    session.call("c");
    session.runs("c");
    session.output("c", "begin");
    session.end_turn();
    let cut = session.last();
    assert_eq!(cut.status, ItemStatus::Failed);
    let said = shown(&cut);
    let why = r#""output":"begin\nthe turn ended before this call had a result","is_error":true"#;
    assert!(said.contains(why), "{said}");
}

#[test]
fn a_result_that_failed_is_an_error_also_when_nobody_says_so() {
    let mut session = Session::new();
    session.call("c");
    session.runs("c");
    session.finish("c", Outcome::Failed, ToolResult::default());
    assert!(shown(&session.last()).contains(r#""is_error":true"#));
}

#[test]
fn the_call_that_is_made_for_a_permission_says_what_the_adapter_knows_of_it() {
    let mut session = Session::new();
    let subject = ToolSubject { command: Some("ls".into()), ..ToolSubject::default() }.boxed();
    let ask = PermissionAsk { kind: Some(ToolKind::Execute), subject, ..asked("p") };
    session.draft(Draft::PermissionRequested(ask));
    let call = shown(&session.last());
    assert!(call.contains(r#""kind":"execute","subject":{"command":"ls"}"#), "{call}");
}

#[test]
fn a_call_that_no_agent_has_told_of_is_of_another_kind() {
    let mut session = Session::new();
    session.ask("p");
    let questions = vec![QuestionInfo::default()];
    let ask = QuestionAsk { key: "q".into(), native_id: None, call: None, questions };
    session.draft(Draft::QuestionRequested(ask));
    session.runs("nobody's");
    let ended = session.ended();
    let made: Vec<String> = ended.iter().filter(|item| item.kind == ItemKind::ToolCall).map(shown).collect();
    assert_eq!(made.len(), 3);
    assert!(made.iter().all(|call| call.contains(r#""kind":"other""#)), "{made:?}");
}

#[test]
fn the_call_of_a_question_that_is_rejected_fails() {
    let mut session = Session::new();
    let questions = vec![QuestionInfo::default()];
    let ask = QuestionAsk { key: "q".into(), native_id: None, call: None, questions };
    session.draft(Draft::QuestionRequested(ask));
    session.draft(Draft::QuestionResolved { key: "q".into(), answers: None, by: ResolvedBy::Person });
    let result = session.last();
    assert_eq!(result.status, ItemStatus::Failed);
    assert!(shown(&result).contains(r#""output":"rejected","is_error":true"#));
}

#[test]
fn a_call_of_the_agent_whose_question_was_rejected_and_that_it_never_mentions_again_is_rejected() {
    let mut session = Session::new();
    session.call("c");
    let questions = vec![QuestionInfo::default()];
    let ask = QuestionAsk { key: "q".into(), native_id: None, call: Some("c".into()), questions };
    session.draft(Draft::QuestionRequested(ask));
    session.end_turn();
    assert!(shown(&session.last()).contains(r#""output":"rejected","is_error":true"#));
}

#[test]
fn a_request_belongs_to_its_call_although_a_message_took_the_key_of_the_call() {
    let mut session = Session::new();
    session.call_begins("c");
    session.end("c", Outcome::Completed, Some(Body::Message { role: ItemRole::User, parts: vec![] }));
    session.draft(Draft::PermissionRequested(PermissionAsk { call: Some("c".into()), ..asked("p") }));
    let asked = session.said.iter().find_map(|emitted| match &emitted.event.data {
        EventData::PermissionRequested(data) => data.metadata.as_ref()?.item_id.clone(),
        _ => None,
    });
    let calls = session.ended().into_iter().filter(|item| item.kind == ItemKind::ToolCall);
    assert_eq!(calls.map(|call| Some(call.item_id)).collect::<Vec<_>>(), [asked]);
}

#[test]
fn a_call_is_seen_although_a_grant_answers_its_request() {
    let mut session = Session::new();
    session.ask("p1");
    session.resolve("p1", PermissionStatus::AcceptForSession);
    let before = session.ended().len();
    session.ask("p2");
    assert_eq!(session.timeline.take_effects(), [Effect::Grant("p2".into())]);
    session.resolve("p2", PermissionStatus::AcceptForSession);
    let ended = session.ended();
    let [call, result] = &ended[before..] else { panic!("{ended:#?}") };
    assert!(shown(call).contains(r#""name":"rights""#), "{call:#?}");
    assert!(shown(result).contains(r#""output":"accepted","is_error":false"#), "{result:#?}");
    assert_eq!(session.count("permission.requested"), 1);
    assert_eq!(session.count("permission.resolved"), 1);
}

#[test]
fn a_turn_that_a_covered_request_opened_ends_with_its_answer() {
    let mut session = Session::new();
    session.ask("p1");
    session.resolve("p1", PermissionStatus::AcceptForSession);
    session.end_turn();
    session.ask("p2");
    assert!(session.timeline.fold().open_turn.is_some());
    session.resolve("p2", PermissionStatus::AcceptForSession);
    assert!(session.timeline.fold().open_turn.is_none());
    assert!(shown(&session.last()).contains("accepted"));
}

#[test]
fn a_turn_that_a_request_opened_is_the_agents_once_it_begins_one() {
    let mut session = Session::new();
    session.end_turn();
    session.ask("p");
    session.draft(Draft::TurnStarted(Origin::Agent));
    session.resolve("p", PermissionStatus::AcceptForSession);
    assert!(session.timeline.fold().open_turn.is_some());
    session.end_turn();
    assert!(session.timeline.fold().open_turn.is_none());
}

#[test]
fn what_a_command_says_that_has_outlived_many_turns_is_late() {
    let mut session = Session::new();
    session.call("c");
    session.runs("c");
    session.end_turn();
    let cut = session.last();
    for _ in 0..3 {
        session.turn();
        session.end_turn();
    }
    session.turn();
    session.output("c", "more");
    session.end_turn();
    let late = session.last();
    assert_eq!(late.parent_id, Some(cut.item_id));
    assert_eq!(shown(&late), r#"[{"type":"status","label":"mock.late","detail":"more"}]"#);
}

#[test]
fn what_a_command_writes_to_stderr_stands_apart_also_when_it_comes_late() {
    let stderr = Some("oops".to_owned());
    let whole = ToolResult { output: "out".into(), stderr: stderr.clone(), ..ToolResult::default() };
    let mut session = Session::new();
    session.call("c");
    session.finish("c", Outcome::Completed, whole.clone());
    assert!(shown(&session.last()).contains(r#""output":"out","stderr":"oops""#));
    session.call("d");
    session.runs("d");
    session.output("d", "oops");
    let silent = ToolResult { stderr, ..ToolResult::default() };
    session.finish("d", Outcome::Completed, silent);
    assert!(shown(&session.last()).contains(r#""output":"","stderr":"oops""#), "the preview held both");
    session.call("e");
    session.end_turn();
    session.finish("e", Outcome::Completed, whole);
    assert!(shown(&session.last()).contains(r#""detail":"out\noops""#));
}

#[test]
fn credentials_that_were_refused_are_required_until_a_turn_succeeds() {
    let mut session = Session::new();
    let method = AuthMethodInfo { id: "key".into(), name: "set KEY".into(), description: None };
    let ready = AuthState { state: AuthStatus::Ready, methods: vec![method] };
    session.draft(Draft::State(Box::new(StatePatch { auth: Some(Some(ready)), ..StatePatch::default() })));
    let mut after = |stop: StopReason, code: Option<ErrorCode>| {
        let error = code.map(|code| Failure::new(code, "no"));
        session.draft(Draft::TurnEnded(TurnEnd { error, ..TurnEnd::new(stop) }));
        let AuthState { state, methods } = session.timeline.fold().state.auth.clone().unwrap();
        assert_eq!(methods.len(), 1);
        session.turn();
        state
    };
    let (required, ready) = (AuthStatus::Required, AuthStatus::Ready);
    assert_eq!(after(StopReason::Error, Some(ErrorCode::ApiError)), ready);
    assert_eq!(after(StopReason::Error, Some(ErrorCode::ProviderAuth)), required);
    assert_eq!(after(StopReason::Error, Some(ErrorCode::RateLimit)), required);
    assert_eq!(after(StopReason::Cancelled, None), required);
    assert_eq!(after(StopReason::EndTurn, None), ready);
}

#[test]
fn what_an_agent_never_said_about_its_credentials_a_turn_shows() {
    let mut session = Session::new();
    session.end_turn();
    assert_eq!(session.timeline.fold().state.auth, None);
    session.turn();
    let failure = Failure::new(ErrorCode::ProviderAuth, "401");
    session.draft(Draft::TurnEnded(TurnEnd::failed(failure)));
    let kinds: Vec<_> = session.said.iter().rev().take(3).map(|said| said.event.kind()).collect();
    use UniversalEventType as Kind;
    assert_eq!(kinds, [Kind::TurnEnded, Kind::Error, Kind::SessionUpdated]);
    let auth = session.timeline.fold().state.auth.clone().unwrap();
    assert_eq!(auth, AuthState { state: AuthStatus::Required, methods: vec![] });
}

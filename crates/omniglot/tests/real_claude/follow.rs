//! Follows a session step by step: its questions, its turns, and its process.

use omniglot_schema::{
    EventData, PermissionReply, PermissionReplyRequest, QuestionEventData, QuestionReplyRequest,
    SessionPatch, UniversalEvent, UniversalEventType,
};
use omniglot_testkit::fixture::Fixture;
use omniglot_testkit::session_driver::Turn;

pub(crate) fn is(kind: UniversalEventType) -> impl Fn(&UniversalEvent) -> bool {
    move |event| event.kind() == kind
}

/// Returns the sequence of the latest event.
pub(crate) async fn now(fixture: &Fixture) -> u64 {
    fixture.session.client.detail(&fixture.session.id).await.expect("the session").info.event_count
}

/// Returns everything after `from` up to the end of the turn.
pub(crate) async fn turn_after(fixture: &Fixture, from: u64) -> Turn {
    let last = fixture.session.wait_for(from, is(UniversalEventType::TurnEnded)).await.sequence;
    let events = fixture.session.history().await;
    Turn {
        events: events.into_iter().filter(|event| event.sequence > from && event.sequence <= last).collect(),
    }
}

pub(crate) async fn question_after(fixture: &Fixture, from: u64) -> QuestionEventData {
    match fixture.session.wait_for(from, is(UniversalEventType::QuestionRequested)).await.data {
        EventData::QuestionRequested(data) => data,
        other => panic!("{other:?}"),
    }
}

/// Posts a prompt and answers the one question that its turn asks.
pub(crate) async fn answered(
    fixture: &Fixture,
    prompt: &str,
    answers: &[&[&str]],
) -> (QuestionEventData, Turn) {
    let from = now(fixture).await;
    fixture.session.post(prompt).await;
    let asked = question_after(fixture, from).await;
    let owned = |chosen: &&[&str]| chosen.iter().map(|label| (*label).to_owned()).collect();
    let request = QuestionReplyRequest { answers: answers.iter().map(owned).collect() };
    let session = &fixture.session;
    session.client.reply_question(&session.id, asked.question_id.as_str(), &request).await.expect("answers");
    (asked, turn_after(fixture, from).await)
}

/// Posts a prompt and rejects the one permission that its turn asks for.
pub(crate) async fn rejected(fixture: &Fixture, prompt: &str, message: Option<&str>) -> Turn {
    let from = now(fixture).await;
    let session = &fixture.session;
    session.post(prompt).await;
    let asked = session.wait_for(from, is(UniversalEventType::PermissionRequested)).await;
    let EventData::PermissionRequested(asked) = asked.data else { panic!("a permission") };
    let reply =
        PermissionReplyRequest { reply: PermissionReply::Reject, message: message.map(str::to_owned) };
    session
        .client
        .reply_permission(&session.id, asked.permission_id.as_str(), &reply)
        .await
        .expect("a reply");
    turn_after(fixture, from).await
}

pub(crate) async fn patched(fixture: &Fixture, patch: SessionPatch) -> omniglot_schema::SessionState {
    fixture.session.client.patch(&fixture.session.id, &patch).await.expect("a change").state
}

/// Returns the one process of the agent itself.
pub(crate) fn agent_pid(fixture: &Fixture) -> u32 {
    let is_agent = |pid: &u32| {
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        program.file_name().is_some_and(|name| name == "claude")
    };
    let found: Vec<u32> = fixture.daemon.descendants().into_iter().filter(is_agent).collect();
    let [pid] = found[..] else { panic!("one process of the agent: {found:?}") };
    pid
}

//! Questions of an agent over real HTTP, from a real child process: answered, refused, cancelled, cut off.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on panics"
)]

use omniglot_schema::{
    CreateSessionRequest, EventData, PermissionReply, PermissionReplyRequest, PermissionStatus,
    QuestionEventData, QuestionPolicy, QuestionReplyRequest, QuestionStatus, QueueOnCancel, ResolvedBy,
    SessionStatus, StopReason, UniversalEvent, UniversalEventType,
};
use omniglot_testkit::daemon::{Daemon, Setup};
use omniglot_testkit::session_driver::{SessionDriver, status_of, text_of};

fn daemon() -> Daemon {
    Setup::new(env!("CARGO_BIN_EXE_omniglot")).start()
}

fn is(kind: UniversalEventType) -> impl Fn(&UniversalEvent) -> bool {
    move |event| event.kind() == kind
}

/// Posts a word and waits for its question.
async fn ask(session: &SessionDriver, word: &str) -> QuestionEventData {
    session.post(word).await;
    match session.wait_for(0, is(UniversalEventType::QuestionRequested)).await.data {
        EventData::QuestionRequested(data) => data,
        other => panic!("{other:?}"),
    }
}

async fn answer(
    session: &SessionDriver,
    question: &str,
    answers: &[&[&str]],
) -> Result<(), omniglot_client::ClientError> {
    let owned = |chosen: &&[&str]| chosen.iter().map(|label| (*label).to_owned()).collect();
    let request = QuestionReplyRequest { answers: answers.iter().map(owned).collect() };
    session.client.reply_question(&session.id, question, &request).await
}

/// Waits for the end of the turn; returns its stop reason, and the resolution of its question.
async fn end(session: &SessionDriver) -> (StopReason, QuestionEventData) {
    let ended = session.wait_for(0, is(UniversalEventType::TurnEnded)).await;
    let EventData::TurnEnded(end) = ended.data else { unreachable!() };
    (end.metadata.stop_reason, resolution(&session.history().await))
}

fn resolution(events: &[UniversalEvent]) -> QuestionEventData {
    let mut resolved = events.iter().filter_map(|event| match &event.data {
        EventData::QuestionResolved(data) => Some(data.clone()),
        _ => None,
    });
    let first = resolved.next().expect("a resolution");
    assert!(resolved.next().is_none(), "resolved twice");
    first
}

fn resolved_by(question: &QuestionEventData) -> Option<ResolvedBy> {
    question.metadata.as_ref().unwrap().resolved_by
}

#[tokio::test]
async fn answers_reach_the_agent_as_the_fields_of_its_form() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let asked = ask(&session, "[[question]]").await;
    assert_eq!(asked.options, ["Quick", "Thorough"]);
    let questions = &asked.metadata.as_ref().unwrap().questions;
    let shapes: Vec<_> = questions.iter().map(|q| (q.options.len(), q.multi_select, q.free_text)).collect();
    assert_eq!(shapes, [(2, false, false), (3, true, false), (0, false, true)]);
    assert_eq!(questions[0].options[0].description.as_deref(), Some("The smallest change that works"));
    let detail = daemon.client.detail(&session.id).await.unwrap();
    assert_eq!((detail.status, detail.pending.len()), (SessionStatus::Waiting, 1));

    let id = asked.question_id.as_str();
    answer(&session, id, &[&["Thorough"], &["fmt", "test"], &["feature/x"]]).await.unwrap();
    let (stop, resolved) = end(&session).await;
    assert_eq!(stop, StopReason::EndTurn);
    assert_eq!(resolved.response.as_deref(), Some("Thorough; fmt, test; feature/x"));
    assert_eq!(resolved_by(&resolved), Some(ResolvedBy::Person));
    let text = text_of(&session.history().await);
    assert!(text.contains("approach = thorough; checks = fmt, test; name = feature/x"), "{text}");
    assert_eq!(status_of(answer(&session, id, &[&["Quick"]]).await), 409);
    assert_eq!(status_of(answer(&session, "qst_none", &[]).await), 404);
}

#[tokio::test]
async fn fewer_answers_leave_the_rest_open_and_other_answers_go_beside_the_options() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "few").await;
    let asked = ask(&session, "[[question]]").await;
    answer(&session, asked.question_id.as_str(), &[&["Quick"]]).await.unwrap();
    let (_, resolved) = end(&session).await;
    assert_eq!(resolved.response.as_deref(), Some("Quick"));
    assert!(text_of(&session.history().await).contains("You answered: approach = quick."));

    let session = SessionDriver::create(&daemon.client, "free").await;
    let asked = ask(&session, "[[question:one]]").await;
    assert_eq!((asked.prompt.as_str(), asked.options.len()), ("Which colour shall it have?", 2));
    answer(&session, asked.question_id.as_str(), &[&["Green"]]).await.unwrap();
    let (_, resolved) = end(&session).await;
    assert_eq!((resolved.status, resolved.response.as_deref()), (QuestionStatus::Answered, Some("Green")));
    assert!(text_of(&session.history().await).contains("question_0_custom = Green"));
}

#[tokio::test]
async fn answers_that_do_not_fit_are_refused_and_the_question_stays_open() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let asked = ask(&session, "[[question]] [[permission]]").await;
    let id = asked.question_id.as_str();
    let bad: [(&[&[&str]], &str); 3] = [
        (&[&["Slow"]], r#""Slow" is no answer to "#),
        (&[&["Quick", "Thorough"]], "takes one answer, not 2"),
        (&[&["Quick"], &[], &[], &[]], "4 answers to 3 questions"),
    ];
    for (answers, says) in bad {
        let refused = answer(&session, id, answers).await.unwrap_err();
        let problem = refused.problem().unwrap().clone();
        let detail = problem.detail.unwrap();
        assert_eq!(problem.status, 400);
        assert!(detail.contains(says), "{detail}");
    }
    let refused = answer(&session, id, &[&["Slow"]]).await.unwrap_err();
    assert!(refused.problem().unwrap().detail.as_ref().unwrap().contains(r#""Quick", "Thorough""#));
    assert_eq!(status_of(session.reply(id, PermissionReply::Once).await), 404, "it is no permission");
    assert_eq!(daemon.client.detail(&session.id).await.unwrap().pending.len(), 1);

    answer(&session, id, &[]).await.unwrap();
    let permission = session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    let EventData::PermissionRequested(permission) = permission.data else { unreachable!() };
    let id = permission.permission_id.as_str();
    assert_eq!(status_of(answer(&session, id, &[]).await), 404, "it is no question");
    session.reply(id, PermissionReply::Reject).await.unwrap();
    end(&session).await;
}

#[tokio::test]
async fn a_rejected_question_lets_the_turn_go_on() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let asked = ask(&session, "[[question]]").await;
    let id = asked.question_id.as_str();
    daemon.client.reject_question(&session.id, id).await.unwrap();
    let (stop, resolved) = end(&session).await;
    assert_eq!((stop, resolved.status), (StopReason::EndTurn, QuestionStatus::Rejected));
    assert_eq!((resolved.response.as_ref(), resolved_by(&resolved)), (None, Some(ResolvedBy::Person)));
    assert!(text_of(&session.history().await).contains("You did not want to answer"));
    assert_eq!(status_of(daemon.client.reject_question(&session.id, id).await), 409);
}

#[tokio::test]
async fn a_cancel_resolves_the_open_question_first() {
    let daemon = daemon();
    for word in ["[[question]]", "[[question:one]]"] {
        let session = SessionDriver::create(&daemon.client, &format!("s{}", word.len())).await;
        let asked = ask(&session, word).await;
        daemon.client.cancel(&session.id, QueueOnCancel::Keep).await.unwrap();
        let (stop, resolved) = end(&session).await;
        assert_eq!((stop, resolved.status), (StopReason::Cancelled, QuestionStatus::Rejected));
        assert_eq!(resolved_by(&resolved), Some(ResolvedBy::Cancel));
        assert_eq!(status_of(answer(&session, asked.question_id.as_str(), &[]).await), 409);
    }
}

#[tokio::test]
async fn a_question_open_at_kill_9_is_rejected_by_the_restart() {
    let mut daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    let asked = ask(&session, "[[question:one]]").await;
    daemon.kill();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    let (stop, resolved) = end(&session).await;
    assert_eq!((stop, resolved.status), (StopReason::Error, QuestionStatus::Rejected));
    assert_eq!(resolved_by(&resolved), Some(ResolvedBy::Restart));
    assert_eq!(status_of(answer(&session, asked.question_id.as_str(), &[&["Red"]]).await), 409);
    assert!(daemon.client.detail(&session.id).await.unwrap().pending.is_empty());
}

#[tokio::test]
async fn what_a_person_says_with_a_reply_is_kept_with_the_resolution() {
    let daemon = daemon();
    let session = SessionDriver::create(&daemon.client, "s").await;
    session.post("[[permission]]").await;
    let asked = session.wait_for(0, is(UniversalEventType::PermissionRequested)).await;
    let EventData::PermissionRequested(ask) = &asked.data else { unreachable!() };
    let message = Some("not on a Friday".to_owned());
    let request = PermissionReplyRequest { reply: PermissionReply::Reject, message: message.clone() };
    daemon.client.reply_permission(&session.id, ask.permission_id.as_str(), &request).await.unwrap();
    let resolved = session.wait_for(asked.sequence, is(UniversalEventType::PermissionResolved)).await;
    let EventData::PermissionResolved(resolved) = resolved.data else { unreachable!() };
    assert_eq!(resolved.status, PermissionStatus::Reject);
    assert_eq!(resolved.metadata.unwrap().message, message);
    session.wait_for(asked.sequence, is(UniversalEventType::TurnEnded)).await;
    session.history().await;
}

#[tokio::test]
async fn a_session_that_nobody_watches_rejects_every_question_at_once() {
    let daemon = daemon();
    let request =
        CreateSessionRequest { questions: Some(QuestionPolicy::Reject), ..CreateSessionRequest::new("mock") };
    let session = SessionDriver::create_with(&daemon.client, "s", &request).await;
    ask(&session, "[[question]]").await;
    let (stop, question) = end(&session).await;
    assert_eq!(stop, StopReason::EndTurn);
    assert_eq!(
        (question.status, resolved_by(&question)),
        (QuestionStatus::Rejected, Some(ResolvedBy::Policy))
    );
}

//! The events tell who has sent a message and who has answered.

use omniglot_schema::{
    EventData, PermissionReply, QuestionReplyRequest, Scope, StopReason, UniversalEvent, UniversalEventType,
};
use omniglot_testkit::session_driver::{SessionDriver, message};

use super::{Holder, ask_permission, daemon, wanted};

/// Returns the authors that the events name, in order; `-` where none is named.
fn authors(events: &[UniversalEvent]) -> Vec<String> {
    let author = |event: &UniversalEvent| match &event.data {
        EventData::TurnStarted(data) => Some(data.metadata.by.clone()),
        EventData::QuestionResolved(data) => Some(data.metadata.as_ref().and_then(|data| data.by.clone())),
        EventData::PermissionResolved(data) => Some(data.metadata.as_ref().and_then(|data| data.by.clone())),
        _ => None,
    };
    events.iter().filter_map(author).map(|by| by.unwrap_or_else(|| "-".into())).collect()
}

#[tokio::test]
async fn turns_and_answers_name_the_token_of_their_author() {
    let daemon = daemon();
    let ann = Holder::of(&daemon, &wanted("ann", Scope::Drive)).await;
    let bob = Holder::of(&daemon, &wanted("bob", Scope::Answer)).await;
    let session = SessionDriver::create(&ann.client, "s").await;
    let asked = ask_permission(&session).await;
    ann.client.post(&session.id, &message("[[text:1]]"), None).await.unwrap();
    let queue = ann.client.detail(&session.id).await.unwrap().state.queue.unwrap();
    assert_eq!(queue.inline().unwrap()[0].by.as_deref(), Some("ann"));
    SessionDriver::of(&bob.client, "s").reply(&asked, PermissionReply::Once).await.unwrap();
    let owner = SessionDriver::of(&daemon.client, "s");
    let turn = owner.turn("[[permission]]", PermissionReply::Once).await;
    assert_eq!(authors(&turn.events), ["-", "-"], "the daemon's own token is not named");
    let all = owner.history().await;
    assert_eq!(authors(&all), ["ann", "bob", "ann", "-", "-"]);
}

#[tokio::test]
async fn a_queued_message_keeps_its_author_over_a_restart() {
    let daemon = daemon();
    let ann = Holder::of(&daemon, &wanted("ann", Scope::Drive)).await;
    let session = SessionDriver::create(&ann.client, "s").await;
    ask_permission(&session).await;
    ann.client.post(&session.id, &message("[[text:1]]"), None).await.unwrap();
    let mut daemon = daemon;
    daemon.kill();
    let daemon = daemon.restart();
    let session = SessionDriver::of(&daemon.client, "s");
    let is_second = |event: &UniversalEvent| match &event.data {
        EventData::TurnEnded(data) => data.metadata.stop_reason == StopReason::EndTurn,
        _ => false,
    };
    session.wait_for(0, is_second).await;
    let all = session.history().await;
    assert_eq!(authors(&all), ["ann", "-", "ann"]);
}

#[tokio::test]
async fn an_answered_and_a_rejected_question_name_the_token_of_their_author() {
    let daemon = daemon();
    let bob = Holder::of(&daemon, &wanted("bob", Scope::Answer)).await;
    let owner = SessionDriver::create(&daemon.client, "s").await;
    let ask = async |before: u64| {
        owner.post("[[question:one]]").await;
        let is_asked = |event: &UniversalEvent| event.kind() == UniversalEventType::QuestionRequested;
        match owner.wait_for(before, is_asked).await {
            UniversalEvent { sequence, data: EventData::QuestionRequested(asked), .. } => {
                (sequence, asked.question_id.0)
            }
            other => panic!("{other:?}"),
        }
    };
    let (first, question) = ask(0).await;
    let answer = QuestionReplyRequest { answers: vec![vec!["something else".into()]] };
    bob.client.reply_question(&owner.id, &question, &answer).await.unwrap();
    owner.wait_for(first, |event| event.kind() == UniversalEventType::TurnEnded).await;
    let (second, question) = ask(first).await;
    bob.client.reject_question(&owner.id, &question).await.unwrap();
    owner.wait_for(second, |event| event.kind() == UniversalEventType::TurnEnded).await;
    assert_eq!(authors(&owner.history().await), ["-", "bob", "-", "bob"]);
}
